#include <immintrin.h>

#include "bloom/split_block_kernels.h"

namespace petalite::bloom {
namespace {

struct Avx2Block {
  static __m256i Mask(uint32_t key) {
    const __m256i salts = _mm256_load_si256(reinterpret_cast<const __m256i*>(kSalts));
    const __m256i products = _mm256_mullo_epi32(_mm256_set1_epi32(static_cast<int>(key)), salts);
    return _mm256_sllv_epi32(_mm256_set1_epi32(1), _mm256_srli_epi32(products, 27));
  }

  static bool Contains(const uint8_t* block, uint32_t key) {
    const __m256i words = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(block));
    return _mm256_testc_si256(words, Mask(key)) != 0;
  }

  static void Insert(uint8_t* block, uint32_t key) {
    auto* const words = reinterpret_cast<__m256i*>(block);
    _mm256_storeu_si256(words, _mm256_or_si256(_mm256_loadu_si256(words), Mask(key)));
  }
};

}  // namespace

const SplitBlockKernels kAvx2Kernels = SplitBlockLoops<Avx2Block>::kTable;

}  // namespace petalite::bloom
