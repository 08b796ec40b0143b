// Worker: the thread that reads and writes files in the background, one job at a time.
//
// A job uses only host memory, descriptors and layouts, and nothing that the library lock protects. The submitter keeps
// the job's resources until the job is done. The end of a job is marked by a release store and tested by an acquire
// load. Owner: the state of this layer; created for the first job. Threads: submit() under the library lock, from any
// thread.
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
  // Waits until the thread is done with the job.
  ~Job();

  [[nodiscard]] bool is_done() const noexcept { return !busy_.load(std::memory_order_acquire); }
  // Returns a condition to co_await: the job is done.
  [[nodiscard]] p2p::When over() noexcept { return {&is_over, this}; }
  // Returns the result of a job that is done, and sets the error's detail; the job may then be submitted again.
  Status result();

 private:
  friend class Worker;
  static bool is_over(void* job) { return static_cast<Job*>(job)->is_done(); }

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
