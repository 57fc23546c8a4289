// What the log's records say (docs/format.md, "Log records"): rows and deaths as packed columns, everything else, which
// is rare and small, as MessagePack.

#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "petalite/column_view.h"
#include "petalite/schema.h"
#include "store/delete_log.h"
#include "store/mem_rowset.h"
#include "store/rowset.h"
#include "store/version.h"

namespace petalite::store {

// Rows that died in one rowset or memrowset.
struct SourceDeaths {
  bool in_memory = false;  // `source` is a memrowset's id, else a rowset's
  uint64_t source = 0;
  std::vector<uint32_t> positions;
};

// What one commit does to one tablet.
struct TabletChange {
  TableId table = 0;
  uint32_t tablet = 0;
  MemRowsetId mem_rowset = 0;  // takes the rows
  uint32_t first_row = 0;      // the number of the first one in it
  uint32_t rows = 0;
  std::vector<ColumnView> columns;
  std::vector<SourceDeaths> deaths;
};

void AppendTabletChange(const TabletChange& change, const Schema& schema, ByteBuffer* out);

// A change that was read back, and what its views point into besides the record.
class DecodedChange {
 public:
  TabletChange change;
  // Of a value of each column; 0: strings.
  const std::vector<uint8_t>& widths() const { return widths_; }

 private:
  friend class ChangeDecoder;
  std::vector<uint8_t> widths_;
  std::vector<ByteBuffer> buffers_;
  std::vector<std::vector<uint64_t>> validity_;
};

// One change of the catalog: a name or definition put or dropped.
struct CatalogChange {
  enum class Kind : uint8_t {
    kPutSchema = 1,
    kDropSchema = 2,
    kPutTable = 3,
    kDropTable = 4,
    kPutView = 5,
    kDropView = 6,
  };
  Kind kind = Kind::kPutSchema;
  TableName name;  // of schemas only `schema`; of kPutTable the new one
  TableId table = 0;
  Schema schema;
  std::vector<size_t> key;
  OptionList options;
  uint32_t tablets = 1;
  std::string sql;
};

// A rowset that joins a tablet.
struct AddedRowset {
  TableId table = 0;
  RowsetInfo info;
  std::vector<uint32_t> dead;  // rows that the transaction itself replaced
};

// A list of changes by itself.
ByteBuffer SerializeCatalogChanges(const std::vector<CatalogChange>& changes);
Result<std::vector<CatalogChange>> ParseCatalogChanges(Bytes bytes);

// The parts of a commit other than rows.
struct CommitMeta {
  std::vector<CatalogChange> catalog;
  std::vector<AddedRowset> rowsets;  // their commit is the record's
};

ByteBuffer SerializeCommitMeta(const CommitMeta& meta);  // with its length in front

// The body of a commit record: number, time, meta, tablet changes.
struct CommitRecord {
  uint64_t commit = 0;
  int64_t time = 0;
  CommitMeta meta;
  std::vector<DecodedChange> changes;
};
// `payload` must outlive the result, whose strings point into it.
Result<CommitRecord> ParseCommitRecord(Bytes payload);

// A flush or compaction: rowsets that take the place of others, or of a memrowset.
struct StorageRecord {
  struct Added {
    RowsetInfo info;
    std::vector<Death> deaths;  // of its rows, so far, in order
  };
  TableId table = 0;
  uint32_t tablet = 0;
  MemRowsetId mem_rowset = 0;  // flushed; 0: none
  std::vector<RowsetId> removed;
  std::vector<Added> added;
};
ByteBuffer SerializeStorageRecord(const StorageRecord& record);
Result<StorageRecord> ParseStorageRecord(Bytes payload);

// A bound's bytes in catalog and log: the slot of a fixed-width type, the text of a string.
ByteBuffer BoundBytes(const Type& type, const Value& value);
Result<Value> BoundFromBytes(const Type& type, Bytes bytes);

}  // namespace petalite::store
