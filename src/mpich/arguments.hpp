// Arguments that need separate storage during a call: converted from the program's, passed to libmpi_abi.so.1 by
// argument(), converted back by finish(). A null pointer stays null, as libmpi_abi.so.1 reports the error. Owner: the
// generated function's frame. Threads: that of the call.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>

#include "mpich/conversions.hpp"
#include "mpich/statuses.hpp"

namespace hr::mpich {

// Array for the duration of a call. Short arrays are in the stack frame.
template <class T, int kShort = 32>
class Scratch {
 public:
  explicit Scratch(std::int64_t length) {
    if (length > kShort) {
      long_ = std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(length));
      data_ = long_.get();
    }
  }
  T& operator[](std::int64_t i) noexcept { return data_[i]; }
  T* data() noexcept { return data_; }

 private:
  T short_[kShort];
  std::unique_ptr<T[]> long_;
  T* data_ = short_;
};

// An array of the program and its translation. A negative length is rejected by libmpi_abi.so.1.
template <class Theirs, class Ours, int kShort = 32>
class Array {
 public:
  Array(Theirs* theirs, std::int64_t length)
      : theirs_(theirs), length_(theirs == nullptr ? 0 : std::max<std::int64_t>(length, 0)), ours_(length_) {}
  Ours* argument() noexcept { return theirs_ == nullptr ? nullptr : ours_.data(); }

 protected:
  Theirs* theirs_;
  std::int64_t length_;
  Scratch<Ours, kShort> ours_;
};

// --- Handles ---

template <Kind kind>
class HandleOut {
 public:
  using Standard = typename Traits<kind>::Standard;
  explicit HandleOut(int* handle) noexcept : handle_(handle) {}
  Standard* argument() noexcept { return handle_ == nullptr ? nullptr : &object_; }
  void finish() noexcept {
    if (object_ != nullptr) *handle_ = out<kind>(object_);
  }

 private:
  int* handle_;
  Standard object_ = nullptr;
};

// A call can change a handle only to the null handle.
template <Kind kind>
class HandleInOut {
 public:
  using Standard = typename Traits<kind>::Standard;
  explicit HandleInOut(int* handle) noexcept : handle_(handle) {
    if (handle != nullptr) object_ = in<kind>(*handle);
  }
  Standard* argument() noexcept { return handle_ == nullptr ? nullptr : &object_; }
  void finish() noexcept {
    if (reinterpret_cast<std::uintptr_t>(object_) != Traits<kind>::kStandardNull) return;
    drop<kind>(*handle_);
    *handle_ = Traits<kind>::kNull;
  }

 private:
  int* handle_;
  Standard object_ = nullptr;
};

template <Kind kind>
class HandlesIn : public Array<const int, typename Traits<kind>::Standard> {
 public:
  HandlesIn(const int* handles, std::int64_t length)
      : Array<const int, typename Traits<kind>::Standard>(handles, length) {
    for (std::int64_t i = 0; i < this->length_; ++i) this->ours_[i] = in<kind>(handles[i]);
  }
};

template <Kind kind>
class HandlesInOut : public Array<int, typename Traits<kind>::Standard> {
 public:
  HandlesInOut(int* handles, std::int64_t length) : Array<int, typename Traits<kind>::Standard>(handles, length) {
    for (std::int64_t i = 0; i < this->length_; ++i) this->ours_[i] = in<kind>(handles[i]);
  }
  void finish() noexcept {
    for (std::int64_t i = 0; i < this->length_; ++i) {
      if (reinterpret_cast<std::uintptr_t>(this->ours_[i]) != Traits<kind>::kStandardNull) continue;
      drop<kind>(this->theirs_[i]);
      this->theirs_[i] = Traits<kind>::kNull;
    }
  }
};

template <Kind kind>
class HandlesOut : public Array<int, typename Traits<kind>::Standard> {
 public:
  HandlesOut(int* handles, std::int64_t length) : Array<int, typename Traits<kind>::Standard>(handles, length) {
    for (std::int64_t i = 0; i < this->length_; ++i) this->ours_[i] = nullptr;
  }
  void finish() noexcept {
    for (std::int64_t i = 0; i < this->length_; ++i) {
      if (this->ours_[i] != nullptr) this->theirs_[i] = out<kind>(this->ours_[i]);
    }
  }
};

class FileOut {
 public:
  explicit FileOut(File* file) noexcept : file_(file) {}
  MPI_File* argument() noexcept { return file_ == nullptr ? nullptr : &object_; }
  void finish() noexcept {
    if (object_ != nullptr) *file_ = file_out(object_);
  }

 private:
  File* file_;
  MPI_File object_ = nullptr;
};

class FileInOut {
 public:
  explicit FileInOut(File* file) noexcept : file_(file), object_(file == nullptr ? nullptr : file_in(*file)) {}
  MPI_File* argument() noexcept { return file_ == nullptr ? nullptr : &object_; }
  void finish() noexcept {
    if (file_ != nullptr) *file_ = file_out(object_);
  }

 private:
  File* file_;
  MPI_File object_;
};

// --- Numbers ---

