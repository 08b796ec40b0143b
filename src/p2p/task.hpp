// Task: an operation that consists of several messages, written as one coroutine, so that the blocking, the
// non-blocking and the persistent form run the same code.
//
//   Task barrier_step(Arguments a) {                       // arguments by value, in a plain struct
//     Requests<2> requests;
//     HR_CO_TRY(ireceive(..., requests.next()));
//     HR_CO_TRY(isend(..., requests.next()));
//     Status status = co_await requests.all();             // does not suspend if all are complete already
//     co_return status;
//   }
//   return run_blocking(barrier_step(a));                  // or run_as_request(barrier_step(a), nullptr, request)
//
// A task starts when it is called and runs until it must wait. It may await Requests<N>::all(), RequestList::all(),
// a When and another Task, which must be a named local: `Task child = f(a); Status s = co_await child;`.
//
// For anything else (memory that another process writes, a device) a task awaits a predicate: `When flag{&is_set, &it,
// context}; HR_CO_TRY(co_await flag);`. The engine then polls and does not sleep.
//
// Rules, because GCC 12 miscompiles other forms: co_await is the only expression in an initialisation or
// an HR_CO_TRY, without temporaries with destructors; parameters are trivially copyable.
//
// Owner: a Task owns its frame, unless a driver has taken it over. Frames are allocated from free lists by size, so
// that starting the same task again allocates nothing. Destroying an unfinished task withdraws its requests
// (abandon()).
// Threads: library lock. Standard: section 6.12 requires that non-blocking collectives progress in any call.
#pragma once

#include <coroutine>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include "base/list.hpp"
#include "p2p/p2p.hpp"
#include "p2p/progress.hpp"

namespace hr::p2p {

namespace detail {
// Allocate and free coroutine frames by size class; see task.cpp.
[[nodiscard]] void* allocate_frame(std::size_t bytes);
void free_frame(void* frame, std::size_t bytes) noexcept;
// Returns the first error among complete requests (its text becomes the current detail); releases all requests and sets
// them to null.
Status collect(Request** requests, int count);
// Withdraws requests that no task will wait for: cancels receives, waits for sends, and releases the requests.
void abandon(Request** requests, int count) noexcept;
}  // namespace detail

// Operand of co_await that waits for all of requests[0, *count), except null ones. The co_await returns the first
// error, releases the requests and sets *count to 0.
struct Until {
  Request** requests;
  int* count;
};

// Operand of co_await that waits for a condition without a request. holds() is called in every round of progress until
// it is true; it must be cheap and have no other effect. `argument` must outlive the wait. The co_await returns kOk, or
// the reason why the condition can no longer hold: a process of the context has failed, or the context has ended
// (process_failure.hpp).
struct When {
  static constexpr std::uint32_t kNoContext = ~std::uint32_t{0};
  bool (*holds)(void* argument);
  void* argument;
  std::uint32_t context = kNoContext;  // context on whose processes the condition depends
};

class [[nodiscard]] Task {
 public:
  struct Promise;
  using promise_type = Promise;
  using Handle = std::coroutine_handle<Promise>;

  Task() noexcept = default;
  explicit Task(Handle handle) noexcept : handle_(handle) {}
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Task() {
    if (handle_) handle_.destroy();
  }

  // True if the task has ended, or is empty.
  [[nodiscard]] bool done() const noexcept { return !handle_ || handle_.done(); }
  // Resumes the task while its pending wait is complete; true if it is done. Does not itself make progress. *resumed
  // (may be null): set to true if the task has been resumed.
  bool advance(bool* resumed = nullptr);
  // Result of the task; valid once done().
  [[nodiscard]] Status result() const noexcept;

 private:
  Handle handle_ = nullptr;
};

struct Task::Promise {
  Status result;
  Promise* child = nullptr;      // awaited task; only the innermost one waits for requests
  Request** requests = nullptr;  // awaited requests; `pending` excludes complete ones at the end
  int pending = 0;
  When when{};                      // awaited condition
  bool polled = false;              // suspended for `when`, and counted as a polled wait
  bool can_never_complete = false;  // `when` can no longer hold

  ~Promise() { set_polled(false); }
  void set_polled(bool value) noexcept {
    if (polled != value) (value ? begin_polled_wait : end_polled_wait)();
    polled = value;
  }

  // True if this frame's own wait is complete.
  [[nodiscard]] bool ready() noexcept {
    if (when.holds != nullptr) return when.holds(when.argument) || (any_failures() && check_never_completes());
    while (pending > 0 && (requests[pending - 1] == nullptr || requests[pending - 1]->complete())) --pending;
    return pending == 0;
  }

  // Returns kOk, or the reason why the awaited condition can no longer hold.
  [[nodiscard]] Status can_complete() const;
  [[nodiscard]] bool check_never_completes() noexcept;

  struct UntilAwaiter {
    Promise* promise;
    Until until;
    [[nodiscard]] bool await_ready() const noexcept {
      promise->requests = until.requests;
      promise->pending = *until.count;
      return promise->ready();
    }
    void await_suspend(std::coroutine_handle<>) const noexcept {}
    [[nodiscard]] Status await_resume() const {
      return detail::collect(until.requests, std::exchange(*until.count, 0));
    }
  };

