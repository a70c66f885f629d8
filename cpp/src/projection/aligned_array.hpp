// Memory that starts at a cache line and ends where it was asked to end, so that the address
// sanitizer sees every step past it.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>

namespace shaff {
namespace {

// Zero when it is first given; kept, with what was written, while it is large enough.
template <class T>
class AlignedArray {
 public:
  T* resize(std::size_t size) {
    const std::size_t bytes = (size == 0 ? 1 : size) * sizeof(T);
    if (bytes > capacity_) {
      memory_.reset();  // before the new one: both might not fit
      memory_.reset(::operator new(bytes, kLine));
      std::memset(memory_.get(), 0, bytes);
      capacity_ = bytes;
    }
    return static_cast<T*>(memory_.get());
  }

 private:
  static constexpr std::align_val_t kLine{64};
  struct Free {
    void operator()(void* memory) const { ::operator delete(memory, kLine); }
  };
  std::unique_ptr<void, Free> memory_;
  std::size_t capacity_ = 0;
};

}  // namespace
}  // namespace shaff
