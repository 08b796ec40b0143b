// Error handlers (section 9.3).
#include "comm/errhandler.hpp"

#include <gtest/gtest.h>

#include "base/abi.hpp"

namespace hr::comm {
namespace {

TEST(ErrhandlerTest, PredefinedOnesHaveTheirHandles) {
  for (const std::uintptr_t handle : {abi::kErrorsAreFatal, abi::kErrorsAbort, abi::kErrorsReturn}) {
    Errhandler* const handler = predefined_errhandler(handle);
    ASSERT_NE(handler, nullptr);
    EXPECT_EQ(handler->handle(), reinterpret_cast<void*>(handle));
  }
  EXPECT_EQ(predefined_errhandler(abi::kErrhandlerNull), nullptr);
  EXPECT_EQ(predefined_errhandler(abi::kErrorsReturn + 1), nullptr);
}

TEST(ErrhandlerTest, ReturnGivesTheCodeBack) {
  EXPECT_EQ(invoke(*predefined_errhandler(abi::kErrorsReturn), nullptr, 0x30006, "text"), 0x30006);
}

TEST(ErrhandlerTest, AUsersFunctionSeesObjectAndCodeAndMayChangeTheCode) {
  int object = 0;
  void* seen = nullptr;
  const Ref<Errhandler> handler = create_errhandler(ErrhandlerTarget::kCommunicator, [&](void** handle, int* code) {
    seen = *handle;
    *handle = nullptr;
    *code += 1;
  });
  EXPECT_EQ(invoke(*handler, &object, 5, "text"), 6);
  EXPECT_EQ(seen, &object);
}

TEST(ErrhandlerTest, AFunctionMayDropItsOwnHandler) {
  Ref<Errhandler> handler;
  handler = create_errhandler(ErrhandlerTarget::kCommunicator, [&](void**, int*) { handler = {}; });
  EXPECT_EQ(invoke(*handler, nullptr, 5, "text"), 5);
  EXPECT_FALSE(handler);
}

TEST(ErrhandlerTest, AHandlerFitsTheObjectsItWasMadeFor) {
  const Ref<Errhandler> handler = create_errhandler(ErrhandlerTarget::kSession, [](void**, int*) {});
  EXPECT_TRUE(check_errhandler(*handler, ErrhandlerTarget::kSession).ok());
  EXPECT_EQ(check_errhandler(*handler, ErrhandlerTarget::kCommunicator), Status(Errc::kErrhandler));
  EXPECT_TRUE(check_errhandler(*predefined_errhandler(abi::kErrorsReturn), ErrhandlerTarget::kFile).ok());
}

TEST(ErrhandlerDeathTest, FatalEndsTheProcessWithTheClass) {
  EXPECT_EXIT(invoke(*predefined_errhandler(abi::kErrorsAreFatal), nullptr, 0x10006, "wrong rank"),
              testing::ExitedWithCode(6), "wrong rank");
}

}  // namespace
}  // namespace hr::comm
