#include "system/background.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

namespace hr::launcher {

Background::~Background() {
  for (Task& task : tasks_) {
    loop_.forget(task.ready.get());
    task.thread.join();
  }
}

void Background::run(std::function<std::string()> work, std::function<void(const std::string&)> done) {
  const auto task = tasks_.emplace(tasks_.end());
  task->ready = Descriptor(::eventfd(0, EFD_CLOEXEC));
  loop_.watch(task->ready.get(), EPOLLIN, [this, task, done = std::move(done)] {
    loop_.forget(task->ready.get());
    task->thread.join();
    const std::string result = std::move(task->result);
    tasks_.erase(task);
    done(result);
  });
  task->thread = std::thread([&task = *task, work = std::move(work)] {
    task.result = work();
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(task.ready.get(), &one, sizeof one);
  });
}

}  // namespace hr::launcher
