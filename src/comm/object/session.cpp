#include "comm/session.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "boot/boot.hpp"
#include "p2p/buffered.hpp"

namespace hr::comm {

namespace {

constexpr std::array<std::string_view, 2> kPsets = {"mpi://WORLD", "mpi://SELF"};

ProcList procs_of(std::size_t pset) {
  if (pset == 1) return ProcList::range(boot::identity().rank, 1, 1);
  return ProcList::range(0, 1, boot::identity().size);
}

// Names are URIs; their case is ignored.
bool same_name(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

Status find_pset(std::string_view name, std::size_t* index) {
  for (std::size_t i = 0; i < kPsets.size(); ++i) {
    if (same_name(kPsets[i], name)) {
      *index = i;
      return kOk;
    }
  }
  return fail(Errc::kArg, "there is no process set '%.*s': mpi://WORLD and mpi://SELF exist",
              static_cast<int>(name.size()), name.data());
}

}  // namespace

Session::Session(Ref<Errhandler> errhandler, std::string thread_level)
    : Object(kKind),
      errhandler_(std::move(errhandler)),
      buffer_(std::make_shared<p2p::BufferPool>()),
      thread_level_(std::move(thread_level)) {}

int number_of_psets() noexcept { return static_cast<int>(kPsets.size()); }

bool is_pset_name(int n, std::string_view name) noexcept {
  return same_name(kPsets[static_cast<std::size_t>(n)], name);
}

Status pset_name(int n, std::string_view* name) {
  if (n < 0 || n >= number_of_psets()) {
    return fail(Errc::kArg, "there is no process set number %d: there are %d", n, number_of_psets());
  }
  *name = kPsets[static_cast<std::size_t>(n)];
  return kOk;
}

Status pset_group(const Session& session, std::string_view name, Ref<Group>* group) {
  std::size_t pset = 0;
  HR_TRY(find_pset(name, &pset));
  *group = group_of(procs_of(pset), session.buffer_);
  return kOk;
}

Status pset_info(std::string_view name, Ref<Info>* info) {
  std::size_t pset = 0;
  HR_TRY(find_pset(name, &pset));
  *info = create_info();
  if (!*info) return fail(Errc::kNoMem, "no memory for another info object");
  return (*info)->set("mpi_size", std::to_string(procs_of(pset).size()));
}

Ref<Info> session_info(const Session& session) {
  Ref<Info> info = create_info();
  if (info && !session.thread_level_.empty()) static_cast<void>(info->set("thread_level", session.thread_level_));
  return info;
}

}  // namespace hr::comm