template <class Rule, class T>
class ValueOut {
 public:
  explicit ValueOut(int* number) noexcept : number_(number) {}
  T* argument() noexcept { return number_ == nullptr ? nullptr : &value_; }
  void finish() noexcept {
    if (number_ != nullptr && value_ != static_cast<T>(kNoValue)) *number_ = Rule::out(static_cast<int>(value_));
  }

 private:
  int* number_;
  T value_ = static_cast<T>(kNoValue);
};

template <class Rule, class T>
class ValueInOut {
 public:
  explicit ValueInOut(int* number) noexcept
      : number_(number), value_(number == nullptr ? T() : static_cast<T>(Rule::in(*number))) {}
  T* argument() noexcept { return number_ == nullptr ? nullptr : &value_; }
  void finish() noexcept {
    if (number_ != nullptr) *number_ = Rule::out(static_cast<int>(value_));
  }

 private:
  int* number_;
  T value_;
};

template <class Rule>
class ValuesIn : public Array<const int, int> {
 public:
  ValuesIn(const int* numbers, std::int64_t length) : Array(numbers, length) {
    for (std::int64_t i = 0; i < length_; ++i) ours_[i] = Rule::in(numbers[i]);
  }
};

template <class Rule>
class ValuesOut : public Array<int, int> {
 public:
  ValuesOut(int* numbers, std::int64_t length) : Array(numbers, length) {
    std::fill_n(ours_.data(), length_, kNoValue);
  }
  void finish() noexcept {
    for (std::int64_t i = 0; i < length_; ++i) {
      if (ours_[i] != kNoValue) theirs_[i] = Rule::out(ours_[i]);
    }
  }
};

// --- Statuses ---

class StatusIn {
 public:
  explicit StatusIn(const Status* status) noexcept : given_(status != nullptr && status != kStatusIgnore) {
    if (given_) to_standard(*status, status_);
  }
  const MPI_Status* argument() const noexcept { return given_ ? &status_ : nullptr; }

 private:
  bool given_;
  MPI_Status status_;
};

class StatusOut {
 public:
  explicit StatusOut(Status* status) noexcept : theirs_(status == nullptr ? kStatusIgnore : status) {
    if (theirs_ != kStatusIgnore) reset(status_);
  }
  MPI_Status* argument() noexcept { return theirs_ == kStatusIgnore ? MPI_STATUS_IGNORE : &status_; }
  void finish() noexcept {
    if (theirs_ != kStatusIgnore) to_mpich(status_, *theirs_);
  }

 private:
  Status* theirs_;
  MPI_Status status_;
};

// A status for calls that set only some fields: the others keep their contents, even if the program never wrote them.
class StatusInOut {
 public:
  explicit StatusInOut(Status* status) noexcept : theirs_(status == kStatusIgnore ? nullptr : status) {
    if (theirs_ != nullptr) to_standard(*theirs_, status_);
    before_ = status_;
  }
  MPI_Status* argument() noexcept { return theirs_ == nullptr ? nullptr : &status_; }
  void finish() noexcept {
    if (theirs_ == nullptr) return;
    if (status_.MPI_SOURCE != before_.MPI_SOURCE) theirs_->MPI_SOURCE = Rank::out(status_.MPI_SOURCE);
    if (status_.MPI_TAG != before_.MPI_TAG) theirs_->MPI_TAG = Tag::out(status_.MPI_TAG);
    if (status_.MPI_ERROR != before_.MPI_ERROR) theirs_->MPI_ERROR = ErrorCode::out(status_.MPI_ERROR);
    data_to_mpich(status_, *theirs_);
  }

 private:
  Status* theirs_;
  MPI_Status status_ = {};
  MPI_Status before_;
};

class StatusesOut : public Array<Status, MPI_Status> {
 public:
  StatusesOut(Status* statuses, std::int64_t length) : Array(statuses == kStatusIgnore ? nullptr : statuses, length) {
    for (std::int64_t i = 0; i < length_; ++i) reset(ours_[i]);
  }
  void finish() noexcept {
    for (std::int64_t i = 0; i < length_; ++i) to_mpich(ours_[i], theirs_[i]);
  }
};

// --- Text ---

// The program's array holds kTheirs characters, but the library may write kOurs.
template <int kTheirs, int kOurs>
class Text {
 public:
  explicit Text(char* text) noexcept : theirs_(text) { text_[0] = '\0'; }
  char* argument() noexcept { return theirs_ == nullptr ? nullptr : text_; }
  void finish() noexcept {
    const std::size_t length = std::min<std::size_t>(::strnlen(text_, sizeof text_), kTheirs - 1);
    if (length == 0) return;
    std::memcpy(theirs_, text_, length);
    theirs_[length] = '\0';
  }
  // Limits `length`, the length of the library's string, to that of the copy.
  void clip(int* length) const noexcept {
    if (length != nullptr) *length = std::min(*length, kTheirs - 1);
  }

 private:
  char* theirs_;
  char text_[kOurs + 1];
};

// --- Lengths of arrays that are not arguments; 0 if the communicator is not valid ---

std::int64_t peers_of(MPI_Comm comm) noexcept;
std::int64_t sources_of(MPI_Comm comm) noexcept;
std::int64_t destinations_of(MPI_Comm comm) noexcept;

}  // namespace hr::mpich
