#include "base/object.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdint>

namespace hr {
namespace {

int destroyed = 0;

struct Thing final : Object {
  static constexpr ObjectKind kKind = ObjectKind::kInfo;
  explicit Thing(int number) : Object(kKind), value(number) {}
  ~Thing() { ++destroyed; }
  int value;
};

Arena<Thing>& arena() { return Arena<Thing>::instance(); }

// Not inline, so that the compiler does not know the value passed by the program.
[[gnu::noinline]] bool owns(const void* address) { return arena().owns(address); }

TEST(Arena, KnowsItsLiveObjectsAndNothingElse) {
  Thing* thing = arena().create(7);
  ASSERT_NE(thing, nullptr);
  EXPECT_TRUE(owns(thing));
  EXPECT_EQ(thing->handle(), thing);
  EXPECT_EQ(arena().live(), 1u);

  int on_the_stack = 0;
  EXPECT_FALSE(owns(nullptr));
  EXPECT_FALSE(owns(&on_the_stack));
  EXPECT_FALSE(owns(reinterpret_cast<char*>(thing) + 1));
  EXPECT_FALSE(owns(reinterpret_cast<void*>(0x123)));
  EXPECT_FALSE(owns(reinterpret_cast<void*>(~std::uintptr_t{0})));

  release(thing);
  EXPECT_FALSE(owns(thing)) << "a freed handle is known as such";
  EXPECT_EQ(arena().live(), 0u);
}

TEST(Arena, ReusesSlots) {
  Thing* first = arena().create(1);
  release(first);
  Thing* second = arena().create(2);
  EXPECT_EQ(first, second);
  release(second);
}

TEST(Arena, RecyclesAndReuses) {
  ASSERT_EQ(arena().reuse(), nullptr);
  Thing* one = arena().create(1);
  Thing* two = arena().create(2);
  destroyed = 0;
  for (Thing* thing : {one, two}) {
    ASSERT_TRUE(thing->drop());
    arena().recycle(thing);
    EXPECT_FALSE(owns(thing)) << "laid aside, it is not a live object";
  }
  EXPECT_EQ(arena().live(), 0u);
  Thing* three = arena().create(3);
  EXPECT_NE(three, one);
  EXPECT_NE(three, two);
  for (Thing* expected : {two, one}) {
    Thing* again = arena().reuse();
    ASSERT_EQ(again, expected);
    EXPECT_TRUE(owns(again));
    EXPECT_EQ(again->handle(), again);
    EXPECT_EQ(again->references(), 1u);
  }
  EXPECT_EQ(one->value, 1);
  EXPECT_EQ(two->value, 2);
  EXPECT_EQ(arena().reuse(), nullptr);
  EXPECT_EQ(arena().live(), 3u);
  EXPECT_EQ(destroyed, 0);
  for (Thing* thing : {one, two, three}) release(thing);
  EXPECT_EQ(destroyed, 3);
}

TEST(Arena, VisitsLiveObjects) {
  Thing* one = arena().create(1);
  Thing* two = arena().create(2);
  Thing* three = arena().create(3);
  release(two);
  int sum = 0;
  arena().for_each([&](Thing& thing) { sum += thing.value; });
  EXPECT_EQ(sum, 4);
  release(one);
  release(three);
}

TEST(Object, PredefinedHandleIsTheConstant) {
  Thing* thing = arena().create(1);
  EXPECT_FALSE(thing->is_predefined());
  thing->set_predefined_handle(0x101);
  EXPECT_TRUE(thing->is_predefined());
  EXPECT_EQ(thing->handle(), reinterpret_cast<void*>(0x101));
  release(thing);
}

TEST(Ref, CountsReferences) {
  destroyed = 0;
  {
    Ref<Thing> first = Ref<Thing>::adopt(arena().create(5));
    EXPECT_EQ(first->references(), 1u);
    Ref<Thing> second = first;
    EXPECT_EQ(first->references(), 2u);
    Ref<Thing> moved = std::move(second);
    EXPECT_FALSE(second);  // NOLINT(bugprone-use-after-move): the state after a move is part of the contract
    EXPECT_EQ(moved->references(), 2u);
    moved = Ref<Thing>();
    EXPECT_EQ(first->references(), 1u);
    Ref<Thing> shared = Ref<Thing>::share(first.get());
    EXPECT_EQ(first->references(), 2u);
  }
  EXPECT_EQ(destroyed, 1);
}

TEST(Ref, DetachHandsTheReferenceOver) {
  destroyed = 0;
  Thing* thing = Ref<Thing>::adopt(arena().create(5)).detach();
  EXPECT_EQ(destroyed, 0);
  release(thing);
  EXPECT_EQ(destroyed, 1);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// With limited address space the range grows in place: handles stay valid.
TEST(GrowingRange, GrowsWhereAddressSpaceIsLimited) {
  constexpr std::size_t kMost = std::size_t{1} << 30;
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_AS, &before), 0);
  const rlimit small{std::min<rlim_t>(rlim_t{2} << 30, before.rlim_max), before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &small), 0);
  std::byte* one = nullptr;
  std::byte* other = nullptr;
  std::size_t usable = growing_range::begin(&one, kMost);
  const std::size_t others = growing_range::begin(&other, kMost);
  EXPECT_GT(usable, 0u);
  EXPECT_LT(usable, kMost / 16);
  EXPECT_GT(others, 0u);
  for (int piece = 0; piece < 20; ++piece) {
    const std::size_t grown = growing_range::grow(one, usable, kMost);
    ASSERT_GT(grown, usable);
    one[grown - 1] = std::byte{1};
    usable = grown;
  }
  // Growth has a limit, which is reported.
  std::size_t last = 0;
  while (last != usable) {
    last = usable;
    usable = growing_range::grow(one, usable, kMost);
  }
  EXPECT_LE(usable, kMost);
  ::munmap(one, usable);
  ::munmap(other, others);
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &before), 0);
}
#endif

}  // namespace
}  // namespace hr
