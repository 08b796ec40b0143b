// Communicators of one process: lifetime, contexts, attributes, error handlers. For several processes, see
// tests/mpi/comm.
#include "comm/communicator.hpp"

#include <gtest/gtest.h>

#include "base/abi.hpp"
#include "comm/context.hpp"
#include "comm/create.hpp"

namespace hr::comm {
namespace {

class CommunicatorTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(init().ok());
    contexts_before = contexts_in_use();
    live_before = Arena<Communicator>::instance().live();
  }
  void TearDown() override {
    EXPECT_EQ(contexts_in_use(), contexts_before);
    EXPECT_EQ(Arena<Communicator>::instance().live(), live_before);
    finalize();
  }
  int contexts_before = 0;
  std::size_t live_before = 0;
};

TEST_F(CommunicatorTest, PredefinedOnes) {
  EXPECT_EQ(world()->size(), 1);
  EXPECT_EQ(self()->rank(), 0);
  EXPECT_EQ(world()->handle(), reinterpret_cast<void*>(abi::kCommWorld));
  EXPECT_EQ(predefined_communicator(abi::kCommSelf), self());
  EXPECT_EQ(predefined_communicator(abi::kCommNull), nullptr);
  EXPECT_EQ(compare(*world(), *world()), abi::kIdent);
  EXPECT_EQ(compare(*world(), *self()), abi::kCongruent);
  EXPECT_EQ(free(*world()), Status(Errc::kComm));
  EXPECT_EQ(disconnect(*self()), Status(Errc::kComm));
}

TEST_F(CommunicatorTest, DupHasItsOwnContextAndInheritsTheErrorHandler) {
  self()->errhandler_ = Ref<Errhandler>::share(predefined_errhandler(abi::kErrorsReturn));
  Ref<Communicator> copy;
  ASSERT_TRUE(dup(*self(), nullptr, &copy).ok());
  EXPECT_NE(copy->context(), self()->context());
  EXPECT_EQ(copy->context() % kContextSpacing, 0U);
  EXPECT_EQ(copy->errhandler_->kind(), ErrhandlerKind::kReturn);
  EXPECT_TRUE(copy->name_.empty());
  EXPECT_EQ(compare(*copy, *self()), abi::kCongruent);
  ASSERT_TRUE(free(*copy.detach()).ok());
}

TEST_F(CommunicatorTest, EachUseOfMpiBeginsAnew) {
  Ref<Communicator> kept;
  ASSERT_TRUE(dup(*self(), nullptr, &kept).ok());
  world()->name_ = "changed";
  finalize();
  EXPECT_EQ(world(), nullptr);
  EXPECT_EQ(predefined_communicator(abi::kCommSelf), nullptr);
  ASSERT_TRUE(init().ok());
  EXPECT_EQ(world()->name_, "MPI_COMM_WORLD");
  // A communicator from the first use that the program still holds keeps its context.
  Ref<Communicator> made;
  ASSERT_TRUE(dup(*self(), nullptr, &made).ok());
  EXPECT_NE(made->context(), kept->context());
  kept = {};
  made = {};
}

TEST_F(CommunicatorTest, ContextsAreGivenBackWithTheLastReference) {
  std::uint32_t first = 0;
  for (int i = 0; i < 100000; ++i) {
    Ref<Communicator> copy;
    ASSERT_TRUE(dup(*self(), nullptr, &copy).ok());
    if (i == 0) first = copy->context();
    ASSERT_EQ(copy->context(), first);
    ASSERT_TRUE(free(*copy.detach()).ok());
  }
  Ref<Communicator> copy;
  ASSERT_TRUE(dup(*self(), nullptr, &copy).ok());
  const Ref<Communicator> pending = copy;  // a reference like that of a pending operation
  ASSERT_TRUE(free(*copy.detach()).ok());
  Ref<Communicator> other;
  ASSERT_TRUE(dup(*self(), nullptr, &other).ok());
  EXPECT_NE(other->context(), first);
}

