#include "slope_loops.hpp"

#include "shaff/projected_forest.hpp"
#include "slope_kernel.hpp"

namespace shaff {

template <class Id>
const SlopeLoops<Id>& slope_loops() {
  return has_avx2_kernel() ? *slope_loops_avx2(Id{}) : kSlopeLoops<Id>;
}

template const SlopeLoops<std::uint16_t>& slope_loops();
template const SlopeLoops<std::uint32_t>& slope_loops();

}  // namespace shaff
