#include "base/attributes.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/driver_epoch.hpp"

namespace hr {

namespace {

// First number, greater than those of the predefined attributes (MPI_TAG_UB, MPI_WIN_BASE: 501 to 605).
constexpr int kFirstKeyval = 0x1000;

struct Table {
  std::unordered_map<int, std::shared_ptr<const Keyval>> live;
  int next = kFirstKeyval;
};

Table& table() {
  static Table* const instance = new Table;  // never destroyed: attributes may outlive static destruction
  return *instance;
}

const char* kind_name(KeyvalKind kind) {
  switch (kind) {
    case KeyvalKind::kCommunicator:
      return "communicators";
    case KeyvalKind::kDatatype:
      return "datatypes";
    case KeyvalKind::kWindow:
      return "windows";
  }
  return "objects";
}

}  // namespace

Keyval::Keyval(KeyvalKind kind, int number, Copy copy, Delete remove)
    : kind_(kind), number_(number), copy_(std::move(copy)), remove_(std::move(remove)) {}

Status Keyval::copy(void* object, void* value, void** new_value, bool* keep) const {
  *keep = false;
  return copy_ ? DriverEpoch::after_callback(copy_(object, number_, value, new_value, keep)) : kOk;
}

Status Keyval::remove(void* object, void* value) const {
  return remove_ ? DriverEpoch::after_callback(remove_(object, number_, value)) : kOk;
}

int create_keyval(KeyvalKind kind, Keyval::Copy copy, Keyval::Delete remove) {
  const int number = table().next++;
  table().live.emplace(number, std::make_shared<const Keyval>(kind, number, std::move(copy), std::move(remove)));
  return number;
}

Status find_keyval(KeyvalKind kind, int number, std::shared_ptr<const Keyval>* keyval) {
  const auto found = table().live.find(number);
  if (found == table().live.end()) {
    return fail(Errc::kKeyval, "keyval %d is not one that was created and not yet freed", number);
  }
  if (found->second->kind() != kind) {
    return fail(Errc::kKeyval, "keyval %d was created for %s, not for %s", number, kind_name(found->second->kind()),
                kind_name(kind));
  }
  *keyval = found->second;
  return kOk;
}

Status free_keyval(KeyvalKind kind, int number) {
  std::shared_ptr<const Keyval> keyval;
  HR_TRY(find_keyval(kind, number, &keyval));
  table().live.erase(number);
  return kOk;
}

std::vector<AttributeSet::Entry>::const_iterator AttributeSet::find(int number) const noexcept {
  return std::find_if(entries_.begin(), entries_.end(),
                      [number](const Entry& entry) { return entry.keyval->number() == number; });
}

bool AttributeSet::get(int number, void** value) const noexcept {
  const auto entry = find(number);
  if (entry == entries_.end()) return false;
  *value = entry->value;
  return true;
}

Status AttributeSet::set(void* object, std::shared_ptr<const Keyval> keyval, void* value) {
  const auto old = find(keyval->number());
  if (old != entries_.end()) HR_TRY(erase(object, keyval->number()));
  entries_.push_back({std::move(keyval), value});
  return kOk;
}

Status AttributeSet::erase(void* object, int number) {
  const auto entry = find(number);
  if (entry == entries_.end()) return fail(Errc::kKeyval, "no attribute is cached under keyval %d", number);
  const Entry copy = *entry;
  HR_TRY(copy.keyval->remove(object, copy.value));
  // Searches again, because the callback may have changed the set.
  const auto again = find(number);
  if (again != entries_.end()) entries_.erase(again);
  return kOk;
}

Status AttributeSet::copy_to(void* object, AttributeSet* to, void* new_object) const {
  const std::vector<Entry> snapshot = entries_;
  for (const Entry& entry : snapshot) {
    void* value = nullptr;
    bool keep = false;
    const Status status = entry.keyval->copy(object, entry.value, &value, &keep);
    if (!status.ok()) {
      // The new object is abandoned: its attributes are deleted, and errors of their delete callbacks are ignored.
      // Returns the error of the copy callback.
      for (; !to->entries_.empty(); to->entries_.pop_back()) {
        static_cast<void>(to->entries_.back().keyval->remove(new_object, to->entries_.back().value));
      }
      return status;
    }
    if (keep) to->entries_.push_back({entry.keyval, value});
  }
  return kOk;
}

Status AttributeSet::clear(void* object) {
  while (!entries_.empty()) HR_TRY(erase(object, entries_.back().keyval->number()));
  return kOk;
}

}  // namespace hr
