// The inner loops of split-block filters, one table of functions per instruction set.
//
// SplitBlockLoops is written once, over a struct with the two operations on one block. Each struct
// lies in an unnamed namespace of its own source file, so that nothing that was compiled for an
// instruction set can become a shared inline function that other code is linked to. For the same
// reason this header includes nothing with code in it.

#pragma once

#include <cstddef>
#include <cstdint>

namespace petalite {
enum class Isa;
}

namespace petalite::bloom {

// `bits` may have any alignment and holds `blocks` blocks of 32 bytes, 1 to 2^32 of them. Nothing
// outside is touched.
struct SplitBlockKernels {
  bool (*probe)(const uint8_t* bits, size_t blocks, uint64_t hash);
  void (*probe_batch)(const uint8_t* bits, size_t blocks, const uint64_t* hashes, size_t count, uint8_t* results);
  bool (*probe_any)(const uint8_t* bits, size_t blocks, const uint64_t* hashes, size_t count);
  void (*insert)(uint8_t* bits, size_t blocks, uint64_t hash);
  void (*insert_batch)(uint8_t* bits, size_t blocks, const uint64_t* hashes, size_t count);
};

// Which of them may run is for SupportedIsas() to say.
extern const SplitBlockKernels kScalarKernels;
extern const SplitBlockKernels kAvx2Kernels;
extern const SplitBlockKernels kAvx512Kernels;

const SplitBlockKernels& KernelsFor(Isa isa);
const SplitBlockKernels& ActiveKernels();  // KernelsFor(ActiveIsa())

// `constexpr` at namespace scope has internal linkage.
alignas(32) constexpr uint32_t kSalts[8] = {0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d,
                                            0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31};

// `Block` has
//   static bool Contains(const uint8_t* block, uint32_t key);
//   static void Insert(uint8_t* block, uint32_t key);
template <typename Block>
struct SplitBlockLoops {
  // How many keys ahead their blocks are fetched, into the second-level cache: the first level's line
  // fill buffers (10 to 16) hold fewer fetches than memory can answer at once.
  static constexpr size_t kAhead = 64;
  // A filter of half a second-level cache is worth no fetching: the loads of successive keys overlap
  // as it is.
  static constexpr size_t kCachedBlocks = (size_t{1} << 20) / 32;

  static size_t Offset(size_t blocks, uint64_t hash) { return (((hash >> 32) * blocks) >> 32) * 32; }

  static bool Probe(const uint8_t* bits, size_t blocks, uint64_t hash) {
    return Block::Contains(bits + Offset(blocks, hash), static_cast<uint32_t>(hash));
  }

  static void Insert(uint8_t* bits, size_t blocks, uint64_t hash) {
    Block::Insert(bits + Offset(blocks, hash), static_cast<uint32_t>(hash));
  }

  static void Fetch(const uint8_t* bits, size_t blocks, uint64_t hash) {
    __builtin_prefetch(bits + Offset(blocks, hash), 0, 2);
  }

  // Calls visit(i) for each key in order, its block fetched, until one returns true.
  template <typename Visit>
  static bool Sweep(const uint8_t* bits, size_t blocks, const uint64_t* hashes, size_t count, Visit visit) {
    size_t i = 0;
    if (blocks > kCachedBlocks) {
      const size_t ahead = count < kAhead ? count : kAhead;
      for (size_t j = 0; j < ahead; j++) Fetch(bits, blocks, hashes[j]);
      for (; i + ahead < count; i++) {
        Fetch(bits, blocks, hashes[i + ahead]);
        if (visit(i)) return true;
      }
    }
    for (; i < count; i++) {
      if (visit(i)) return true;
    }
    return false;
  }

  static void ProbeBatch(const uint8_t* bits, size_t blocks, const uint64_t* hashes, size_t count, uint8_t* results) {
    Sweep(bits, blocks, hashes, count, [=](size_t i) {
      results[i] = Probe(bits, blocks, hashes[i]);
      return false;
    });
  }

  static bool ProbeAny(const uint8_t* bits, size_t blocks, const uint64_t* hashes, size_t count) {
    return Sweep(bits, blocks, hashes, count, [=](size_t i) { return Probe(bits, blocks, hashes[i]); });
  }

  static void InsertBatch(uint8_t* bits, size_t blocks, const uint64_t* hashes, size_t count) {
    Sweep(bits, blocks, hashes, count, [=](size_t i) {
      Insert(bits, blocks, hashes[i]);
      return false;
    });
  }

  static constexpr SplitBlockKernels kTable = {Probe, ProbeBatch, ProbeAny, Insert, InsertBatch};
};

}  // namespace petalite::bloom
