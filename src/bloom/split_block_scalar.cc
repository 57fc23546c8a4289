#include "bloom/split_block_kernels.h"

namespace petalite::bloom {
namespace {

struct ScalarBlock {
  static uint32_t Mask(uint32_t key, size_t word) { return uint32_t{1} << ((key * kSalts[word]) >> 27); }

  static bool Contains(const uint8_t* block, uint32_t key) {
    uint32_t words[8];
    __builtin_memcpy(words, block, sizeof words);
    uint32_t missing = 0;  // without branches: which word ends a probe is what cannot be predicted
    for (size_t i = 0; i < 8; i++) missing |= Mask(key, i) & ~words[i];
    return missing == 0;
  }

  static void Insert(uint8_t* block, uint32_t key) {
    uint32_t words[8];
    __builtin_memcpy(words, block, sizeof words);
    for (size_t i = 0; i < 8; i++) words[i] |= Mask(key, i);
    __builtin_memcpy(block, words, sizeof words);
  }
};

}  // namespace

const SplitBlockKernels kScalarKernels = SplitBlockLoops<ScalarBlock>::kTable;

}  // namespace petalite::bloom
