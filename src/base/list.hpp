// IntrusiveList: a doubly linked list whose links are members of the elements.
//
// Owner: none; the list neither owns nor frees its elements. An element is in at most one list per Link member and must
// be removed before it is destroyed. Threads: guarded by the object that contains the list.
#pragma once

#include <cstddef>

namespace hr {

struct Link {
  Link* next = nullptr;
  Link* previous = nullptr;
  [[nodiscard]] bool linked() const noexcept { return next != nullptr; }
  void unlink() noexcept {
    previous->next = next;
    next->previous = previous;
    next = previous = nullptr;
  }
};

template <class T, Link T::* kLink>
class IntrusiveList {
 public:
  IntrusiveList() noexcept { head_.next = head_.previous = &head_; }
  IntrusiveList(const IntrusiveList&) = delete;
  IntrusiveList& operator=(const IntrusiveList&) = delete;

  [[nodiscard]] bool empty() const noexcept { return head_.next == &head_; }
  void push_back(T& element) noexcept { insert_before(&head_, &(element.*kLink)); }
  void push_front(T& element) noexcept { insert_before(head_.next, &(element.*kLink)); }
  static void remove(T& element) noexcept { (element.*kLink).unlink(); }

  [[nodiscard]] T* front() const noexcept { return empty() ? nullptr : owner(head_.next); }
  // Returns the element after this one, nullptr at the end. Valid while the element is linked.
  [[nodiscard]] T* next(const T& element) const noexcept {
    Link* following = (element.*kLink).next;
    return following == &head_ ? nullptr : owner(following);
  }
  T* pop_front() noexcept {
    T* element = front();
    if (element != nullptr) remove(*element);
    return element;
  }

 private:
  static void insert_before(Link* position, Link* link) noexcept {
    link->next = position;
    link->previous = position->previous;
    position->previous->next = link;
    position->previous = link;
  }
  static T* owner(Link* link) noexcept {
    // Offset of the member within T; GCC and Clang do not require T to be standard-layout.
    const auto offset = reinterpret_cast<std::size_t>(&(reinterpret_cast<T*>(0x1000)->*kLink)) - 0x1000;
    return reinterpret_cast<T*>(reinterpret_cast<std::byte*>(link) - offset);
  }
  Link head_;
};

}  // namespace hr
