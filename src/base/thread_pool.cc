#include "base/thread_pool.h"

#include <utility>

#include "base/thread_name.h"

namespace petalite {

ThreadPool::ThreadPool(size_t threads) {
  CHECK(threads > 0);
  for (size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { Run(); });
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadPool::Submit(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    CHECK(!stopping_);
    tasks_.push_back(std::move(task));
  }
  wake_.notify_one();
}

void ThreadPool::Run() {
  NameThread("petalite-worker");
  for (;;) {
    std::function<void()> task;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }
}

void TaskGroup::Add(std::function<Status()> task) {
  {
    const std::lock_guard lock(mutex_);
    ++pending_;
  }
  if (pool_ == nullptr) return Finish(task());
  pool_->Submit([this, task = std::move(task)] { Finish(task()); });
}

void TaskGroup::Finish(Status status) {
  const std::lock_guard lock(mutex_);
  if (!status.ok() && first_error_.ok()) first_error_ = std::move(status);
  if (--pending_ == 0) done_.notify_all();  // under the lock: the waiter may destroy the group next
}

Status TaskGroup::Wait() {
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this] { return pending_ == 0; });
  return std::exchange(first_error_, Status::Ok());
}

}  // namespace petalite
