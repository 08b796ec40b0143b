// Worker: the thread that reads and writes files while the program goes on, one job after the other.
//
// A job touches host memory, descriptors and layouts, and nothing that the library lock guards; its resources are held
// by its submitter, and stay until the job is done. A release store marks it done, an acquire load sees that. Owner:
// the state of this layer; made at the first job. Threads: submit() under the library lock, from any thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "base/status.hpp"
#include "p2p/task.hpp"

namespace hr::io {

class Job {
 public:
  Job() = default;
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  // Waits until the thread is done with it.
  ~Job();

  // Returns the condition to co_await.
  [[nodiscard]] p2p::When over() noexcept { return {&is_over, this}; }
  // Returns, once it is over, its result, with its text; it may be submitted again then.
  Status result();

 private:
  friend class Worker;
  static bool is_over(void* job) { return !static_cast<Job*>(job)->busy_.load(std::memory_order_acquire); }

  std::atomic<bool> busy_ = false;
  std::function<Status()> work_;
  Status status_;
  std::string detail_;
};

class Worker {
 public:
  Worker();
  // Finishes the remaining jobs, and ends the thread.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void submit(Job& job, std::function<Status()> work);

 private:
  void loop();

  std::mutex lock_;
  std::condition_variable wake_;
  std::deque<Job*> jobs_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace hr::io
