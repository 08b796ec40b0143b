// Faults injected by the fake driver on request (tests/fake_cuda/faults.cpp), and its error in a forked child.
#include <sys/wait.h>
#include <unistd.h>

#include "fixture.hpp"

namespace cuda_ipc {
namespace {

class Faults : public Ipc {
 protected:
  void SetUp() override {
    Ipc::SetUp();
    if (!IsSkipped() && !fake_driver()) GTEST_SKIP() << "of the fake driver";
  }
};

TEST_F(Faults, FromTheGivenCallOn) {
  Remote other({"FAKE_CUDA_FAIL=cuMemAlloc:3:2,cuIpcGetMemHandle:1:801"});
  other.ask({.what = What::kSelect});
  const Reply first = other.ask({.what = What::kAllocate, .bytes = kBytes});
  EXPECT_EQ(first.result, 0);
  EXPECT_EQ(other.ask({.what = What::kAllocate, .bytes = kBytes}).result, 0);
  EXPECT_EQ(other.ask({.what = What::kAllocate, .bytes = kBytes}).result, kOutOfMemory);
  EXPECT_EQ(other.ask({.what = What::kAllocate, .bytes = kBytes}).result, kOutOfMemory);
  EXPECT_EQ(other.ask({.what = What::kExport, .address = first.address}).result, 801);
  EXPECT_EQ(other.ask({.what = What::kFree, .address = first.address}).result, 0);
}

TEST_F(Faults, OpeningFails) {
  Remote exporter;
  const Shared shared = share(exporter, 0, 1);
  Remote other({"FAKE_CUDA_FAIL=cuIpcOpenMemHandle_v2:1:205"});
  other.ask({.what = What::kSelect});
  EXPECT_EQ(other.ask({.what = What::kOpen, .handle = shared.handle}).result, 205);
}

TEST_F(Faults, ABrokenContextStaysBroken) {
  Remote other({"FAKE_CUDA_FAIL=cuIpcGetMemHandle:1:700"});
  other.ask({.what = What::kSelect});
  const Reply made = other.ask({.what = What::kAllocate, .bytes = kBytes});
  EXPECT_EQ(other.ask({.what = What::kExport, .address = made.address}).result, kIllegalAddress);
  EXPECT_EQ(other.ask({.what = What::kAllocate, .bytes = kBytes}).result, kIllegalAddress);
  EXPECT_EQ(other.ask({.what = What::kFree, .address = made.address}).result, kIllegalAddress);
}

TEST_F(Faults, AForkedChildCannotUseTheDriver) {
  auto* init = hr::test::driver_function<int(unsigned)>("cuInit");
  const pid_t child = ::fork();
  if (child == 0) ::_exit(init(0));
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), kNotInitialized);
}

}  // namespace
}  // namespace cuda_ipc
