// A folder for one test, removed with all that is in it.

#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace petalite {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    const char* directory = std::getenv("TMPDIR");
    path_ = std::string(directory != nullptr ? directory : "/tmp") + "/petalite-test-XXXXXX";
    if (mkdtemp(path_.data()) == nullptr) std::abort();
  }
  ~TemporaryFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace petalite
