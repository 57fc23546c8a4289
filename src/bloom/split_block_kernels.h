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
  // How many keys ahead their blocks are fetched: enough to keep all of a core's line fill buffers
  // (10 to 16) busy.
  static constexpr size_t kAhead = 24;

  static size_t Offset(size_t blocks, uint64_t hash) { return (((hash >> 32) * blocks) >> 32) * 32; }

  static bool Probe(const uint8_t* bits, size_t blocks, uint64_t hash) {
    return Block::Contains(bits + Offset(blocks, hash), static_cast<uint32_t>(hash));
  }

  static void Insert(uint8_t* bits, size_t blocks, uint64_t hash) {
    Block::Insert(bits + Offset(blocks, hash), static_cast<uint32_t>(hash));
  }

  static void Prefetch(const uint8_t* bits, size_t blocks, const uint64_t* hashes, size_t count) {
    for (size_t i = 0; i < count; i++) __builtin_prefetch(bits + Offset(blocks, hashes[i]));
  }

  static void ProbeBatch(const uint8_t* bits, size_t blocks, const uint64_t* hashes, size_t count, uint8_t* results) {
    const size_t ahead = count < kAhead ? count : kAhead;
    Prefetch(bits, blocks, hashes, ahead);
    size_t i = 0;
    for (; i + ahead < count; i++) {
      __builtin_prefetch(bits + Offset(blocks, hashes[i + ahead]));
      results[i] = Probe(bits, blocks, hashes[i]);
    }
    for (; i < count; i++) results[i] = Probe(bits, blocks, hashes[i]);
  }

  static bool ProbeAny(const uint8_t* bits, size_t blocks, const uint64_t* hashes, size_t count) {
    const size_t ahead = count < kAhead ? count : kAhead;
    Prefetch(bits, blocks, hashes, ahead);
    size_t i = 0;
    for (; i + ahead < count; i++) {
      __builtin_prefetch(bits + Offset(blocks, hashes[i + ahead]));
      if (Probe(bits, blocks, hashes[i])) return true;
    }
    for (; i < count; i++) {
      if (Probe(bits, blocks, hashes[i])) return true;
    }
    return false;
  }

  static void InsertBatch(uint8_t* bits, size_t blocks, const uint64_t* hashes, size_t count) {
    const size_t ahead = count < kAhead ? count : kAhead;
    Prefetch(bits, blocks, hashes, ahead);
    size_t i = 0;
    for (; i + ahead < count; i++) {
      __builtin_prefetch(bits + Offset(blocks, hashes[i + ahead]));
      Insert(bits, blocks, hashes[i]);
    }
    for (; i < count; i++) Insert(bits, blocks, hashes[i]);
  }

  static constexpr SplitBlockKernels kTable = {Probe, ProbeBatch, ProbeAny, Insert, InsertBatch};
};

}  // namespace petalite::bloom
