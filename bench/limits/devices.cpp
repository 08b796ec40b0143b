#include "limits/devices.hpp"

#include <algorithm>

#include "limits/clock.hpp"

namespace bench {

Devices::Devices() {
  ordinal_ = {0, gpu::device_count() > 1 ? 1 : 0};
  for (int side = 0; side < 2; ++side) {
    select(side);
    streams_[static_cast<std::size_t>(side)] = gpu::create_stream(true);
    events_[static_cast<std::size_t>(side)] = gpu::create_event();
  }
  peer_access_ = true;
  for (int side = 0; side < 2; ++side) {
    select(side);
    peer_access_ = gpu::enable_peer_access(ordinal_[static_cast<std::size_t>(1 - side)]) && peer_access_;
  }
  select(0);
}

Devices::~Devices() {
  rest();
  for (int side = 0; side < 2; ++side) {
    select(side);
    gpu::destroy_event(events_[static_cast<std::size_t>(side)]);
    gpu::destroy_stream(streams_[static_cast<std::size_t>(side)]);
  }
}

std::string Devices::describe() const {
  select(0);
  const std::string name = gpu::device_name();
  return "CUDA driver " + gpu::driver_version() + ", " +
         (same() ? "one " + name + ", both sides on it"
                 : "two " + name + (peer_access_ ? "" : ", no access between them"));
}

double Devices::now() { return now_us(); }

void Devices::finish(int side) const {
  const gpu::Event event = events_[static_cast<std::size_t>(side)];
  gpu::record(event, stream(side));
  while (!gpu::complete(event)) {
  }
}

double Devices::timed_both(const std::function<void(int side)>& work) {
  if (!thread_.joinable()) thread_ = std::thread([this] { partner(); });
  select(0);
  work_ = &work;
  const double start = now();
  started_.fetch_add(1, std::memory_order_release);
  work(0);
  finish(0);
  const double end = now();
  while (ended_.load(std::memory_order_acquire) != started_.load(std::memory_order_relaxed)) {
  }
  return std::max(end, partner_end_) - start;
}

void Devices::rest() {
  if (!thread_.joinable()) return;
  stop_ = true;
  thread_.join();
  stop_ = false;
}

void Devices::partner() {
  gpu::bind_thread(ordinal_[1]);
  for (unsigned round = ended_ + 1;; ++round) {
    while (started_.load(std::memory_order_acquire) != round) {
      if (stop_.load(std::memory_order_relaxed)) return;
    }
    (*work_)(1);
    finish(1);
    partner_end_ = now();
    ended_.store(round, std::memory_order_release);
  }
}

}  // namespace bench
