// LZ4_RAW, a bare block, and what older writers put behind Parquet's code 5, "LZ4": parquet-format
// never said which framing that was, so the files have four.

#include <limits>
#include <memory>

#include <lz4.h>
#include <lz4frame.h>

#include "codec/codecs.h"

namespace petalite {
namespace {

constexpr size_t kMaxSize = std::numeric_limits<int>::max();

// Decompresses one block into the front of `out`; the bytes written, or -1.
int64_t DecompressBlock(Bytes in, MutableBytes out) {
  if (in.empty() || in.size() > kMaxSize || out.size() > kMaxSize) return -1;
  const int size = LZ4_decompress_safe(AsText(in).data(), reinterpret_cast<char*>(out.data()),
                                       static_cast<int>(in.size()), static_cast<int>(out.size()));
  return size < 0 ? -1 : size;
}

bool DecompressBareBlock(Bytes in, MutableBytes out) {
  return DecompressBlock(in, out) == static_cast<int64_t>(out.size());
}

bool ReadBigEndian(ByteReader* reader, uint32_t* value) {
  if (!reader->Read(value)) return false;
  *value = __builtin_bswap32(*value);
  return true;
}

// Hadoop's framing: groups of [raw size][compressed size][block], sizes big-endian, in which blocks
// with their compressed sizes repeat until the group's raw size is reached.
bool DecompressHadoop(Bytes in, MutableBytes out) {
  ByteReader reader(in);
  while (reader.remaining() != 0) {
    uint32_t raw_size;
    if (!ReadBigEndian(&reader, &raw_size) || raw_size > out.size()) return false;
    MutableBytes group = out.first(raw_size);
    out = out.subspan(raw_size);
    if (raw_size == 0 && reader.remaining() == 0) break;  // an empty group may have no block
    do {
      uint32_t compressed_size;
      Bytes block;
      if (!ReadBigEndian(&reader, &compressed_size) || !reader.Take(compressed_size, &block)) return false;
      const int64_t written = DecompressBlock(block, group);
      if (written < 0) return false;
      group = group.subspan(static_cast<size_t>(written));
    } while (!group.empty());
  }
  return out.empty();
}

struct FreeFrameContext {
  void operator()(LZ4F_dctx* context) const { LZ4F_freeDecompressionContext(context); }
};

bool DecompressFrame(Bytes in, MutableBytes out) {
  if (in.size() < 4 || LoadLe<uint32_t>(in.data()) != LZ4F_MAGICNUMBER) return false;
  LZ4F_dctx* created = nullptr;
  CHECK(!LZ4F_isError(LZ4F_createDecompressionContext(&created, LZ4F_VERSION)));
  const std::unique_ptr<LZ4F_dctx, FreeFrameContext> context(created);
  for (;;) {
    size_t read = in.size();
    size_t written = out.size();
    const size_t wanted = LZ4F_decompress(context.get(), out.data(), &written, in.data(), &read, nullptr);
    if (LZ4F_isError(wanted)) return false;
    in = in.subspan(read);
    out = out.subspan(written);
    if (wanted == 0) return in.empty() && out.empty();
    if (read == 0 && written == 0) return false;  // it lacks input, or room
  }
}

class Lz4Raw final : public Codec {
 public:
  CodecId id() const override { return CodecId::kLz4Raw; }

  Status Compress(Bytes in, ByteBuffer* out) const override {
    if (in.size() > LZ4_MAX_INPUT_SIZE) {
      return InvalidArgument("LZ4_RAW takes at most {} bytes, not {}", LZ4_MAX_INPUT_SIZE, in.size());
    }
    const int in_size = static_cast<int>(in.size());
    out->resize(static_cast<size_t>(LZ4_compressBound(in_size)));
    const int size = LZ4_compress_default(AsText(in).data(), reinterpret_cast<char*>(out->data()), in_size,
                                          static_cast<int>(out->size()));
    CHECK(size > 0);  // fails only for lack of room
    out->resize(static_cast<size_t>(size));
    return Status::Ok();
  }

  Status Decompress(Bytes in, MutableBytes out) const override {
    return DecompressBareBlock(in, out) ? Status::Ok() : DamagedStream(id(), in, out);
  }
};

class Lz4Hadoop final : public Codec {
 public:
  CodecId id() const override { return CodecId::kLz4Hadoop; }

  Status Compress(Bytes, ByteBuffer*) const override {
    return Unsupported("codec LZ4 (Parquet's code 5) is only read");
  }

  Status Decompress(Bytes in, MutableBytes out) const override {
    // Each form must consume all input and fill all output, so that a wrong guess fails. A bare block
    // cannot begin as a frame does, but as Hadoop's sizes it can, by bad luck, and is tried last
    // because Hadoop's form is the common one.
    if (DecompressFrame(in, out) || DecompressHadoop(in, out) || DecompressBareBlock(in, out)) return Status::Ok();
    return DamagedStream(id(), in, out);
  }
};

}  // namespace

const Codec& Lz4RawCodec() {
  static const Lz4Raw codec;
  return codec;
}

const Codec& Lz4HadoopCodec() {
  static const Lz4Hadoop codec;
  return codec;
}

}  // namespace petalite
