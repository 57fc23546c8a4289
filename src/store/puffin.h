// Puffin files: the delete logs of many rowsets in one immutable file. Per rowset a blob `deletion-vector-v1`, as
// Iceberg v3 defines it, so that other engines can read who is dead, and where some deaths are young, a blob
// `petalite-delete-commits-v1` that gives them their commits (docs/format.md).
// Sources: https://iceberg.apache.org/puffin-spec, and https://iceberg.apache.org/spec for the deletion vector.

#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "store/delete_log.h"

namespace petalite::store {

inline constexpr const char* kDeletionVectorBlob = "deletion-vector-v1";
inline constexpr const char* kDeleteCommitsBlob = "petalite-delete-commits-v1";

struct BlobLocation {
  uint64_t offset = 0;
  uint64_t length = 0;  // 0: there is none
  uint32_t crc = 0;     // CRC-32C of the whole blob
  bool operator==(const BlobLocation&) const = default;
};

// Where a delete log stands in its file; the catalog keeps it, and a load needs nothing of the footer.
struct DeleteLogLocation {
  BlobLocation dead;
  BlobLocation commits;
  uint64_t cardinality = 0;  // of the dead; 0: there are none, and no blobs
  uint64_t settled_at = 0;
  bool operator==(const DeleteLogLocation&) const = default;
};

struct PuffinFileInfo {
  uint64_t bytes = 0;
  uint32_t footer_crc = 0;  // CRC-32C from the footer's first magic to the file's end; Puffin itself has none
};

// Writes one file: Create, AddDeleteLog for each rowset, Finish. For one thread. After an error, or without Finish, the
// file is unfinished and the caller's to remove. The entry in the folder is synced by the caller.
class PuffinWriter {
 public:
  static Result<std::unique_ptr<PuffinWriter>> Create(FileSystem& fs, const std::string& path);
  ~PuffinWriter();

  // `referenced_file`: the location of the rowset's data file. No deaths: nothing is written.
  Result<DeleteLogLocation> AddDeleteLog(const std::string& referenced_file, const DeleteLogContents& contents);
  // Writes the footer, syncs and closes the file.
  Result<PuffinFileInfo> Finish();

 private:
  struct Footer;
  explicit PuffinWriter(std::unique_ptr<SequentialWriter> file);
  Result<BlobLocation> AppendBlob(Bytes blob);

  std::unique_ptr<SequentialWriter> file_;
  std::unique_ptr<Footer> footer_;
};

// Restores a delete log: checksums, forms, order and counts are checked.
Result<std::unique_ptr<DeleteLog>> LoadDeleteLog(FileSystem& fs, const std::string& path,
                                                 const DeleteLogLocation& location);

struct PuffinBlob {
  std::string type;
  std::vector<int64_t> fields;
  int64_t snapshot_id = 0;
  int64_t sequence_number = 0;
  uint64_t offset = 0;
  uint64_t length = 0;
  std::string compression_codec;  // empty: none
  std::map<std::string, std::string> properties;
};

struct PuffinFooter {
  uint64_t offset = 0;  // of the footer's first magic
  uint32_t crc = 0;     // as in PuffinFileInfo
  std::vector<PuffinBlob> blobs;
  std::map<std::string, std::string> properties;
};

// For verification: that the file begins and ends as Puffin files do, that its blobs fill it without gaps, in the order
// of the footer, and, if given, that the footer has `expected_crc`.
Result<PuffinFooter> ReadPuffinFooter(FileSystem& fs, const std::string& path,
                                      std::optional<uint32_t> expected_crc = std::nullopt);

// Checks every byte of a file: the footer as above, and every blob of the two kinds, used or not. The first damage.
Status CheckPuffinFile(FileSystem& fs, const std::string& path, uint32_t footer_crc);

// The blobs by themselves. Errors name the structure; LoadDeleteLog adds file and offset.
ByteBuffer EncodeDeletionVector(const DeleteVector& dead);
Result<std::shared_ptr<const DeleteVector>> DecodeDeletionVector(Bytes blob);
ByteBuffer EncodeDeleteCommits(std::span<const Death> deaths);  // in order
Result<std::vector<Death>> DecodeDeleteCommits(Bytes blob);

}  // namespace petalite::store
