#include "base/lent_variables.hpp"

#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "base/knobs.hpp"

namespace hr {
namespace {

struct Table {
  std::vector<std::string> texts;  // "NAME=value"
  std::vector<char*> pointers;     // ended by null, as in `environ`
};

// All tables that have been in use.
std::deque<Table>& tables() {
  static auto& all = *new std::deque<Table>;
  return all;
}

bool have_same_entries(char* const* one, char* const* other) noexcept {
  for (; *one != nullptr && *one == *other; ++one) ++other;
  return *one == *other;
}

// Table that a program without variables may leave out.
char* const kEmpty[] = {nullptr};

void use(char** table) noexcept { std::atomic_ref(environ).store(table, std::memory_order_release); }

}  // namespace

LentVariables::LentVariables(std::span<const LentVariable> variables) {
  Table made;
  for (const auto& [name, value] : variables) {
    if (environment(name) == nullptr) made.texts.push_back(std::string(name) + "=" + value);
  }
  if (made.texts.empty()) return;
  Table& kept = tables().emplace_back(std::move(made));
  for (std::string& each : kept.texts) kept.pointers.push_back(each.data());
  added_ = kept.texts.size();
  before_ = environ;
  for (char** each = before_; each != nullptr && *each != nullptr; ++each) kept.pointers.push_back(*each);
  kept.pointers.push_back(nullptr);
  own_ = kept.pointers.data();
  use(own_);
}

LentVariables::~LentVariables() {
  if (own_ == nullptr || environ != own_) return;
  if (have_same_entries(own_ + added_, before_ != nullptr ? before_ : kEmpty)) use(before_);
}

}  // namespace hr
