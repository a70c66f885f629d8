// The loops of linear steps for processors with AVX2 (CMakeLists.txt sets the flags for this file).
#include "slope_kernel.hpp"

namespace shaff {

#if defined(SHAFF_SLOPES_AVX2)
const SlopeLoops<std::uint16_t>* slope_loops_avx2(std::uint16_t) {
  return &kSlopeLoops<std::uint16_t>;
}
const SlopeLoops<std::uint32_t>* slope_loops_avx2(std::uint32_t) {
  return &kSlopeLoops<std::uint32_t>;
}
#else
const SlopeLoops<std::uint16_t>* slope_loops_avx2(std::uint16_t) { return nullptr; }
const SlopeLoops<std::uint32_t>* slope_loops_avx2(std::uint32_t) { return nullptr; }
#endif

}  // namespace shaff
