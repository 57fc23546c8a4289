// Makes a database, upserts by key, reads by key and by scan.

#include <cstdio>
#include <string>
#include <vector>

#include "petalite/database.h"

using namespace petalite;

namespace {

Status Run(const std::string& path) {
  auto database = Database::Open(path, {.create = true});
  if (!database.ok()) return database.status();
  const TableName users{.table = "users"};

  Transaction change = database->Begin();
  Status done = change.CreateTable({.name = users,
                                    .schema = {{{.name = "id", .type = Type::Of(TypeId::kInt64)},
                                                {.name = "name", .type = Type::Of(TypeId::kString)}}},
                                    .key = {"id"},
                                    .options = {{"codec", "zstd"}}});
  if (done.ok()) done = change.Commit();
  if (!done.ok()) return done;

  const std::vector<int64_t> ids = {1, 2, 3};
  const std::vector<std::string> names = {"Ada", "Grace", "Edsger"};
  WriteBatch batch{.op = WriteOp::kUpsert};
  batch.Add("id", ids).Add("name", names);
  const auto written = database->Write(users, batch);
  if (!written.ok()) return written.status();
  std::printf("commit %llu inserted %llu rows\n", static_cast<unsigned long long>(written->commit),
              static_cast<unsigned long long>(written->counts.inserted));

  const auto reader = database->Current().Open(users);
  if (!reader.ok()) return reader.status();
  const auto row = reader->Get({2});
  if (!row.ok()) return row.status();
  if (row->has_value()) std::printf("2 is %s\n", (**row)[1].as<std::string>().c_str());

  const auto scan = reader->NewScan({.columns = {"name"}, .where = {{"id", {PredicateKind::kGreater, {1}, {}}}}});
  if (!scan.ok()) return scan.status();
  ScanReader rows = scan->NewReader();
  RowBlock block;
  for (;;) {
    const auto more = rows.Next(&block);
    if (!more.ok()) return more.status();
    if (!*more) return Status::Ok();
    for (size_t i = 0; i < block.rows; ++i) {
      std::printf("%s\n", std::string(block.columns[0].Value<StringRef>(i).view()).c_str());
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Status status = Run(argc > 1 ? argv[1] : "users.db");
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.message().c_str());
  return status.ok() ? 0 : 1;
}
