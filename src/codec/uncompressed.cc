#include <algorithm>

#include "codec/codecs.h"

namespace petalite {
namespace {

class Uncompressed final : public Codec {
 public:
  CodecId id() const override { return CodecId::kUncompressed; }

  Status Compress(Bytes in, ByteBuffer* out) const override {
    out->assign(in.begin(), in.end());
    return Status::Ok();
  }

  Status Decompress(Bytes in, MutableBytes out) const override {
    if (in.size() != out.size()) return DamagedStream(id(), in, out);
    std::copy(in.begin(), in.end(), out.begin());
    return Status::Ok();
  }
};

}  // namespace

const Codec& UncompressedCodec() {
  static const Uncompressed codec;
  return codec;
}

}  // namespace petalite
