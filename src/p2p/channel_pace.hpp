// Pauses of threads that wait on channels.
//
// Threads that outnumber their cores yield to one another first. A yield makes room only for threads that the system
// schedules together with this one: a program that computes, or a rank in another session or container, gets the core
// only once the system takes it away from all threads of this process, a time slice later. The length of a yield shows
// that such a load competes for the core (docs/adr/0018-yielding.md); for a while, waiting threads then sleep at once.
//
// Internal to p2p/ and bind/. Threads: any, without locks. The result is one per process, read and written relaxed, as
// every thread may find it and none depends on it.
#pragma once

namespace hr::p2p::channels {

// True if a load has recently competed for the cores of this process.
[[nodiscard]] bool is_loaded() noexcept;
// Yields the core, and determines whether a load competes for it.
void yield_core() noexcept;
// Sleeps for some tens of microseconds.
void nap() noexcept;

// Call after a test or probe that has found nothing: occasionally makes progress on the other channels, and yields the
// core or sleeps if calls in close succession find nothing. A program that computes between them never sleeps.
void pause_after_test();

// Paces a loop over several channels: call it after each fruitless round.
class Pace {
 public:
  Pace() = default;
  ~Pace();
  Pace(const Pace&) = delete;
  Pace& operator=(const Pace&) = delete;
  void pause();

 private:
  unsigned rounds_ = 0;
  bool timed_ = false;  // the wait has become long, and is being counted
};

}  // namespace hr::p2p::channels