  struct WhenAwaiter {
    Promise* promise;
    [[nodiscard]] bool await_ready() const noexcept { return promise->when.holds(promise->when.argument); }
    void await_suspend(std::coroutine_handle<>) const noexcept { promise->set_polled(true); }
    [[nodiscard]] Status await_resume() const {
      promise->set_polled(false);
      const Status status = std::exchange(promise->can_never_complete, false) ? promise->can_complete() : kOk;
      promise->when = {};
      return status;
    }
  };

  struct TaskAwaiter {
    Promise* parent;
    Promise* child;
    bool done;
    [[nodiscard]] bool await_ready() const noexcept { return done; }
    void await_suspend(std::coroutine_handle<>) const noexcept { parent->child = child; }
    [[nodiscard]] Status await_resume() const noexcept { return child == nullptr ? kOk : child->result; }
  };

  Task get_return_object() noexcept { return Task(Handle::from_promise(*this)); }
  std::suspend_never initial_suspend() noexcept { return {}; }
  std::suspend_always final_suspend() noexcept { return {}; }
  void return_value(Status status) noexcept { result = status; }
  [[noreturn]] void unhandled_exception() noexcept { std::terminate(); }

  UntilAwaiter await_transform(Until until) noexcept { return {this, until}; }
  WhenAwaiter await_transform(const When& condition) noexcept {
    when = condition;
    return {this};
  }
  TaskAwaiter await_transform(Task& task) noexcept {
    return {this, task.handle_ ? &task.handle_.promise() : nullptr, task.done()};
  }

  static void* operator new(std::size_t bytes) { return detail::allocate_frame(bytes); }
  static void operator delete(void* frame, std::size_t bytes) noexcept { detail::free_frame(frame, bytes); }
};

inline Status Task::result() const noexcept { return handle_ ? handle_.promise().result : kOk; }

// Pending requests of one frame. Must be a local variable of the coroutine, declared after the memory that the requests
// read and write: if the frame ends with an error, the requests are destroyed first, which waits for those that cannot
// be cancelled.
template <int kCapacity>
class Requests {
 public:
  Requests() noexcept = default;
  Requests(const Requests&) = delete;
  Requests& operator=(const Requests&) = delete;
  ~Requests() {
    if (count_ != 0) detail::abandon(items_, count_);
  }
  // Returns the location for the request of the next isend() or ireceive(). At most kCapacity between two waits.
  [[nodiscard]] Request** next() noexcept {
    items_[count_] = nullptr;
    return &items_[count_++];
  }
  [[nodiscard]] int count() const noexcept { return count_; }
  [[nodiscard]] Until all() noexcept { return {items_, &count_}; }

 private:
  Request* items_[kCapacity];
  int count_ = 0;
};

// Pending requests whose number is known only at run time. `capacity` is fixed at construction (addresses must not
// move).
class RequestList {
 public:
  explicit RequestList(std::size_t capacity) : items_(capacity, nullptr) {}
  RequestList(const RequestList&) = delete;
  RequestList& operator=(const RequestList&) = delete;
  ~RequestList() {
    if (count_ != 0) detail::abandon(items_.data(), count_);
  }
  [[nodiscard]] Request** next() noexcept {
    items_[static_cast<std::size_t>(count_)] = nullptr;
    return &items_[static_cast<std::size_t>(count_++)];
  }
  [[nodiscard]] int count() const noexcept { return count_; }
  [[nodiscard]] bool full() const noexcept { return static_cast<std::size_t>(count_) == items_.size(); }
  [[nodiscard]] Until all() noexcept { return {items_.data(), &count_}; }

 private:
  std::vector<Request*> items_;
  int count_ = 0;
};

// Objects that a request created from a task keeps alive until it is destroyed (communicator, types, operation).
class TaskResources {
 public:
  virtual ~TaskResources() = default;
  // Name for error messages: "allreduce".
  [[nodiscard]] virtual const char* what() const noexcept = 0;
  // Makes later starts independent of the default stream (mem/independent.hpp).
  virtual void become_independent() {}
  // Fills in the completion, except for the error.
  virtual void describe(Completion* /*completion*/) const noexcept {}
};

// Objects that a persistent request keeps alive, with a function that creates the task for each start.
class TaskFactory : public TaskResources {
 public:
  virtual Task make() = 0;
};

// Runs the task to completion, and makes progress on everything meanwhile.
Status run_blocking(Task task);

// Creates a request that completes when the task does. *request receives one reference, which the caller owns. An error
// of the task is the request's error. `communicator` (may be null) becomes Request::communicator_; `resources` must
// keep it alive.
Status run_as_request(Task task, std::unique_ptr<TaskResources> resources, Object* communicator, Request** request);

// Creates an inactive persistent request; each start runs a new task from factory->make().
Status task_init(std::unique_ptr<TaskFactory> factory, Object* communicator, Request** request);
// Returns the factory of such a request; null for other requests.
[[nodiscard]] const TaskFactory* factory_of(const Request& request) noexcept;

}  // namespace hr::p2p

// HR_TRY for coroutines. The expression may be a co_await.
#define HR_CO_TRY(expression)                         \
  do {                                                \
    const ::hr::Status hr_try_status_ = (expression); \
    if (!hr_try_status_.ok()) [[unlikely]]            \
      co_return hr_try_status_;                       \
  } while (false)
