// RecallScope: a scope in which memory may be described as it was when the driver was last queried about that memory.
//
// For a first look at a buffer that will be looked at again before it is used. A query takes longer than the rest of
// such a look. If the program has freed the memory since, the description is out of date: an error that follows from
// it must be confirmed without the scope.
//
// Owner: the stack. Threads: the scope belongs to its thread; library lock. No round of progress may be made in it.
#pragma once

namespace hr::mem {

class RecallScope {
 public:
  RecallScope() noexcept {
    active_ = true;
    used_ = false;
  }
  ~RecallScope() { active_ = false; }
  RecallScope(const RecallScope&) = delete;
  RecallScope& operator=(const RecallScope&) = delete;

  [[nodiscard]] static bool active() noexcept { return active_; }
  static void note_use() noexcept { used_ = true; }
  // True if a description was recalled in this scope.
  [[nodiscard]] bool used() const noexcept { return used_; }

 private:
  static inline thread_local bool active_ = false;
  static inline thread_local bool used_ = false;
};

}  // namespace hr::mem
