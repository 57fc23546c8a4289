// petalite_write_puffin DIRECTORY: writes a Puffin file of several delete logs, and as JSON what must be found in it,
// for tests/python/test_puffin.py.

#include <cstdio>
#include <string>

#include <nlohmann/json.hpp>

#include "store/puffin.h"

namespace petalite::store {
namespace {

DeleteLogContents Scattered(uint32_t deaths, uint32_t step, uint64_t settled) {
  DeleteLog log;
  std::vector<Death> list;
  for (uint32_t i = 0; i < deaths; ++i) list.push_back({i * step + i % step, 100 + i / 3});
  log.Append(list);
  log.Settle(settled);
  return log.ContentsAt(UINT64_MAX);
}

nlohmann::ordered_json Expected(const std::string& file, const DeleteLogContents& contents,
                                const DeleteLogLocation& location) {
  nlohmann::ordered_json young = nlohmann::ordered_json::array();
  for (const Death& death : contents.young) young.push_back({death.position, death.commit});
  return {{"file", file},
          {"dead", contents.dead->ToVector()},
          {"young", young},
          {"offset", location.dead.offset},
          {"length", location.dead.length}};
}

Status Write(const std::string& directory) {
  FileSystem& fs = PosixFileSystem();
  ASSIGN_OR_RETURN(const auto writer, PuffinWriter::Create(fs, directory + "/1.puffin"));
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  // Arrays, bitsets and runs of Roaring; none, some and all of the deaths settled.
  const DeleteLogContents logs[] = {Scattered(10, 7, 0), Scattered(1000, 70'000, 200), Scattered(100'000, 2, 1000),
                                    Scattered(300'000, 1, 90'000), Scattered(5, 1, 500)};
  for (size_t i = 0; i < std::size(logs); ++i) {
    const std::string file = "data/1/" + std::to_string(i) + ".parquet";
    ASSIGN_OR_RETURN(const auto location, writer->AddDeleteLog(file, logs[i]));
    all.push_back(Expected(file, logs[i], location));
  }
  RETURN_IF_ERROR(writer->Finish().status());
  ASSIGN_OR_RETURN(const auto json, fs.Create(directory + "/expected.json"));
  RETURN_IF_ERROR(json->Append(AsBytes(all.dump())));
  return json->Close();
}

}  // namespace
}  // namespace petalite::store

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: petalite_write_puffin DIRECTORY\n");
    return 2;
  }
  const petalite::Status status = petalite::store::Write(argv[1]);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.message().c_str());
  return status.ok() ? 0 : 1;
}
