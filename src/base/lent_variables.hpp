// LentVariables: environment variables for a library that reads them while it starts. They exist as long as this
// object. Variables that the user has set keep their values.
//
// Another thread may be reading the environment, and setenv() and unsetenv() would move the table under it. So this
// object puts its variables and the pointers of the current table into a new table, which replaces the current one, and
// later restores that. The new table stays allocated, because a thread may still be reading it.
//
// Owner: the call that starts the library. Threads: others may read the environment; objects are created and destroyed
// under the library lock, in the order of a stack. If another thread changes the environment meanwhile, its change and
// the variables stay.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <span>

namespace hr {

struct LentVariable {
  const char* name;
  const char* value;
};

class LentVariables {
 public:
  explicit LentVariables(std::span<const LentVariable> variables);
  LentVariables(std::initializer_list<LentVariable> variables)
      : LentVariables(std::span<const LentVariable>(variables.begin(), variables.size())) {}
  ~LentVariables();
  LentVariables(const LentVariables&) = delete;
  LentVariables& operator=(const LentVariables&) = delete;

 private:
  char** before_ = nullptr;
  char** own_ = nullptr;
  std::size_t added_ = 0;  // entries of own_ that are not in before_
};

}  // namespace hr
