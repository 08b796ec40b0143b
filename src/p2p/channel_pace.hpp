// Pauses of threads that wait on channels.
//
// A waiting thread spins first. Threads that outnumber their cores then yield to one another. A yield makes room only
// for threads that the system schedules together with this one: a program that computes, or a rank in another session
// or container, gets the core only once the system takes it away from all threads of this process, a time slice later.
// The length of a yield shows that such a load competes for the core (docs/adr/0018-yielding.md); for a while, waiting
// threads then sleep at once. The longer nothing moves, the longer they sleep, so that threads that would wake in vain
// leave the cores to threads with work.
//
// Internal to p2p/ and bind/. Threads: any, without locks; a Pace belongs to one thread. The process records a load
// with relaxed accesses, because any thread may find it and none depends on it.
#pragma once

namespace hr::p2p::channels {

// Call after a test or probe that has found nothing: occasionally makes progress on the other channels, and yields the
// core or sleeps if calls in close succession find nothing. A program that computes between them never sleeps.
void pause_after_test();

// True if the threads that use channels, and those that wait for something else, are more than this process's cores.
// Only then do waiting threads count themselves (waiting_on_channels in p2p/progress.hpp): the number would otherwise
// be the one word that all of them write.
[[nodiscard]] bool may_outnumber_cores() noexcept;

// Yields the core, and determines whether a load competes for it.
void yield_core() noexcept;
void nap(double seconds) noexcept;

// Paces one waiting loop: decides how its thread spends the time after each round.
class Pace {
 public:
  enum class Step { kSpin, kYield, kSleep };

  Pace() = default;
  ~Pace() {
    if (counted_) end_long(-1);
  }
  Pace(const Pace&) = delete;
  Pace& operator=(const Pace&) = delete;

  // Call after each round. `moves`: a number that changes if anything moves on the awaited channels (Channel::moves());
  // the wait then begins anew. `polls_network`: a round makes a system call, so that spinning saves little.
  Step next(unsigned moves, bool polls_network);
  // Number of rounds since something moved.
  [[nodiscard]] unsigned rounds() const noexcept { return rounds_; }
  // Count this thread as waiting, and the wait, once it has become long; by pause(), or by the caller. `process`: the
  // one on which the wait depends; -1: several or none.
  [[nodiscard]] bool becomes_long() const noexcept { return rounds_ == kLongWait && !counted_; }
  [[nodiscard]] bool is_long() const noexcept { return counted_; }
  void begin_long(int process) noexcept;
  void end_long(int process) noexcept;
  // True if a load competes for the core, so that a yield may last for a time slice. Valid after kYield and kSleep.
  [[nodiscard]] bool loaded() const noexcept { return loaded_; }
  // Returns how long a sleep should last, in seconds; if other threads want the core, a part of the time since the
  // first sleep. Valid after kSleep.
  [[nodiscard]] double sleep_seconds() const noexcept;
  // Call after a step: makes progress on the other channels after a sleep, and after some rounds. The wait begins anew
  // if something moves there, as a message may arrive in many pieces.
  void look_at_others(Step step);
  // Takes the next step itself, and looks at the other channels; for a loop over several channels.
  void pause(unsigned moves);
  // Call when something has moved elsewhere that the wait depends on.
  void begin_anew() noexcept;

 private:
  static constexpr unsigned kLongWait = 16;  // rounds

  unsigned moves_ = 0;
  unsigned rounds_ = 0;
  bool loaded_ = false;
  bool wanted_ = false;   // other threads want the core
  bool shared_ = false;   // cores_are_shared(), as last seen
  bool counted_ = false;  // the wait has become long
  bool in_sum_ = false;   // this thread is counted in waiting_on_channels
  bool timed_ = false;    // the wait is being counted
  double since_ = 0;      // time of the first sleep; 0: none yet
};

}  // namespace hr::p2p::channels
