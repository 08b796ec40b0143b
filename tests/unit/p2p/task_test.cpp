// Tasks in one process: requests that the test completes itself, and messages from the process to itself.
#include "p2p/task.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>

#include "base/abi.hpp"
#include "boot/boot.hpp"
#include "layout/op.hpp"
#include "p2p/progress.hpp"

namespace hr::p2p {
namespace {

class TaskTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    ASSERT_TRUE(boot::init().ok());
    ASSERT_TRUE(init().ok());
    live_before = Arena<Request>::instance().live();
  }
  static void TearDownTestSuite() {
    ASSERT_TRUE(finalize().ok());
    ASSERT_TRUE(boot::finalize().ok());
  }
  void TearDown() override { EXPECT_EQ(Arena<Request>::instance().live(), live_before); }
  static inline std::size_t live_before = 0;  // includes the task of the engine
};

Request* pending_request() { return Arena<Request>::instance().create(); }

void finish(Request* request, Status error = kOk) {
  Completion completion;
  completion.error = error;
  request->finish(completion);
}

// Starts two requests, the second one after the first, and counts the stages.
struct TwoStages {
  std::array<Request*, 2> requests;
  int* stage;
};

Task two_stages(TwoStages arguments) {
  Requests<1> set;
  for (int i = 0; i < 2; ++i) {
    *set.next() = arguments.requests[static_cast<std::size_t>(i)];
    const Status status = co_await set.all();
    if (!status.ok()) co_return status;
    ++*arguments.stage;
  }
  co_return kOk;
}

Task parent_of_two_stages(TwoStages arguments) {
  Task child = two_stages(arguments);
  const Status status = co_await child;
  if (!status.ok()) co_return status;
  *arguments.stage += 10;
  co_return kOk;
}

TEST_F(TaskTest, RunsToTheEndWithoutSuspendingWhenAllIsComplete) {
  int stage = 0;
  const TwoStages arguments{{pending_request(), pending_request()}, &stage};
  for (Request* request : arguments.requests) finish(request);
  const Task task = two_stages(arguments);
  EXPECT_TRUE(task.done());
  EXPECT_EQ(stage, 2);
  EXPECT_TRUE(task.result().ok());
}

TEST_F(TaskTest, AdvancesAsFarAsRequestsAllow) {
  int stage = 0;
  const TwoStages arguments{{pending_request(), pending_request()}, &stage};
  Task task = two_stages(arguments);
  EXPECT_FALSE(task.advance());
  EXPECT_EQ(stage, 0);
  finish(arguments.requests[0]);
  EXPECT_FALSE(task.advance());
  EXPECT_EQ(stage, 1);
  finish(arguments.requests[1]);
  EXPECT_TRUE(task.advance());
  EXPECT_EQ(stage, 2);
}

TEST_F(TaskTest, ResumesTheParentWhenTheChildIsDone) {
  int stage = 0;
  const TwoStages arguments{{pending_request(), pending_request()}, &stage};
  Task task = parent_of_two_stages(arguments);
  finish(arguments.requests[0]);
  EXPECT_FALSE(task.advance());
  finish(arguments.requests[1]);
  EXPECT_TRUE(task.advance());
  EXPECT_EQ(stage, 12);
}

TEST_F(TaskTest, DoesNotSuspendForAChildThatIsDone) {
  int stage = 0;
  const TwoStages arguments{{pending_request(), pending_request()}, &stage};
  for (Request* request : arguments.requests) finish(request);
  const Task task = parent_of_two_stages(arguments);
  EXPECT_TRUE(task.done());
  EXPECT_EQ(stage, 12);
}

TEST_F(TaskTest, PassesTheFirstErrorUpWithItsText) {
  int stage = 0;
  const TwoStages arguments{{pending_request(), nullptr}, &stage};
  Task task = parent_of_two_stages(arguments);
  finish(arguments.requests[0], fail(Errc::kTruncate, "message of 8 bytes"));
  EXPECT_EQ(take_detail(), "");
  EXPECT_TRUE(task.advance());
  EXPECT_EQ(task.result(), Status(Errc::kTruncate));
  EXPECT_EQ(take_detail(), "message of 8 bytes");
  EXPECT_EQ(stage, 0);
}

Task empty_wait() {
  Requests<2> set;
  *set.next() = nullptr;
  const Status status = co_await set.all();
  co_return status;
}

TEST_F(TaskTest, SkipsNullRequests) { EXPECT_TRUE(run_blocking(empty_wait()).ok()); }

TEST_F(TaskTest, AnEmptyTaskIsDone) {
  EXPECT_TRUE(Task().done());
  EXPECT_TRUE(run_blocking(Task()).ok());
}

layout::View bytes(void* address, std::size_t size) {
  layout::View view;
  EXPECT_TRUE(layout::make_view(address, static_cast<Count>(size), *layout::predefined_type(abi::kByte), &view).ok());
  return view;
}

// Sends a message to this process through both halves of p2p.
struct Loop {
  void* from;
  void* to;
  std::size_t size;
  std::size_t room;
  int tag;
};

Task loop(Loop arguments) {
  Requests<2> set;
  const Envelope envelope{6, 0, arguments.tag};
  HR_CO_TRY(ireceive(bytes(arguments.to, arguments.room), envelope, set.next()));
  HR_CO_TRY(isend(bytes(arguments.from, arguments.size), 0, envelope, Mode::kStandard, set.next()));
  HR_CO_TRY(co_await set.all());
  co_return kOk;
}