TEST_F(CommunicatorTest, RunsOutOfContextsWithAnErrorAndRecovers) {
  std::vector<Ref<Communicator>> all;
  Status status = kOk;
  while (status.ok() && all.size() < 300'000) {
    all.emplace_back();
    status = dup(*self(), nullptr, &all.back());
  }
  EXPECT_EQ(status, Status(Errc::kOther));
  EXPECT_EQ(all.size(), (1U << 18) - 3 + 1);
  EXPECT_NE(take_detail().find("no context is left"), std::string::npos);
  all.clear();
  Ref<Communicator> again;
  EXPECT_TRUE(dup(*self(), nullptr, &again).ok());
}

TEST_F(CommunicatorTest, DupCopiesAttributesAndFailsWithTheirCallback) {
  bool fails = false;
  const int number = create_keyval(
      KeyvalKind::kCommunicator,
      [&](void*, int, void* value, void** copy, bool* keep) {
        *copy = static_cast<char*>(value) + 1;
        *keep = true;
        return fails ? Status::from_code(77) : kOk;
      },
      nullptr);
  std::shared_ptr<const Keyval> keyval;
  ASSERT_TRUE(find_keyval(KeyvalKind::kCommunicator, number, &keyval).ok());
  char value[4];
  ASSERT_TRUE(self()->attributes_.set(self()->handle(), keyval, value).ok());
  Ref<Communicator> copy;
  ASSERT_TRUE(dup(*self(), nullptr, &copy).ok());
  void* found = nullptr;
  ASSERT_TRUE(copy->attributes_.get(number, &found));
  EXPECT_EQ(found, value + 1);
  fails = true;
  Ref<Communicator> none;
  EXPECT_EQ(dup(*self(), nullptr, &none).code(), 77);
  EXPECT_FALSE(none);
  EXPECT_TRUE(delete_predefined_attributes().ok());
  EXPECT_TRUE(self()->attributes_.empty());
}

TEST_F(CommunicatorTest, IdupCompletesAtOnceWhenAlone) {
  Ref<Communicator> copy;
  p2p::Request* request = nullptr;
  ASSERT_TRUE(idup(*self(), nullptr, &copy, &request).ok());
  EXPECT_TRUE(request->complete());
  EXPECT_NE(copy->context(), 0U);
  release(request);
  ASSERT_TRUE(free(*copy.detach()).ok());
}

TEST_F(CommunicatorTest, Split) {
  Ref<Communicator> part;
  ASSERT_TRUE(split(*world(), 3, 0, &part).ok());
  EXPECT_EQ(part->size(), 1);
  ASSERT_TRUE(split(*world(), abi::kUndefined, 0, &part).ok());
  EXPECT_FALSE(part);
  EXPECT_EQ(split(*world(), -5, 0, &part), Status(Errc::kArg));
  ASSERT_TRUE(split_type(*world(), abi::kCommTypeShared, 0, nullptr, &part).ok());
  EXPECT_TRUE(part);
  ASSERT_TRUE(split_type(*world(), abi::kCommTypeHwUnguided, 0, nullptr, &part).ok());
  EXPECT_FALSE(part);
  EXPECT_EQ(split_type(*world(), 12345, 0, nullptr, &part), Status(Errc::kArg));
}

TEST_F(CommunicatorTest, GuidedSplitsFollowTheResource) {
  Ref<Communicator> part;
  const Ref<Info> info = create_info();
  ASSERT_TRUE(split_type(*world(), abi::kCommTypeHwGuided, 0, info.get(), &part).ok());
  EXPECT_FALSE(part);
  ASSERT_TRUE(info->set("mpi_hw_resource_type", "no such thing").ok());
  ASSERT_TRUE(split_type(*world(), abi::kCommTypeHwGuided, 0, info.get(), &part).ok());
  EXPECT_FALSE(part);
  ASSERT_TRUE(info->set("mpi_hw_resource_type", "mpi_shared_memory").ok());
  ASSERT_TRUE(split_type(*world(), abi::kCommTypeResourceGuided, 0, info.get(), &part).ok());
  EXPECT_TRUE(part);
}

