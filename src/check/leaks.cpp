#include "check/leaks.hpp"

#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "check/diagnostic.hpp"
#include "check/objects.hpp"
#include "check/report.hpp"
#include "check/state.hpp"
#include "layout/datatype.hpp"

namespace hr::check {
namespace {

struct Made {
  ObjectKind kind;
  CallSite call_site;
};

// Some handles are returned several times, each time with a reference.
struct Handles final : FileState {
  std::unordered_multimap<const void*, Made> made;
};

// Types of MPI_Type_create_f90_* are predefined, and may not be freed (section 19.1.9).
bool is_predefined(const void* handle, ObjectKind kind) {
  return kind == ObjectKind::kDatatype && static_cast<const layout::Datatype*>(handle)->row_ != nullptr;
}

void note_made(const Call& call, const Argument& argument) {
  for (const void* const handle : argument.values()) {
    if (is_live(handle, argument.kind) && !is_predefined(handle, argument.kind))
      own<Handles>().made.emplace(handle, Made{argument.kind, call.call_site()});
  }
}

// Removes handles that the call has set to null.
void note_changed(const Call& call) {
  auto& made = own<Handles>().made;
  std::size_t at = 0;
  for (const Argument& argument : call.arguments()) {
    if (argument.use != Argument::Use::kChanged) continue;
    for (const void* const handle : argument.values()) {
      const void* const before = call.before[at++];
      if (before == handle) continue;
      if (const auto found = made.find(before); found != made.end()) made.erase(found);
    }
  }
}

Status after(Call& call, int code) {
  note_changed(call);
  // The communicator with the parent exists from the start, and need not be freed.
  if (code != 0 || call.is("MPI_Comm_get_parent")) return kOk;
  for (const Argument& argument : call.arguments()) {
    if (argument.use == Argument::Use::kMade) note_made(call, argument);
  }
  return kOk;
}

void at_finalize() {
  std::map<std::pair<std::string, ObjectKind>, int> leaks;
  for (const auto& [handle, each] : own<Handles>().made) {
    if (is_live(handle, each.kind)) ++leaks[{text(each.call_site), each.kind}];
  }
  for (const auto& [leak, count] : leaks) {
    const HandleType& type = handle_type(leak.second);
    report("leak: %d %s of %s %s not given back before MPI_Finalize; %s", count, type.name, leak.first.c_str(),
           count == 1 ? "is" : "are", type.release);
  }
}

}  // namespace

const CallSite* made_at(const void* handle) {
  const auto& made = own<Handles>().made;
  const auto found = made.find(handle);
  return found == made.end() ? nullptr : &found->second.call_site;
}

extern const Diagnostic kLeaks;
const Diagnostic kLeaks{"leak", nullptr, nullptr, nullptr, after, at_finalize};

}  // namespace hr::check
