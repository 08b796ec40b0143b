#include "io/worker.hpp"

#include <utility>

#include "base/library_thread.hpp"

namespace hr::io {

Job::~Job() { busy_.wait(true, std::memory_order_acquire); }

Status Job::result() {
  if (!detail_.empty()) set_detail(std::exchange(detail_, {}));
  work_ = nullptr;
  return status_;
}

Worker::Worker() {
  with_signals_blocked([this] { thread_ = std::thread([this] { loop(); }); });
}

Worker::~Worker() {
  {
    const std::lock_guard guard(lock_);
    ending_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void Worker::submit(Job& job, std::function<Status()> work) {
  job.work_ = std::move(work);
  job.busy_.store(true, std::memory_order_relaxed);
  {
    const std::lock_guard guard(lock_);
    jobs_.push_back(&job);
  }
  wake_.notify_one();
}

void Worker::loop() {
  for (;;) {
    Job* job = nullptr;
    {
      std::unique_lock guard(lock_);
      wake_.wait(guard, [this] { return ending_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      job = jobs_.front();
      jobs_.pop_front();
    }
    job->status_ = job->work_();
    job->detail_ = take_detail();
    job->busy_.store(false, std::memory_order_release);
    job->busy_.notify_all();
  }
}

}  // namespace hr::io
