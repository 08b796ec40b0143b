#include "base/list.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace hr {
namespace {

struct Element {
  explicit Element(int number) : value(number) {}
  Element(const Element&) = delete;
  virtual ~Element() = default;  // makes this type non-standard-layout; the offset must still be correct
  int value;
  Link link;
  Link other;
};

using ByLink = IntrusiveList<Element, &Element::link>;
using ByOther = IntrusiveList<Element, &Element::other>;

template <class List>
std::vector<int> values(const List& list) {
  std::vector<int> result;
  for (Element* element = list.front(); element != nullptr; element = list.next(*element)) {
    result.push_back(element->value);
  }
  return result;
}

TEST(IntrusiveList, KeepsOrderAtBothEnds) {
  ByLink list;
  Element one(1), two(2), three(3);
  EXPECT_TRUE(list.empty());
  EXPECT_EQ(list.front(), nullptr);
  list.push_back(two);
  list.push_back(three);
  list.push_front(one);
  EXPECT_EQ(values(list), (std::vector{1, 2, 3}));
  ByLink::remove(two);
  EXPECT_FALSE(two.link.linked());
  EXPECT_EQ(values(list), (std::vector{1, 3}));
  EXPECT_EQ(list.pop_front(), &one);
  EXPECT_EQ(list.pop_front(), &three);
  EXPECT_EQ(list.pop_front(), nullptr);
}

TEST(IntrusiveList, AnElementMayStandInOneListPerLink) {
  ByLink first;
  ByOther second;
  Element one(1), two(2);
  first.push_back(one);
  first.push_back(two);
  second.push_back(two);
  second.push_back(one);
  EXPECT_EQ(values(first), (std::vector{1, 2}));
  EXPECT_EQ(values(second), (std::vector{2, 1}));
  ByLink::remove(one);
  EXPECT_EQ(values(first), (std::vector{2}));
  EXPECT_EQ(values(second), (std::vector{2, 1}));
}

}  // namespace
}  // namespace hr
