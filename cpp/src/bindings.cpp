// The one file that knows Python.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <chrono>
#include <stdexcept>

#include "shaff/projected_boosting.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

template <class T>
using Array = nb::ndarray<const T, nb::c_contig, nb::device::cpu>;
template <class T>
using Output = nb::ndarray<T, nb::c_contig, nb::device::cpu>;

template <class T>
std::span<const T> view(const Array<T>& array) {
  return {array.data(), array.size()};
}

void require(bool condition, const char* message) {
  if (!condition) throw std::invalid_argument(message);
}

// Asks Python for pending signals a few times a second, and the caller's flag every time.
class Interruption {
 public:
  explicit Interruption(const std::uint8_t* cancelled) : cancelled_(cancelled) {}

  bool operator()() {
    if (*const_cast<const volatile std::uint8_t*>(cancelled_)) return true;
    const auto now = std::chrono::steady_clock::now();
    if (now - asked_ < std::chrono::milliseconds(50)) return false;
    asked_ = now;
    const nb::gil_scoped_acquire gil;
    signalled_ = PyErr_CheckSignals() != 0;
    return signalled_;
  }

  bool signalled() const { return signalled_; }

 private:
  const std::uint8_t* cancelled_;
  std::chrono::steady_clock::time_point asked_ = std::chrono::steady_clock::now();
  bool signalled_ = false;
};

void replay_boosting(const Array<std::int32_t>& feature, const Array<std::uint16_t>& threshold,
                     const Array<std::int32_t>& left, const Array<std::int32_t>& right,
                     const Array<std::uint8_t>& missing_left,
                     const Array<std::int32_t>& category_set,
                     const Array<std::int64_t>& set_offset, const Array<std::uint64_t>& set_words,
                     const Array<std::int64_t>& tree_offset, const Array<std::uint16_t>& codes,
                     const Array<double>& weight, const Array<std::uint64_t>& subsets,
                     double learning_rate, double shrinkage, const Output<double>& residual,
                     const Array<std::uint8_t>& cancelled) {
  const shaff::BoostedTrees trees{view(feature),      view(threshold),    view(left),
                                view(right),        view(missing_left), view(category_set),
                                view(set_offset),   view(set_words),    view(tree_offset)};
  require(residual.ndim() == 2 && subsets.ndim() == 2 && codes.ndim() == 2 &&
              residual.shape(0) == subsets.shape(0) && residual.shape(1) == codes.shape(1) &&
              weight.size() <= codes.shape(1) && codes.shape(0) <= 64 * subsets.shape(1),
          "codes, weight, subsets and residual do not fit together");
  const shaff::BoostingRows rows{view(codes), view(weight), codes.shape(1)};
  Interruption interrupted(cancelled.data());
  {
    const nb::gil_scoped_release release;
    shaff::replay_boosting(trees, rows, view(subsets), subsets.shape(1),
                           {learning_rate, shrinkage}, {residual.data(), residual.size()},
                           std::ref(interrupted));
  }
  if (interrupted.signalled()) throw nb::python_error();
}

}  // namespace

NB_MODULE(_core, module) {
  module.def("replay_boosting", &replay_boosting, "feature"_a, "threshold"_a, "left"_a, "right"_a,
             "missing_left"_a, "category_set"_a, "set_offset"_a, "set_words"_a, "tree_offset"_a,
             "codes"_a, "weight"_a, "subsets"_a, "learning_rate"_a, "shrinkage"_a, "residual"_a.noconvert(),
             "cancel"_a);
}
