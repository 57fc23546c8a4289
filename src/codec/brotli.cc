#include <memory>

#include <brotli/decode.h>
#include <brotli/encode.h>

#include "codec/codecs.h"

namespace petalite {
namespace {

// Brotli's default, 11, compresses less than a megabyte a second; 5 is the first level with its
// context modelling.
constexpr int kQuality = 5;

struct FreeDecoder {
  void operator()(BrotliDecoderState* state) const { BrotliDecoderDestroyInstance(state); }
};

class Brotli final : public Codec {
 public:
  CodecId id() const override { return CodecId::kBrotli; }

  Status Compress(Bytes in, ByteBuffer* out) const override {
    size_t size = BrotliEncoderMaxCompressedSize(in.size());
    if (size == 0) return InvalidArgument("BROTLI cannot compress {} bytes", in.size());
    out->resize(size);
    const BROTLI_BOOL done = BrotliEncoderCompress(kQuality, BROTLI_DEFAULT_WINDOW, BROTLI_DEFAULT_MODE, in.size(),
                                                   in.data(), &size, out->data());
    CHECK(done == BROTLI_TRUE);  // fails only for lack of room, or of memory
    out->resize(size);
    return Status::Ok();
  }

  Status Decompress(Bytes in, MutableBytes out) const override {
    // Not the one-shot function: it accepts bytes behind the end of the stream.
    const std::unique_ptr<BrotliDecoderState, FreeDecoder> state(
        BrotliDecoderCreateInstance(nullptr, nullptr, nullptr));
    CHECK(state != nullptr);
    const uint8_t* next_in = in.data();
    size_t available_in = in.size();
    uint8_t* next_out = out.data();
    size_t available_out = out.size();
    const BrotliDecoderResult result =
        BrotliDecoderDecompressStream(state.get(), &available_in, &next_in, &available_out, &next_out, nullptr);
    if (result != BROTLI_DECODER_RESULT_SUCCESS || available_in != 0 || available_out != 0) {
      return DamagedStream(id(), in, out);
    }
    return Status::Ok();
  }
};

}  // namespace

const Codec& BrotliCodec() {
  static const Brotli codec;
  return codec;
}

}  // namespace petalite
