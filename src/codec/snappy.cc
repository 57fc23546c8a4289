#include <snappy.h>

#include "codec/codecs.h"

namespace petalite {
namespace {

// The raw format: a varint of the length, then the block.
class Snappy final : public Codec {
 public:
  CodecId id() const override { return CodecId::kSnappy; }

  Status Compress(Bytes in, ByteBuffer* out) const override {
    if (in.size() > UINT32_MAX) return InvalidArgument("SNAPPY takes at most 4 GiB, not {} bytes", in.size());
    out->resize(snappy::MaxCompressedLength(in.size()));
    size_t size = 0;
    snappy::RawCompress(AsText(in).data(), in.size(), reinterpret_cast<char*>(out->data()), &size);
    out->resize(size);
    return Status::Ok();
  }

  Status Decompress(Bytes in, MutableBytes out) const override {
    // RawUncompress trusts that the buffer has the size that the stream claims.
    const char* stream = AsText(in).data();
    size_t size = 0;
    if (!snappy::GetUncompressedLength(stream, in.size(), &size) || size != out.size() ||
        !snappy::RawUncompress(stream, in.size(), reinterpret_cast<char*>(out.data()))) {
      return DamagedStream(id(), in, out);
    }
    return Status::Ok();
  }
};

}  // namespace

const Codec& SnappyCodec() {
  static const Snappy codec;
  return codec;
}

}  // namespace petalite
