#include <algorithm>
#include <limits>

#include <zlib.h>

#include "codec/codecs.h"

namespace petalite {
namespace {

constexpr int kGzipWindowBits = 15 + 16;  // zlib's way to say: the largest window, and gzip headers only
constexpr int kMemoryLevel = 8;           // zlib's default
constexpr size_t kMaxSize = std::numeric_limits<uInt>::max();

Status TooLong(size_t size) { return InvalidArgument("GZIP takes at most {} bytes, not {}", kMaxSize, size); }

class Inflater {
 public:
  Inflater() { CHECK(inflateInit2(&stream_, kGzipWindowBits) == Z_OK); }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // Inflates all members of `in`, which must fill `out`.
  bool Run(Bytes in, MutableBytes out) {
    Bytef nothing;  // zlib refuses null even where it is to write nothing
    stream_.next_in = const_cast<Bytef*>(in.data());
    stream_.avail_in = static_cast<uInt>(in.size());
    stream_.next_out = out.empty() ? &nothing : out.data();
    stream_.avail_out = static_cast<uInt>(out.size());
    while (inflate(&stream_, Z_FINISH) == Z_STREAM_END) {
      if (stream_.avail_in == 0) return stream_.avail_out == 0;
      if (inflateReset(&stream_) != Z_OK) return false;  // another member follows
    }
    return false;
  }

 private:
  z_stream stream_{};
};

class Gzip final : public Codec {
 public:
  CodecId id() const override { return CodecId::kGzip; }

  Status Compress(Bytes in, ByteBuffer* out) const override {
    if (in.size() > kMaxSize) return TooLong(in.size());
    z_stream stream{};
    CHECK(deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipWindowBits, kMemoryLevel, Z_DEFAULT_STRATEGY) ==
          Z_OK);
    const uLong bound = deflateBound(&stream, in.size());
    out->resize(bound);
    stream.next_in = const_cast<Bytef*>(in.data());
    stream.avail_in = static_cast<uInt>(in.size());
    stream.next_out = out->data();
    stream.avail_out = static_cast<uInt>(std::min<uLong>(bound, kMaxSize));
    const int outcome = deflate(&stream, Z_FINISH);
    out->resize(stream.total_out);
    deflateEnd(&stream);
    return outcome == Z_STREAM_END ? Status::Ok() : TooLong(in.size());
  }

  Status Decompress(Bytes in, MutableBytes out) const override {
    if (in.size() > kMaxSize || out.size() > kMaxSize || !Inflater().Run(in, out)) {
      return DamagedStream(id(), in, out);
    }
    return Status::Ok();
  }
};

}  // namespace

const Codec& GzipCodec() {
  static const Gzip codec;
  return codec;
}

}  // namespace petalite
