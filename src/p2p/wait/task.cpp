#include "p2p/task.hpp"

#include <utility>

#include "p2p/core/engine.hpp"
#include "p2p/process_failure.hpp"
#include "p2p/progress.hpp"
#include "p2p/turns.hpp"

namespace hr::p2p {

namespace detail {

void* allocate_frame(std::size_t bytes) { return take_block(bytes); }

void free_frame(void* frame, std::size_t bytes) noexcept { give_back_block(frame, bytes); }

Status collect(Request** requests, int count) {
  Status first = kOk;
  for (int i = 0; i < count; ++i) {
    Request* request = std::exchange(requests[i], nullptr);
    if (request == nullptr) continue;
    if (!request->completion_.error.ok() && first.ok()) [[unlikely]] {
      first = request->completion_.error;
      set_detail(request->detail());
    }
    release(request);
  }
  return first;
}

void abandon(Request** requests, int count) noexcept {
  std::string detail = take_detail();  // keeps the detail of the error that led here
  for (int i = 0; i < count; ++i) {
    Request* request = std::exchange(requests[i], nullptr);
    if (request == nullptr) continue;
    // Other processes may depend on messages that have been sent.
    if (request->is_receive_ && !request->complete()) (void)cancel(*request);
    if (!request->complete()) (void)wait(*request);
    release(request);
  }
  set_detail(std::move(detail));
}

}  // namespace detail

Status Task::Promise::can_complete() const {
  return when.context == When::kNoContext ? kOk : p2p::can_complete(when.context);
}

bool Task::Promise::check_never_completes() noexcept {
  can_never_complete = !can_complete().ok();
  return can_never_complete;
}

bool Task::advance(bool* resumed) {
  if (done()) return true;
  for (;;) {
    Promise* parent = nullptr;
    Promise* leaf = &handle_.promise();
    while (leaf->child != nullptr) {
      parent = leaf;
      leaf = leaf->child;
    }
    const Handle frame = Handle::from_promise(*leaf);
    if (!frame.done()) {
      if (!leaf->ready()) return false;
      if (resumed != nullptr) *resumed = true;
      frame.resume();
      if (!frame.done()) continue;
    }
    if (parent == nullptr) return true;
    parent->child = nullptr;
  }
}

Status run_blocking(Task task) {
  if (!task.done()) {
    HR_TRY(wait_until([&task] { return task.advance(); }));
  } else {
    take_turn();
  }
  return task.result();
}

namespace {

class TaskState;
bool advance_tasks(void* unused);

// A pending task of this process; holds one reference to its request.
class TaskState final : public RequestState {
 public:
  TaskState(Request& request, std::unique_ptr<TaskResources> resources, TaskFactory* factory) noexcept
      : request_(request), resources_(std::move(resources)), factory_(factory) {}
  TaskState(const TaskState&) = delete;
  TaskState& operator=(const TaskState&) = delete;
  ~TaskState() override {
    if (link_.linked()) link_.unlink();
  }

  Status start(Request& request) override;
  [[nodiscard]] const char* what() const noexcept override { return resources_ ? resources_->what() : "task"; }
  void become_independent() override {
    if (resources_ != nullptr) resources_->become_independent();
  }

  [[nodiscard]] const TaskFactory* factory() const noexcept { return factory_; }

  void launch(Task task);
  // True if the task made progress. If it has finished, this and the request may have been destroyed.
  bool advance();

  Link link_;

 private:
  void finish();

  Request& request_;
  std::unique_ptr<TaskResources> resources_;
  TaskFactory* factory_;  // the same object as resources_; null unless persistent
  Task task_;
};

using TaskStates = IntrusiveList<TaskState, &TaskState::link_>;

struct ActiveTasks final : FileState {
  ~ActiveTasks() override {
    while (tasks.pop_front() != nullptr) {
    }
  }
  TaskStates tasks;
  bool advancing = false;
};
TaskStates& active_tasks() { return own<ActiveTasks>().tasks; }

void TaskState::launch(Task task) {
  task_ = std::move(task);
  if (task_.done()) {
    finish();
    take_turn();
    return;
  }
  request_.retain();
  active_tasks().push_back(*this);
  add_hook(&advance_tasks, nullptr);
}

void TaskState::finish() {
  Completion completion;
  completion.error = task_.result();
  task_ = Task();
  if (resources_ != nullptr) resources_->describe(&completion);
  request_.finish(completion);
}

bool TaskState::advance() {
  bool moved = false;
  if (!task_.advance(&moved)) return moved;
  TaskStates::remove(*this);
  finish();
  release(&request_);
  return true;
}

Status TaskState::start(Request& request) {
  if (factory_ == nullptr) return RequestState::start(request);
  request.active_ = true;
  request.begin();
  request.completion_ = Completion{};
  request.detail_.clear();
  launch(factory_->make());
  return kOk;
}

// A task may itself make progress (isend() does), so that this hook is entered recursively; the tasks then wait for the
// outer round.
bool advance_tasks(void*) {
  bool& advancing = own<ActiveTasks>().advancing;
  if (advancing) return false;
  advancing = true;
  bool moved = false;
  TaskStates& tasks = active_tasks();
  for (TaskState* state = tasks.front(); state != nullptr;) {
    TaskState* following = tasks.next(*state);
    moved |= state->advance();
    state = following;
  }
  advancing = false;
  if (tasks.empty()) remove_hook(&advance_tasks, nullptr);
  return moved;
}

}  // namespace

Status run_as_request(Task task, std::unique_ptr<TaskResources> resources, Object* communicator, Request** request) {
  Request* made = Arena<Request>::instance().create();
  if (made == nullptr) return fail(Errc::kNoMem, "no memory for another request: complete or free some first");
  auto state = std::make_unique<TaskState>(*made, std::move(resources), nullptr);
  TaskState& launched = *state;
  made->state_ = std::move(state);
  made->communicator_ = communicator;
  launched.launch(std::move(task));
  *request = made;
  return kOk;
}

Status task_init(std::unique_ptr<TaskFactory> factory, Object* communicator, Request** request) {
  Request* made = Arena<Request>::instance().create();
  if (made == nullptr) return fail(Errc::kNoMem, "no memory for another request: complete or free some first");
  TaskFactory* borrowed = factory.get();
  made->state_ = std::make_unique<TaskState>(*made, std::move(factory), borrowed);
  made->communicator_ = communicator;
  made->persistent_ = true;
  made->active_ = false;
  *request = made;
  return kOk;
}

const TaskFactory* factory_of(const Request& request) noexcept {
  const auto* const state = dynamic_cast<const TaskState*>(request.state_.get());
  return state == nullptr ? nullptr : state->factory();
}

}  // namespace hr::p2p
