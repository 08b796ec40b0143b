// Sessions (MPI 5.0 section 11.3).
#include "comm/session.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "base/driver_epoch.hpp"
#include "bind/impl.hpp"
#include "bind/raise.hpp"
#include "bind/runtime.hpp"
#include "p2p/buffered.hpp"

namespace hr::bind::impl {

namespace {

struct Level {
  int value;
  const char* name;
};

constexpr std::array<Level, 4> kLevels = {{{MPI_THREAD_SINGLE, "MPI_THREAD_SINGLE"},
                                           {MPI_THREAD_FUNNELED, "MPI_THREAD_FUNNELED"},
                                           {MPI_THREAD_SERIALIZED, "MPI_THREAD_SERIALIZED"},
                                           {MPI_THREAD_MULTIPLE, "MPI_THREAD_MULTIPLE"}}};

// Returns the thread level that the info key "thread_level" requests, else that of the process.
Level wanted_level(const comm::Info* info) {
  const std::string* text = info != nullptr ? info->get("thread_level") : nullptr;
  if (text != nullptr) {
    for (const Level& level : kLevels) {
      if (*text == level.name) return level;
    }
  }
  if (runtime::world_initialized()) {
    for (const Level& level : kLevels) {
      if (level.value == runtime::thread_level()) return level;
    }
  }
  return kLevels[2];
}

}  // namespace

Status session_init(comm::Info* info, comm::Errhandler& errhandler, Ref<comm::Session>& session) {
  HR_TRY(comm::check_errhandler(errhandler, comm::ErrhandlerTarget::kSession));
  a_session_begins();
  if (const Status status = runtime::acquire(); !status.ok()) {
    blame_handler(errhandler);
    return status;
  }
  const Level level = wanted_level(info);
  if (level.value != MPI_THREAD_SINGLE) DriverEpoch::set_multithreaded();
  if (level.value == MPI_THREAD_MULTIPLE) runtime::enable_threads();
  session = Ref<comm::Session>::adopt(
      Arena<comm::Session>::instance().create(Ref<comm::Errhandler>::share(&errhandler), std::string(level.name)));
  if (session) return kOk;
  HR_TRY(runtime::release());
  blame_handler(errhandler);
  return fail(Errc::kNoMem, "no memory for another session: finalize those no longer needed");
}

Status session_finalize(comm::Session& session) {
  // Sends the messages still in the session's buffer, as at the end of the world model.
  HR_TRY(session.buffer_->flush());
  release(&session);
  return runtime::release();
}

Status session_get_num_psets(comm::Session&, comm::Info*, int& npset_names) {
  npset_names = comm::number_of_psets();
  return kOk;
}

Status session_get_nth_pset(comm::Session&, comm::Info*, int n, int& pset_len, char* pset_name) {
  std::string_view name;
  HR_TRY(comm::pset_name(n, &name));
  if (pset_len < 0) return fail(Errc::kArg, "pset_len is %d: must not be negative", pset_len);
  if (pset_len > 0 && pset_name == nullptr) {
    return fail(Errc::kArg, "pset_name is a null pointer, but pset_len is %d; 0 returns only the length", pset_len);
  }
  if (pset_len > 0) {
    const std::size_t length = std::min(name.size(), static_cast<std::size_t>(pset_len) - 1);
    std::memcpy(pset_name, name.data(), length);
    pset_name[length] = '\0';
  }
  pset_len = static_cast<int>(name.size()) + 1;
  return kOk;
}

Status session_get_pset_info(comm::Session&, const char* pset_name, Ref<comm::Info>& info) {
  return comm::pset_info(pset_name, &info);
}

Status session_get_info(comm::Session& session, Ref<comm::Info>& info_used) {
  info_used = comm::session_info(session);
  return info_used ? kOk : fail(Errc::kNoMem, "no memory for another info object: free those no longer needed");
}

}  // namespace hr::bind::impl
