#include "bind/unsupported.hpp"

#include <set>
#include <string_view>

#include "base/log.hpp"

namespace hr::bind {

Status missing(const char* function) {
  static std::set<std::string_view> told;
  if (told.insert(function).second) {
    log::write(log::Level::kError,
               "%s: this version of Headrace has no implementation of it; docs/conformance.md lists what works",
               function);
  }
  return fail(Errc::kUnsupportedOperation,
              "this version of Headrace has no implementation of it; docs/conformance.md lists what works");
}

}  // namespace hr::bind
