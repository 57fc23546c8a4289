// Decompresses foreign bytes: the first byte picks the codec, the next two the output's size, the
// rest is the stream. What decompresses must survive a round trip.

#include <cstdint>

#include "codec/codec.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace petalite;
  ByteReader reader(Bytes(data, size));
  uint8_t code;
  uint16_t out_size;
  if (!reader.Read(&code) || !reader.Read(&out_size)) return 0;
  const auto id = static_cast<CodecId>(code % 8);
  Result<const Codec*> codec = DecoderFor(id);
  if (!codec.ok()) return 0;

  ByteBuffer out(out_size);
  const Status status = (*codec)->Decompress(reader.rest(), out);
  if (!status.ok()) {
    CHECK(status.code() == StatusCode::kCorruption);
    return 0;
  }
  if (id == CodecId::kLz4Hadoop) return 0;
  ByteBuffer stream;
  CHECK((*codec)->Compress(out, &stream).ok());
  ByteBuffer again(out.size());
  CHECK((*codec)->Decompress(stream, again).ok());
  CHECK(again == out);
  return 0;
}
