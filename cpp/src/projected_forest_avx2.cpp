// The projection kernel for processors with AVX2 (CMakeLists.txt sets the flags for this file).
#include "projection/kernel.hpp"

namespace shaff {

#if defined(SHAFF_SSE2) && defined(__AVX2__)
ProjectTree<std::int8_t> project_tree_avx2(std::int8_t) { return &project_tree<std::int8_t>; }
ProjectTree<std::int16_t> project_tree_avx2(std::int16_t) { return &project_tree<std::int16_t>; }
ProjectTree<std::int32_t> project_tree_avx2(std::int32_t) { return &project_tree<std::int32_t>; }
#else
ProjectTree<std::int8_t> project_tree_avx2(std::int8_t) { return nullptr; }
ProjectTree<std::int16_t> project_tree_avx2(std::int16_t) { return nullptr; }
ProjectTree<std::int32_t> project_tree_avx2(std::int32_t) { return nullptr; }
#endif

}  // namespace shaff
