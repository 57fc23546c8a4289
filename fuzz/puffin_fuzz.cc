// Reads foreign bytes as what Petalite keeps in Puffin files; the first byte says as what: a whole file, a bitmap in
// Roaring's portable form, or the body of a commits blob. The checksums are put right, so that what lies behind them is
// reached. What is accepted must survive a round trip.

#include <cstdint>

#include "base/checksum.h"
#include "memory_file_system.h"
#include "store/puffin.h"

namespace petalite::store {
namespace {

BlobLocation LocationOf(const PuffinBlob& blob, Bytes file) {
  return {blob.offset, blob.length, Crc32c(file.subspan(blob.offset, blob.length))};
}

// Every deletion vector with the blob after it, if that is one of commits.
void ReadFile(Bytes bytes) {
  MemoryFileSystem fs;
  fs["f"] = ByteBuffer(bytes.begin(), bytes.end());
  const auto footer = ReadPuffinFooter(fs, "f");
  if (!footer.ok()) return;
  for (size_t i = 0; i < footer->blobs.size(); ++i) {
    const PuffinBlob& blob = footer->blobs[i];
    if (blob.type != kDeletionVectorBlob) continue;
    DeleteLogLocation location{.dead = LocationOf(blob, bytes)};
    const auto dead = DecodeDeletionVector(bytes.subspan(blob.offset, blob.length));
    location.cardinality = dead.ok() ? (*dead)->count() : 1;
    if (i + 1 < footer->blobs.size() && footer->blobs[i + 1].type == kDeleteCommitsBlob) {
      location.commits = LocationOf(footer->blobs[i + 1], bytes);
    }
    const auto log = LoadDeleteLog(fs, "f", location);
    if (!log.ok()) continue;
    CHECK((*log)->count() == location.cardinality);
    CHECK((*log)->Since((*log)->count() - (*log)->young()).size() == (*log)->young());
  }
}

void ReadBitmap(Bytes bytes) {
  const auto vector = DeleteVector::Parse(bytes);
  if (!vector.ok() || (*vector)->count() > 1 << 20) return;
  const std::vector<uint32_t> positions = (*vector)->ToVector();
  for (size_t i = 0; i < positions.size(); ++i) CHECK(i == 0 || positions[i] > positions[i - 1]);
  const auto again = DecodeDeletionVector(EncodeDeletionVector(*DeleteVector::Of(positions)));
  CHECK(again.ok() && (*again)->ToVector() == positions);
  std::vector<uint32_t> live(1000);
  CHECK((*vector)->LiveRows(0, 1000, live.data()) == 1000 - (*vector)->CountRange(0, 1000));
}

void ReadCommits(Bytes body) {
  ByteBuffer blob = {'P', 'D', 'C', '1'};
  AppendBytes(blob, body);
  AppendLe<uint32_t>(blob, Crc32c(blob));
  const auto deaths = DecodeDeleteCommits(blob);
  if (!deaths.ok()) return;
  const auto again = DecodeDeleteCommits(EncodeDeleteCommits(*deaths));
  CHECK(again.ok() && *again == *deaths);
}

}  // namespace
}  // namespace petalite::store

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const petalite::Bytes rest(data + 1, size - 1);
  if (data[0] % 3 == 0) petalite::store::ReadFile(rest);
  if (data[0] % 3 == 1) petalite::store::ReadBitmap(rest);
  if (data[0] % 3 == 2) petalite::store::ReadCommits(rest);
  return 0;
}
