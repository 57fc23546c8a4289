// The codecs one by one; users of the layer see codec.h only.

#pragma once

#include <memory>

#include "codec/codec.h"

namespace petalite {

// Codecs without settings live as long as the program.
const Codec& UncompressedCodec();
const Codec& SnappyCodec();
const Codec& GzipCodec();
const Codec& BrotliCodec();
const Codec& Lz4RawCodec();
const Codec& Lz4HadoopCodec();  // Compress fails with kUnsupported
const Codec& ZstdDecoder();     // a ZstdCodec of the default level; frames do not depend on it to be read

inline constexpr int kZstdMinLevel = -7;
inline constexpr int kZstdMaxLevel = 22;
inline constexpr int kZstdDefaultLevel = 1;

std::shared_ptr<const Codec> MakeZstdCodec(int level);

// The one thing that a decoder has to say about bytes it cannot use; callers add file and offset.
Status DamagedStream(CodecId id, Bytes in, MutableBytes out);

}  // namespace petalite