TEST_F(CommunicatorTest, CreateChecksTheGroup) {
  Ref<Communicator> made;
  EXPECT_EQ(create(*self(), *make_group({0, 1}), &made), Status(Errc::kGroup));
  ASSERT_TRUE(create(*self(), group_empty(), &made).ok());
  EXPECT_FALSE(made);
  ASSERT_TRUE(create_group(*self(), *self()->local_, 5, &made).ok());
  EXPECT_EQ(compare(*made, *self()), abi::kCongruent);
  ASSERT_TRUE(
      create_from_group(*self()->local_, "tag", nullptr, *predefined_errhandler(abi::kErrorsReturn), &made).ok());
  EXPECT_EQ(made->errhandler_->kind(), ErrhandlerKind::kReturn);
  EXPECT_EQ(create_from_group(*make_group({9}), "tag", nullptr, *predefined_errhandler(abi::kErrorsReturn), &made),
            Status(Errc::kGroup));
}

TEST_F(CommunicatorTest, TopologiesCheckTheirArguments) {
  Ref<Communicator> made;
  EXPECT_EQ(cart_create(*self(), {2}, {false}, &made), Status(Errc::kDims));
  EXPECT_EQ(cart_create(*self(), {0}, {false}, &made), Status(Errc::kDims));
  ASSERT_TRUE(cart_create(*self(), {1, 1}, {true, false}, &made).ok());
  Ref<Communicator> copy;
  ASSERT_TRUE(dup(*made, nullptr, &copy).ok());
  ASSERT_NE(copy->topology_, nullptr);
  EXPECT_EQ(copy->topology_->abi_kind(), abi::kCart);
  Ref<Communicator> line;
  const int remain[2] = {1, 0};
  ASSERT_TRUE(cart_sub(*made, remain, &line).ok());
  EXPECT_EQ(static_cast<const Cartesian&>(*line->topology_).ndims(), 1);
  EXPECT_EQ(cart_sub(*self(), remain, &line), Status(Errc::kTopology));
  EXPECT_EQ(dist_graph_create_adjacent(*self(), {{1}, {}}, {{}, {}}, false, nullptr, &made), Status(Errc::kRank));
  const std::vector<int> zero{0};
  const std::vector<int> one{1};
  ASSERT_TRUE(dist_graph_create(*self(), zero, one, zero, {}, false, nullptr, &made).ok());
  EXPECT_EQ(made->topology_->neighbors(0).sources, zero);
}

TEST_F(CommunicatorTest, HintsThatAreKnownAreKept) {
  const Ref<Info> hints = create_info();
  ASSERT_TRUE(hints->set("mpi_assert_no_any_tag", "true").ok());
  ASSERT_TRUE(hints->set("unknown", "true").ok());
  ASSERT_TRUE(hints->set("mpi_assert_exact_length", "maybe").ok());
  Ref<Communicator> copy;
  ASSERT_TRUE(dup(*self(), hints.get(), &copy).ok());
  const Ref<Info> used = get_info(*copy);
  EXPECT_EQ(*used->get("mpi_assert_no_any_tag"), "true");
  EXPECT_EQ(*used->get("mpi_assert_exact_length"), "false");
  EXPECT_EQ(used->get("unknown"), nullptr);
  EXPECT_EQ(*get_info(*self())->get("mpi_assert_no_any_tag"), "false");
}

TEST_F(CommunicatorTest, IntercommunicatorsNeedTwoGroups) {
  Ref<Communicator> made;
  EXPECT_EQ(intercomm_create(*self(), 1, world(), 0, 0, &made), Status(Errc::kRank));
  EXPECT_EQ(intercomm_create(*self(), 0, world(), 0, 0, &made), Status(Errc::kRank));
  EXPECT_EQ(intercomm_create(*self(), 0, nullptr, 0, 0, &made), Status(Errc::kComm));
  EXPECT_EQ(intercomm_merge(*self(), false, &made), Status(Errc::kComm));
}

}  // namespace
}  // namespace hr::comm
