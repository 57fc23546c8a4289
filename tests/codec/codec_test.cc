// What every codec promises: round trips, exact fill, and a corruption error for any other bytes.

#include "codec/codec.h"

#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <lz4.h>
#include <lz4frame.h>
#include <zlib.h>

#include "test_seed.h"

namespace petalite {
namespace {

enum class Shape { kZeroes, kRandom, kText, kCounters };
constexpr Shape kShapes[] = {Shape::kZeroes, Shape::kRandom, Shape::kText, Shape::kCounters};

ByteBuffer MakeData(Shape shape, size_t size, uint64_t seed) {
  std::mt19937_64 random(seed);
  ByteBuffer data(size);
  for (size_t i = 0; i < size; i++) {
    switch (shape) {
      case Shape::kZeroes:
        break;
      case Shape::kRandom:
        data[i] = static_cast<uint8_t>(random());
        break;
      case Shape::kText:
        data[i] = static_cast<uint8_t>("etaoin shrdlu,\n"[random() % 15]);
        break;
      case Shape::kCounters:
        data[i] = i % 8 < 4 ? static_cast<uint8_t>((i / 8) >> (i % 8 * 8)) : 0;
        break;
    }
  }
  return data;
}

ByteBuffer CompressOk(const Codec& codec, Bytes data) {
  ByteBuffer stream = {1, 2, 3};  // must be replaced, not appended to
  const Status status = codec.Compress(data, &stream);
  EXPECT_TRUE(status.ok()) << status.message();
  return stream;
}

StatusCode DecompressInto(const Codec& codec, Bytes stream, size_t size, ByteBuffer* out) {
  // A buffer of exactly the size, so that the address sanitizer sees a byte too many.
  *out = ByteBuffer(size, 0xAA);
  out->shrink_to_fit();
  return codec.Decompress(stream, *out).code();
}

void ExpectRoundTrip(const Codec& codec, Bytes data) {
  const ByteBuffer stream = CompressOk(codec, data);
  Result<const Codec*> decoder = DecoderFor(codec.id());
  ASSERT_TRUE(decoder.ok());
  ByteBuffer out;
  EXPECT_EQ(DecompressInto(**decoder, stream, data.size(), &out), StatusCode::kOk);
  EXPECT_TRUE(std::equal(out.begin(), out.end(), data.begin(), data.end()));
}

class EveryCodec : public ::testing::TestWithParam<CodecSpec> {
 protected:
  void SetUp() override {
    Result<std::shared_ptr<const Codec>> made = MakeCodec(GetParam());
    ASSERT_TRUE(made.ok()) << made.status().message();
    codec_ = *made;
    ASSERT_EQ(codec_->id(), GetParam().id);
  }
  std::shared_ptr<const Codec> codec_;
};

TEST_P(EveryCodec, RoundTripsAllSizesAndShapes) {
  for (Shape shape : kShapes) {
    for (size_t size : {0, 1, 2, 3, 7, 12, 13, 64, 255, 1000, 4096, 65535, 65536, 65537, 300'000}) {
      SCOPED_TRACE(testing::Message() << "shape " << static_cast<int>(shape) << ", size " << size);
      ExpectRoundTrip(*codec_, MakeData(shape, size, size));
    }
  }
}

TEST_P(EveryCodec, RoundTripsMegabytes) {
  for (Shape shape : kShapes) {
    SCOPED_TRACE(static_cast<int>(shape));
    // Strong levels are slow; even the smaller size spans several of zstd's blocks.
    const size_t size = GetParam().level > 3 ? 600'000 : 3'000'001;
    ExpectRoundTrip(*codec_, MakeData(shape, size, 1));
  }
}

TEST_P(EveryCodec, CompressesWhatRepeats) {
  const size_t limit = GetParam().id == CodecId::kUncompressed ? 100'000 : 10'000;
  EXPECT_LE(CompressOk(*codec_, MakeData(Shape::kZeroes, 100'000, 0)).size(), limit);
}

TEST_P(EveryCodec, RefusesAnySizeButTheRightOne) {
  for (Shape shape : kShapes) {
    for (size_t size : {1, 100, 70'000}) {
      SCOPED_TRACE(testing::Message() << "shape " << static_cast<int>(shape) << ", size " << size);
      const ByteBuffer stream = CompressOk(*codec_, MakeData(shape, size, 2));
      ByteBuffer out;
      for (size_t wrong : {size_t{0}, size / 2, size - 1, size + 1, 2 * size, 10 * size + 100}) {
        if (wrong == size) continue;
        EXPECT_EQ(DecompressInto(*codec_, stream, wrong, &out), StatusCode::kCorruption) << wrong;
      }
    }
  }
}

TEST_P(EveryCodec, RefusesTruncatedStreams) {
  for (Shape shape : kShapes) {
    const ByteBuffer stream = CompressOk(*codec_, MakeData(shape, 3000, 3));
    ByteBuffer out;
    for (size_t length = 0; length < stream.size(); length += 1 + length / 64) {
      const ByteBuffer prefix(stream.begin(), stream.begin() + static_cast<ptrdiff_t>(length));
      EXPECT_EQ(DecompressInto(*codec_, prefix, 3000, &out), StatusCode::kCorruption) << length;
    }
  }
}

TEST_P(EveryCodec, RefusesBytesBehindTheEnd) {
  for (Shape shape : kShapes) {
    ByteBuffer stream = CompressOk(*codec_, MakeData(shape, 3000, 4));
    stream.push_back(0x5A);
    ByteBuffer out;
    EXPECT_EQ(DecompressInto(*codec_, stream, 3000, &out), StatusCode::kCorruption);
  }
}

TEST_P(EveryCodec, SurvivesDamage) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE(SeedTrace(seed));
  std::mt19937_64 random(seed);
  for (Shape shape : kShapes) {
    const ByteBuffer stream = CompressOk(*codec_, MakeData(shape, 2000, seed));
    for (int round = 0; round < 300; round++) {
      ByteBuffer damaged = stream;
      for (uint64_t flips = 1 + random() % 4; flips > 0; flips--) {
        damaged[random() % damaged.size()] ^= static_cast<uint8_t>(1 + random() % 255);
      }
      ByteBuffer out;
      const StatusCode code = DecompressInto(*codec_, damaged, 2000, &out);
      EXPECT_TRUE(code == StatusCode::kOk || code == StatusCode::kCorruption);
    }
  }
}

TEST_P(EveryCodec, SurvivesNoise) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE(SeedTrace(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 500; round++) {
    const ByteBuffer noise = MakeData(Shape::kRandom, random() % 200, random());
    ByteBuffer out;
    const StatusCode code = DecompressInto(*codec_, noise, random() % 400, &out);
    EXPECT_TRUE(code == StatusCode::kOk || code == StatusCode::kCorruption);
  }
}

TEST_P(EveryCodec, ServesThreadsAtOnce) {
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; t++) {
    threads.emplace_back([this, t] {
      for (uint64_t round = 0; round < 10; round++) {
        ExpectRoundTrip(*codec_, MakeData(Shape::kText, 2000 + t, 10 * t + round));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

INSTANTIATE_TEST_SUITE_P(Codecs, EveryCodec,
                         ::testing::Values(CodecSpec{CodecId::kUncompressed, 0}, CodecSpec{CodecId::kSnappy, 0},
                                           CodecSpec{CodecId::kGzip, 0}, CodecSpec{CodecId::kBrotli, 0},
                                           CodecSpec{CodecId::kLz4Raw, 0}, CodecSpec{CodecId::kZstd, -7},
                                           CodecSpec{CodecId::kZstd, 1}, CodecSpec{CodecId::kZstd, 22}),
                         [](const auto& info) {
                           std::string name(CodecName(info.param.id));
                           if (info.param.id != CodecId::kZstd) return name;
                           const int level = info.param.level;
                           return name + (level < 0 ? "_fast" : "_") + std::to_string(std::abs(level));
                         });

const Codec& Decoder(CodecId id) {
  Result<const Codec*> decoder = DecoderFor(id);
  CHECK(decoder.ok());
  return **decoder;
}

void Append(ByteBuffer* to, Bytes bytes) { AppendBytes(*to, bytes); }

TEST(Gzip, ReadsSeveralMembers) {
  Result<std::shared_ptr<const Codec>> gzip = MakeCodec({CodecId::kGzip, 0});
  ASSERT_TRUE(gzip.ok());
  ByteBuffer stream = CompressOk(**gzip, AsBytes("one, "));
  Append(&stream, CompressOk(**gzip, AsBytes("")));
  Append(&stream, CompressOk(**gzip, AsBytes("two")));
  ByteBuffer out;
  EXPECT_EQ(DecompressInto(Decoder(CodecId::kGzip), stream, 8, &out), StatusCode::kOk);
  EXPECT_EQ(AsText(out), "one, two");
}

TEST(Gzip, RefusesZlibAndRawDeflate) {
  for (int window_bits : {15, -15}) {
    z_stream deflater{};
    ASSERT_EQ(deflateInit2(&deflater, 6, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY), Z_OK);
    ByteBuffer text(AsBytes("hello hello").begin(), AsBytes("hello hello").end());
    ByteBuffer stream(100);
    deflater.next_in = text.data();
    deflater.avail_in = 11;
    deflater.next_out = stream.data();
    deflater.avail_out = 100;
    ASSERT_EQ(deflate(&deflater, Z_FINISH), Z_STREAM_END);
    stream.resize(deflater.total_out);
    deflateEnd(&deflater);
    ByteBuffer out;
    EXPECT_EQ(DecompressInto(Decoder(CodecId::kGzip), stream, 11, &out), StatusCode::kCorruption) << window_bits;
  }
}

// The forms that files with code 5 have.
class Lz4Hadoop : public ::testing::Test {
 protected:
  ByteBuffer Block(Bytes data) const { return CompressOk(Decoder(CodecId::kLz4Raw), data); }
  void AppendSize(ByteBuffer* to, size_t size) const { AppendLe(*to, __builtin_bswap32(static_cast<uint32_t>(size))); }
  void AppendSubBlock(ByteBuffer* to, Bytes data) const {
    const ByteBuffer block = Block(data);
    AppendSize(to, block.size());
    Append(to, block);
  }
  void ExpectReads(const ByteBuffer& stream, const ByteBuffer& data) const {
    ByteBuffer out;
    EXPECT_EQ(DecompressInto(Decoder(CodecId::kLz4Hadoop), stream, data.size(), &out), StatusCode::kOk);
    EXPECT_EQ(out, data);
    for (size_t wrong : {data.size() + 1, data.size() - 1}) {
      EXPECT_EQ(DecompressInto(Decoder(CodecId::kLz4Hadoop), stream, wrong, &out), StatusCode::kCorruption);
    }
    const ByteBuffer truncated(stream.begin(), stream.end() - 1);
    EXPECT_EQ(DecompressInto(Decoder(CodecId::kLz4Hadoop), truncated, data.size(), &out), StatusCode::kCorruption);
  }
  const ByteBuffer data_ = MakeData(Shape::kText, 100'000, 5);
  Bytes Part(size_t from, size_t size) const { return Bytes(data_).subspan(from, size); }
};

TEST_F(Lz4Hadoop, ReadsRepeatedGroups) {
  ByteBuffer stream;
  for (size_t from = 0; from < data_.size(); from += 25'000) {
    AppendSize(&stream, 25'000);
    AppendSubBlock(&stream, Part(from, 25'000));
  }
  ExpectReads(stream, data_);
}

TEST_F(Lz4Hadoop, ReadsSeveralSubBlocksInOneGroup) {
  ByteBuffer stream;
  AppendSize(&stream, data_.size());
  AppendSubBlock(&stream, Part(0, 64'000));
  AppendSubBlock(&stream, Part(64'000, 36'000));
  ExpectReads(stream, data_);
}

TEST_F(Lz4Hadoop, ReadsABareBlock) { ExpectReads(Block(data_), data_); }

TEST_F(Lz4Hadoop, ReadsAFrame) {
  ByteBuffer stream(LZ4F_compressFrameBound(data_.size(), nullptr));
  stream.resize(LZ4F_compressFrame(stream.data(), stream.size(), data_.data(), data_.size(), nullptr));
  ExpectReads(stream, data_);
}

TEST_F(Lz4Hadoop, ReadsEmptyGroups) {
  ByteBuffer out;
  ByteBuffer stream;
  AppendSize(&stream, 0);
  EXPECT_EQ(DecompressInto(Decoder(CodecId::kLz4Hadoop), stream, 0, &out), StatusCode::kOk);
  AppendSubBlock(&stream, {});
  EXPECT_EQ(DecompressInto(Decoder(CodecId::kLz4Hadoop), stream, 0, &out), StatusCode::kOk);
}

TEST_F(Lz4Hadoop, RefusesSizesBeyondTheInputOrOutput) {
  ByteBuffer out;
  ByteBuffer stream;
  AppendSize(&stream, 0xFFFFFFFF);
  AppendSubBlock(&stream, data_);
  EXPECT_EQ(DecompressInto(Decoder(CodecId::kLz4Hadoop), stream, data_.size(), &out), StatusCode::kCorruption);
  stream.clear();
  AppendSize(&stream, data_.size());
  AppendSize(&stream, 0xFFFFFFFF);
  Append(&stream, Block(data_));
  EXPECT_EQ(DecompressInto(Decoder(CodecId::kLz4Hadoop), stream, data_.size(), &out), StatusCode::kCorruption);
}

TEST_F(Lz4Hadoop, SurvivesDamage) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE(SeedTrace(seed));
  std::mt19937_64 random(seed);
  ByteBuffer frame(LZ4F_compressFrameBound(3000, nullptr));
  frame.resize(LZ4F_compressFrame(frame.data(), frame.size(), data_.data(), 3000, nullptr));
  ByteBuffer hadoop;
  AppendSize(&hadoop, 3000);
  AppendSubBlock(&hadoop, Part(0, 1000));
  AppendSubBlock(&hadoop, Part(1000, 2000));
  for (int round = 0; round < 2000; round++) {
    ByteBuffer damaged = round % 2 == 0 ? frame : hadoop;
    damaged[random() % std::min<size_t>(damaged.size(), round % 4 < 2 ? 20 : damaged.size())] ^=
        static_cast<uint8_t>(1 + random() % 255);
    ByteBuffer out;
    const StatusCode code = DecompressInto(Decoder(CodecId::kLz4Hadoop), damaged, 3000, &out);
    EXPECT_TRUE(code == StatusCode::kOk || code == StatusCode::kCorruption);
  }
}

TEST_F(Lz4Hadoop, IsNotWritten) {
  ByteBuffer out;
  EXPECT_EQ(Decoder(CodecId::kLz4Hadoop).Compress(data_, &out).code(), StatusCode::kUnsupported);
}

}  // namespace
}  // namespace petalite
