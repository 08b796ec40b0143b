// The two devices of a bare measurement, with a stream and an event on each. Work on one or both devices is timed until
// polling shows its event complete, which is the best that a message-passing library could achieve.
//
// On a machine with one device, both sides use it. The calling thread drives side 0 and also side 1, unless both must
// work at once; then a second thread drives side 1. One object per program.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <string>
#include <thread>

#include "gpu.hpp"

namespace bench {

class Devices {
 public:
  Devices();  // requires gpu::available()
  ~Devices();
  Devices(const Devices&) = delete;
  Devices& operator=(const Devices&) = delete;

  bool same() const { return ordinal_[1] == ordinal_[0]; }
  bool peer_access() const { return peer_access_; }
  std::string describe() const;

  void select(int side) const { gpu::select(ordinal_[static_cast<std::size_t>(side)]); }
  gpu::Stream stream(int side) const { return streams_[static_cast<std::size_t>(side)]; }

  // Returns the microseconds from before the call of `work` until its work in the stream of `side` is complete.
  template <class Work>
  double timed(int side, Work work) const {
    select(side);
    const double start = now();
    work();
    finish(side);
    return now() - start;
  }
  // Like timed(), for both sides at once: calls `work(side)` on a thread for each side.
  double timed_both(const std::function<void(int side)>& work);
  // Ends the second thread, which spins between two calls of timed_both(); the next call restarts it.
  void rest();

 private:
  static double now();
  void finish(int side) const;
  void partner();

  std::array<int, 2> ordinal_{};
  std::array<gpu::Stream, 2> streams_{};
  std::array<gpu::Event, 2> events_{};
  bool peer_access_ = false;

  // In each round the caller publishes `work_` by incrementing `started_`; the partner answers in `ended_`.
  const std::function<void(int)>* work_ = nullptr;
  double partner_end_ = 0;
  std::atomic<unsigned> started_{0}, ended_{0};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

// Device memory of one side, or pinned host memory; released with the object. `devices` must outlive it.
class Memory {
 public:
  Memory(const Devices& devices, int side, std::size_t bytes, gpu::Memory kind = gpu::Memory::kDevice)
      : devices_(devices), side_(side) {
    devices_.select(side_);
    data_ = gpu::allocate(bytes, kind);
  }
  ~Memory() {
    devices_.select(side_);
    gpu::free(data_);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  template <class T = void>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  const Devices& devices_;
  const int side_;
  void* data_;
};

}  // namespace bench
