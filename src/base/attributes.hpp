// Attributes: values that programs cache on communicators, datatypes and windows (MPI 5.0 section 7.7).
//
// A keyval is the program's number for a kind of attribute, with a copy and a delete callback. It stays alive until the
// program has freed it and no attribute uses it (section 7.7.2); its number is never used again. Callbacks are closures
// created by bind/ that hold the program's function and extra state. They release the library lock while they run, and
// may call MPI, even on the same object: no reference into a set is held across a callback. Owner: an AttributeSet
// belongs to its object; the objects' destructors run no callbacks, so code that frees an object calls clear() first.
// Threads: library lock.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/status.hpp"

namespace hr {

enum class KeyvalKind : std::uint8_t { kCommunicator, kDatatype, kWindow };

class Keyval {
 public:
  // `object`: handle of the object that is copied. *keep = false: the new object does not get the attribute.
  using Copy = std::function<Status(void* object, int keyval, void* value, void** new_value, bool* keep)>;
  using Delete = std::function<Status(void* object, int keyval, void* value)>;

  Keyval(KeyvalKind kind, int number, Copy copy, Delete remove);
  [[nodiscard]] KeyvalKind kind() const noexcept { return kind_; }
  [[nodiscard]] int number() const noexcept { return number_; }

  // Calls the copy function; an empty one copies nothing (MPI_COMM_NULL_COPY_FN).
  Status copy(void* object, void* value, void** new_value, bool* keep) const;
  // Calls the delete function; an empty one does nothing (MPI_COMM_NULL_DELETE_FN).
  Status remove(void* object, void* value) const;

 private:
  KeyvalKind kind_;
  int number_;
  Copy copy_;
  Delete remove_;
};

// Creates a keyval and returns its number, which is greater than any predefined one.
int create_keyval(KeyvalKind kind, Keyval::Copy copy, Keyval::Delete remove);
// Finds the live keyval with that number. Errors: MPI_ERR_KEYVAL (unknown, freed, or for another kind of object).
Status find_keyval(KeyvalKind kind, int number, std::shared_ptr<const Keyval>* keyval);
// Implements MPI_Comm_free_keyval and its variants: the number becomes invalid, attributes in use stay. Errors:
// MPI_ERR_KEYVAL.
Status free_keyval(KeyvalKind kind, int number);

class AttributeSet {
 public:
  // False if no value is cached under `number`.
  [[nodiscard]] bool get(int number, void** value) const noexcept;

  // In the functions below, `object` is the handle that is passed to callbacks. The error code of a failing callback is
  // returned unchanged.

  // Sets a value. If there is an old one, its delete callback runs first; if that fails, the old value stays.
  Status set(void* object, std::shared_ptr<const Keyval> keyval, void* value);
  // Runs the delete callback, then removes the value; if it fails the value stays. Errors: MPI_ERR_KEYVAL if no value
  // is cached under `number`.
  Status erase(void* object, int number);
  // Calls the copy callbacks in the order in which the attributes were set. If one fails, the copies made so far are
  // deleted, and `to` is left empty.
  Status copy_to(void* object, AttributeSet* to, void* new_object) const;
  // Deletes all attributes, the newest first (the order that section 11.2.4 requires for MPI_COMM_SELF). Stops at the
  // first failure; the remaining ones stay.
  Status clear(void* object);

  [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }

 private:
  struct Entry {
    std::shared_ptr<const Keyval> keyval;
    void* value;
  };
  [[nodiscard]] std::vector<Entry>::const_iterator find(int number) const noexcept;
  std::vector<Entry> entries_;
};

}  // namespace hr