TEST_F(TaskTest, MovesMessagesBlocking) {
  std::string from(100000, 'x');
  std::string to(100000, '.');
  EXPECT_TRUE(run_blocking(loop({from.data(), to.data(), from.size(), to.size(), 1})).ok());
  EXPECT_EQ(from, to);
}

class Named final : public TaskResources {
 public:
  explicit Named(int* alive) : alive_(alive) { ++*alive_; }
  ~Named() override { --*alive_; }
  [[nodiscard]] const char* what() const noexcept override { return "loop"; }

 private:
  int* alive_;
};

TEST_F(TaskTest, BecomesARequestThatPollCompletes) {
  int alive = 0;
  int stage = 0;
  const TwoStages arguments{{pending_request(), pending_request()}, &stage};
  Request* request = nullptr;
  ASSERT_TRUE(run_as_request(two_stages(arguments), std::make_unique<Named>(&alive), nullptr, &request).ok());
  EXPECT_FALSE(request->complete());
  EXPECT_STREQ(request->state_->what(), "loop");
  finish(arguments.requests[0]);
  EXPECT_TRUE(poll());
  EXPECT_EQ(stage, 1);
  finish(arguments.requests[1]);
  ASSERT_TRUE(wait(*request).ok());
  EXPECT_EQ(stage, 2);
  EXPECT_EQ(request->references(), 1u);
  EXPECT_FALSE(request->state_->start(*request).ok());
  (void)take_detail();
  release(request);
  EXPECT_EQ(alive, 0);
}

TEST_F(TaskTest, AFreedRequestCompletesAndGoes) {
  int alive = 0;
  int stage = 0;
  const TwoStages arguments{{pending_request(), pending_request()}, &stage};
  Request* request = nullptr;
  ASSERT_TRUE(run_as_request(two_stages(arguments), std::make_unique<Named>(&alive), nullptr, &request).ok());
  release(request);
  EXPECT_EQ(alive, 1);
  for (Request* each : arguments.requests) finish(each);
  (void)poll();
  EXPECT_EQ(stage, 2);
  EXPECT_EQ(alive, 0);
}

TEST_F(TaskTest, ErrorsOfARequestAreItsOwn) {
  std::array<char, 8> from{};
  std::array<char, 4> to{};
  Request* request = nullptr;
  ASSERT_TRUE(run_as_request(loop({from.data(), to.data(), 8, 4, 2}), nullptr, nullptr, &request).ok());
  ASSERT_TRUE(wait(*request).ok());
  EXPECT_EQ(request->completion_.error, Status(Errc::kTruncate));
  EXPECT_NE(request->detail(), "");
  EXPECT_EQ(take_detail(), "");
  release(request);
}

TEST_F(TaskTest, ManyRequestsAtOnce) {
  constexpr std::size_t kMany = 200;
  std::array<int, kMany> from{};
  std::array<int, kMany> to{};
  std::array<Request*, kMany> requests{};
  for (std::size_t i = 0; i < kMany; ++i) {
    from[i] = static_cast<int>(i);
    to[i] = -1;
    const Loop arguments{&from[i], &to[i], sizeof(int), sizeof(int), static_cast<int>(i)};
    ASSERT_TRUE(run_as_request(loop(arguments), nullptr, nullptr, &requests[i]).ok());
  }
  for (Request* request : requests) ASSERT_TRUE(wait(*request).ok());
  EXPECT_EQ(from, to);
  for (Request* request : requests) release(request);
}

class LoopFactory final : public TaskFactory {
 public:
  explicit LoopFactory(Loop arguments) : arguments_(arguments) {}
  Task make() override { return loop(arguments_); }
  [[nodiscard]] const char* what() const noexcept override { return "loop"; }

 private:
  Loop arguments_;
};

TEST_F(TaskTest, APersistentRequestRunsAtEveryStart) {
  std::string from(40000, 'a');
  std::string to(40000, '.');
  Request* request = nullptr;
  const Loop arguments{from.data(), to.data(), from.size(), to.size(), 3};
  ASSERT_TRUE(task_init(std::make_unique<LoopFactory>(arguments), nullptr, &request).ok());
  EXPECT_TRUE(request->persistent());
  EXPECT_FALSE(request->active());
  for (char letter : {'b', 'c', 'd'}) {
    std::memset(from.data(), letter, from.size());
    ASSERT_TRUE(request->state_->start(*request).ok());
    EXPECT_TRUE(request->active());
    ASSERT_TRUE(wait(*request).ok());
    EXPECT_EQ(from, to);
    request->active_ = false;
  }
  release(request);
}

TEST_F(TaskTest, AnAbandonedTaskWithdrawsItsReceive) {
  std::array<char, 4> to{};
  {
    Requests<1> set;
    ASSERT_TRUE(ireceive(bytes(to.data(), 4), Envelope{6, 0, 99}, set.next()).ok());
  }
  EXPECT_EQ(Arena<Request>::instance().live(), live_before);
}

TEST_F(TaskTest, FramesAreReused) {
  void* first = detail::allocate_frame(300);
  detail::free_frame(first, 300);
  void* second = detail::allocate_frame(290);
  EXPECT_EQ(first, second);
  detail::free_frame(second, 290);
  void* large = detail::allocate_frame(1 << 20);
  detail::free_frame(large, 1 << 20);
}

}  // namespace
}  // namespace hr::p2p
