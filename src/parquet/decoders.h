// The encodings of parquet-format's Encodings.md, decoded a page at a time: dense values, without
// the nulls. Each is in a file of its own, decode_*.cc.
//
// `out` has room for `count` values. Bytes come from a file and may be anything: kCorruption,
// beginning with the encoding's name, if they run out or contradict themselves; nothing is read
// beyond them. Bytes left over are not an error. No value needs any bytes.

#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/status.h"
#include "column/types.h"

namespace petalite::parquet {

// PLAIN of fixed width is the values themselves, so that only these are functions. Strings point
// into `in`.
Status DecodePlainBooleans(Bytes in, size_t count, uint8_t* out);
Status DecodePlainByteArrays(Bytes in, size_t count, StringRef* out);

// The hybrid of run lengths and bit-packed groups, without a length prefix: dictionary indices.
Status DecodeHybrid(Bytes in, int bit_width, size_t count, uint32_t* out);
// RLE as the encoding of a boolean column: the hybrid with a length prefix.
Status DecodeRleBooleans(Bytes in, size_t count, uint8_t* out);
// Levels of at most 1 in the hybrid encoding, as a bitmap of (count + 63) / 64 words, the unused
// bits of the last one clear.
Status DecodeLevelBits(Bytes in, size_t count, uint64_t* bits);
// The same in the deprecated BIT_PACKED encoding, most significant bit first.
Status DecodeBitPackedLevelBits(Bytes in, size_t count, uint64_t* bits);

// `consumed`, where given: how many bytes the encoded values took.
Status DecodeDeltaBinaryPacked(Bytes in, size_t count, uint32_t* out, size_t* consumed = nullptr);
Status DecodeDeltaBinaryPacked(Bytes in, size_t count, uint64_t* out, size_t* consumed = nullptr);
// Strings point into `in`.
Status DecodeDeltaLengthByteArray(Bytes in, size_t count, StringRef* out);
// Strings point into `arena`, which it replaces.
Status DecodeDeltaByteArray(Bytes in, size_t count, StringRef* out, ByteBuffer* arena);

Status DecodeByteStreamSplit(Bytes in, size_t width, size_t count, uint8_t* out);

}  // namespace petalite::parquet
