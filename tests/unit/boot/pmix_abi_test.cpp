// Headrace's declarations of PMIx, compared with those of an installed library.
#include "boot/pmix_abi.hpp"

#include <gtest/gtest.h>
#include <pmix.h>

#include <cstddef>
#include <string>
#include <type_traits>

namespace hr::boot::pmix {
namespace {

template <class Ours, class Theirs>
constexpr bool alike() {
  if constexpr (std::is_void_v<Ours> || std::is_void_v<Theirs>) {
    return std::is_void_v<Ours> && std::is_void_v<Theirs>;
  } else {
    return sizeof(Ours) == sizeof(Theirs) && alignof(Ours) == alignof(Theirs);
  }
}

TEST(PmixAbi, LayoutsAreTheLibrarys) {
  static_assert(alike<Proc, pmix_proc_t>() && alike<Value, pmix_value_t>() && alike<Info, pmix_info_t>() &&
                alike<Published, pmix_pdata_t>());
  static_assert(alike<Code, pmix_status_t>() && alike<Rank, pmix_rank_t>() && alike<Scope, pmix_scope_t>());
  EXPECT_EQ(offsetof(Proc, rank), offsetof(pmix_proc_t, rank));
  EXPECT_EQ(offsetof(Value, type), offsetof(pmix_value_t, type));
  EXPECT_EQ(offsetof(Value, data), offsetof(pmix_value_t, data));
  EXPECT_EQ(offsetof(Info, flags), offsetof(pmix_info_t, flags));
  EXPECT_EQ(offsetof(Info, value), offsetof(pmix_info_t, value));
  EXPECT_EQ(offsetof(Published, key), offsetof(pmix_pdata_t, key));
  EXPECT_EQ(offsetof(Published, value), offsetof(pmix_pdata_t, value));
}

TEST(PmixAbi, NumbersAreTheLibrarys) {
  EXPECT_EQ(kSuccess, PMIX_SUCCESS);
  EXPECT_EQ(kLostConnection, PMIX_ERR_LOST_CONNECTION);
  EXPECT_EQ(kDoneAtOnce, PMIX_OPERATION_SUCCEEDED);
  EXPECT_EQ(kJob, static_cast<Rank>(PMIX_RANK_WILDCARD));
  EXPECT_EQ(kGlobal, PMIX_GLOBAL);
  EXPECT_EQ(kBool, PMIX_BOOL);
  EXPECT_EQ(kString, PMIX_STRING);
  EXPECT_EQ(kSize, PMIX_SIZE);
  EXPECT_EQ(kInt, PMIX_INT);
  EXPECT_EQ(kInt32, PMIX_INT32);
  EXPECT_EQ(kUint, PMIX_UINT);
  EXPECT_EQ(kUint16, PMIX_UINT16);
  EXPECT_EQ(kUint32, PMIX_UINT32);
  EXPECT_EQ(kUint64, PMIX_UINT64);
}

TEST(PmixAbi, KeysAreTheLibrarys) {
  EXPECT_EQ(std::string(kCollect), PMIX_COLLECT_DATA);
  EXPECT_EQ(std::string(kTimeout), PMIX_TIMEOUT);
  EXPECT_EQ(std::string(kJobSize), PMIX_JOB_SIZE);
  EXPECT_EQ(std::string(kAppNumber), PMIX_APPNUM);
  EXPECT_EQ(std::string(kUniverseSize), PMIX_UNIV_SIZE);
}

// True if parameters and results have types with the same calling convention.
template <class Ours, class Theirs>
struct Passed : std::false_type {};
template <class Result, class... Parameters, class TheirResult, class... TheirParameters>
struct Passed<Result (*)(Parameters...), TheirResult (*)(TheirParameters...)>
    : std::bool_constant<sizeof...(Parameters) == sizeof...(TheirParameters) && alike<Result, TheirResult>() &&
                         (... && (alike<Parameters, TheirParameters>() &&
                                  std::is_pointer_v<Parameters> == std::is_pointer_v<TheirParameters>))> {};

TEST(PmixAbi, FunctionsAreCalledAlike) {
  static_assert(Passed<InitFunction, decltype(&PMIx_Init)>::value);
  static_assert(Passed<FinalizeFunction, decltype(&PMIx_Finalize)>::value);
  static_assert(Passed<AbortFunction, decltype(&PMIx_Abort)>::value);
  static_assert(Passed<PutFunction, decltype(&PMIx_Put)>::value);
  static_assert(Passed<CommitFunction, decltype(&PMIx_Commit)>::value);
  static_assert(Passed<FenceFunction, decltype(&PMIx_Fence_nb)>::value);
  static_assert(Passed<GetFunction, decltype(&PMIx_Get)>::value);
  static_assert(Passed<RegisterFunction, decltype(&PMIx_Register_event_handler)>::value);
  static_assert(Passed<Event, pmix_notification_fn_t>::value);
  static_assert(Passed<PublishFunction, decltype(&PMIx_Publish)>::value);
  static_assert(Passed<UnpublishFunction, decltype(&PMIx_Unpublish)>::value);
  static_assert(Passed<LookupFunction, decltype(&PMIx_Lookup)>::value);
  static_assert(Passed<ErrorStringFunction, decltype(&PMIx_Error_string)>::value);
  static_assert(Passed<Done, pmix_op_cbfunc_t>::value);
}

}  // namespace
}  // namespace hr::boot::pmix
