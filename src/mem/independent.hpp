// IndependentScope: work on memory that is classified in this scope is not ordered after the legacy default stream.
//
// An operation that the program has enqueued in a stream starts when the stream reaches it, so all earlier work on its
// buffers is done. The stream then waits for the operation. If the operation waited for the default stream, or for a
// stream that synchronises with it, the operation and the program's stream would often wait for each other. In this
// scope views are therefore marked (Location::independent), and Context::of() gives their context's independent twin,
// none of whose streams synchronises with the default stream.
//
// Owner: the stack. Threads: the scope belongs to its thread. No round of progress may be made in it, as that would
// classify the memory of other operations.
#pragma once

namespace hr::mem {

class IndependentScope {
 public:
  explicit IndependentScope(bool independent = true) noexcept : outer_(independent_) { independent_ = independent; }
  ~IndependentScope() { independent_ = outer_; }
  IndependentScope(const IndependentScope&) = delete;
  IndependentScope& operator=(const IndependentScope&) = delete;

  [[nodiscard]] static bool active() noexcept { return independent_; }

 private:
  static inline thread_local bool independent_ = false;
  bool outer_;
};

}  // namespace hr::mem
