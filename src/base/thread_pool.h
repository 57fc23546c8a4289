// A fixed set of threads that run submitted tasks in order of arrival, and a group to wait for some
// of them.

#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "base/status.h"

namespace petalite {

// Thread-safe. The destructor finishes what was submitted.
class ThreadPool {
 public:
  explicit ThreadPool(size_t threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  void Submit(std::function<void()> task);
  size_t size() const { return threads_.size(); }

 private:
  void Run();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> tasks_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

// Tasks whose end somebody waits for. Without a pool a task runs where it is added.
class TaskGroup {
 public:
  explicit TaskGroup(ThreadPool* pool) : pool_(pool) {}
  ~TaskGroup() { (void)Wait(); }

  void Add(std::function<Status()> task);
  // The first error among the tasks added so far. The group may be used again.
  Status Wait();

 private:
  void Finish(Status status);

  ThreadPool* pool_;
  std::mutex mutex_;
  std::condition_variable done_;
  size_t pending_ = 0;
  Status first_error_;
};

}  // namespace petalite
