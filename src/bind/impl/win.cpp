// Windows and their epochs (MPI 5.0 sections 12.2 and 12.5). Communication: win_communicate.cpp.
#include <cstring>
#include <string_view>

#include "base/abi.hpp"
#include "base/knobs.hpp"
#include "bind/impl.hpp"
#include "bind/runtime.hpp"
#include "comm/group.hpp"
#include "p2p/progress_thread.hpp"
#include "rma/rma.hpp"

namespace hr::bind::impl {

namespace {

// Starts the progress thread for a window whose operations need this process while it computes.
Status help_progress(rma::Window& win) {
  if (!knobs().rma_progress_thread || win.size() == 1 || !rma::needs_progress(win)) return kOk;
  runtime::enable_threads();
  return p2p::progress_thread::start();
}

void give_address(void* where, void* address) { *static_cast<void**>(where) = address; }

}  // namespace

Status win_create(void* base, Count size, Count disp_unit, comm::Info* info, comm::Communicator& comm,
                  Ref<rma::Window>& win) {
  HR_TRY(rma::create(base, size, disp_unit, info, comm, &win));
  return help_progress(*win);
}

Status win_allocate(Count size, Count disp_unit, comm::Info* info, comm::Communicator& comm, void* baseptr,
                    Ref<rma::Window>& win) {
  void* base = nullptr;
  HR_TRY(rma::allocate(rma::Flavor::kAllocate, size, disp_unit, info, comm, &base, &win));
  give_address(baseptr, base);
  return help_progress(*win);
}

Status win_allocate_shared(Count size, Count disp_unit, comm::Info* info, comm::Communicator& comm, void* baseptr,
                           Ref<rma::Window>& win) {
  void* base = nullptr;
  HR_TRY(rma::allocate(rma::Flavor::kShared, size, disp_unit, info, comm, &base, &win));
  give_address(baseptr, base);
  return help_progress(*win);
}

Status win_create_dynamic(comm::Info* info, comm::Communicator& comm, Ref<rma::Window>& win) {
  HR_TRY(rma::create_dynamic(info, comm, &win));
  return help_progress(*win);
}

Status win_attach(rma::Window& win, void* base, Count size) { return rma::attach(win, base, size); }
Status win_detach(rma::Window& win, const void* base) { return rma::detach(win, base); }
Status win_free(rma::Window& win) { return rma::free(win); }

Status win_shared_query(rma::Window& win, int rank, Count& size, Count& disp_unit, void* baseptr) {
  void* base = nullptr;
  HR_TRY(rma::shared_query(win, rank, &size, &disp_unit, &base));
  give_address(baseptr, base);
  return kOk;
}

Status win_get_group(rma::Window& win, Ref<comm::Group>& group) {
  group = win.group_;
  return kOk;
}

Status win_get_info(rma::Window& win, Ref<comm::Info>& info_used) {
  info_used = rma::get_info(win);
  return info_used ? kOk : fail(Errc::kNoMem, "no memory for another info object: free those no longer needed");
}

Status win_set_info(rma::Window& win, comm::Info* info) {
  rma::set_info(win, info);
  return kOk;
}

Status win_get_name(rma::Window* win, char* win_name, int& resultlen) {
  const std::string_view name = win == nullptr ? std::string_view("MPI_WIN_NULL") : win->name_;
  std::memcpy(win_name, name.data(), name.size());
  win_name[name.size()] = '\0';
  resultlen = static_cast<int>(name.size());
  return kOk;
}

Status win_set_name(rma::Window& win, const char* win_name) {
  win.name_.assign(win_name, ::strnlen(win_name, abi::kMaxObjectName - 1));
  return kOk;
}

// --- epochs ---

Status win_fence(int assert, rma::Window& win) { return rma::fence(win, assert); }
Status win_start(comm::Group& group, int assert, rma::Window& win) { return rma::start(win, group, assert); }
Status win_complete(rma::Window& win) { return rma::complete(win); }
Status win_post(comm::Group& group, int assert, rma::Window& win) { return rma::post(win, group, assert); }
Status win_wait(rma::Window& win) { return rma::wait(win); }

Status win_test(rma::Window& win, int& flag) {
  bool done = false;
  HR_TRY(rma::test(win, &done));
  flag = done ? 1 : 0;
  return kOk;
}

Status win_lock(int lock_type, int rank, int assert, rma::Window& win) {
  return rma::lock(win, lock_type, rank, assert);
}
Status win_unlock(int rank, rma::Window& win) { return rma::unlock(win, rank); }
Status win_lock_all(int assert, rma::Window& win) { return rma::lock_all(win, assert); }
Status win_unlock_all(rma::Window& win) { return rma::unlock_all(win); }
Status win_flush(int rank, rma::Window& win) { return rma::flush(win, rank, false); }
Status win_flush_all(rma::Window& win) { return rma::flush_all(win, false); }
Status win_flush_local(int rank, rma::Window& win) { return rma::flush(win, rank, true); }
Status win_flush_local_all(rma::Window& win) { return rma::flush_all(win, true); }
Status win_sync(rma::Window& win) { return rma::sync(win); }

}  // namespace hr::bind::impl
