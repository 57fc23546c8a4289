// Files of tables that somebody writes or reads. Whatever the catalog says, none of them is an orphan (invariant 4).

#pragma once

#include <map>
#include <mutex>
#include <string>

namespace petalite::store {

// Thread-safe. Outlives its uses.
class FilesInUse {
 public:
  // A file is in use while one of these lives: from before it is created until after it is removed.
  class Use {
   public:
    Use(FilesInUse& files, std::string path);
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    FilesInUse& files_;
    const std::string path_;
  };

  bool Contains(const std::string& path) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, int> uses_;  // how many, by path
};

}  // namespace petalite::store
