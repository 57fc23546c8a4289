#include <memory>

#include <zstd.h>

#include "codec/codecs.h"

namespace petalite {
namespace {

struct FreeContext {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

// Contexts own tables of megabytes, dearer to set up than many a page is to compress; so each thread
// keeps its own.
ZSTD_CCtx* ThreadCompressor() {
  thread_local const std::unique_ptr<ZSTD_CCtx, FreeContext> context(ZSTD_createCCtx());
  CHECK(context != nullptr);
  return context.get();
}
ZSTD_DCtx* ThreadDecompressor() {
  thread_local const std::unique_ptr<ZSTD_DCtx, FreeContext> context(ZSTD_createDCtx());
  CHECK(context != nullptr);
  return context.get();
}

class Zstd final : public Codec {
 public:
  explicit Zstd(int level) : level_(level) {}

  CodecId id() const override { return CodecId::kZstd; }

  Status Compress(Bytes in, ByteBuffer* out) const override {
    out->resize(ZSTD_compressBound(in.size()));
    const size_t size = ZSTD_compressCCtx(ThreadCompressor(), out->data(), out->size(), in.data(), in.size(), level_);
    if (ZSTD_isError(size)) {
      return InvalidArgument("ZSTD level {} cannot compress {} bytes: {}", level_, in.size(), ZSTD_getErrorName(size));
    }
    out->resize(size);
    return Status::Ok();
  }

  Status Decompress(Bytes in, MutableBytes out) const override {
    const size_t size = ZSTD_decompressDCtx(ThreadDecompressor(), out.data(), out.size(), in.data(), in.size());
    if (ZSTD_isError(size) || size != out.size()) return DamagedStream(id(), in, out);
    return Status::Ok();
  }

 private:
  const int level_;
};

}  // namespace

std::shared_ptr<const Codec> MakeZstdCodec(int level) { return std::make_shared<Zstd>(level); }

const Codec& ZstdDecoder() {
  static const Zstd codec(kZstdDefaultLevel);
  return codec;
}

}  // namespace petalite
