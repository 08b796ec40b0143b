// Creation and destruction of windows (MPI 5.0 sections 12.2.1 to 12.2.5).
#include "comm/create.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/abi.hpp"
#include "boot/boot.hpp"
#include "boot/process_name.hpp"
#include "coll/coll.hpp"
#include "comm/agree.hpp"
#include "p2p/channel.hpp"
#include "p2p/p2p.hpp"
#include "rma/device.hpp"
#include "rma/epoch.hpp"
#include "rma/hints.hpp"
#include "rma/memory.hpp"
#include "rma/network.hpp"
#include "rma/rma.hpp"
#include "rma/state.hpp"

namespace hr::rma {

namespace {

constexpr int kFactsTag = 0x10000;
constexpr int kLastTag = 0x10010;

Status check_arguments(Count size, Count unit, const comm::Communicator& comm) {
  if (comm.is_inter()) return fail(Errc::kComm, "windows are created from intracommunicators");
  if (size < 0) return fail(Errc::kSize, "size is %lld", static_cast<long long>(size));
  if (unit <= 0) return fail(Errc::kDisp, "disp_unit is %lld; it must be positive", static_cast<long long>(unit));
  return kOk;
}

int flavor_value(Flavor flavor) {
  switch (flavor) {
    case Flavor::kCreate:
      return abi::kWinFlavorCreate;
    case Flavor::kAllocate:
      return abi::kWinFlavorAllocate;
    case Flavor::kDynamic:
      return abi::kWinFlavorDynamic;
    default:
      return abi::kWinFlavorShared;
  }
}

// Creates a window that so far has only its communicator.
Status begin(Flavor flavor, const comm::Info* hints, comm::Communicator& comm, Ref<Window>* window) {
  Ref<Window> made = Ref<Window>::adopt(Arena<Window>::instance().create());
  if (!made) return fail(Errc::kNoMem, "no memory for another window: free those no longer needed");
  made->flavor_ = flavor;
  HR_TRY(comm::create(comm, *comm.local_, &made->comm_));
  made->group_ = made->comm_->local_;
  made->errhandler_ = Ref<comm::Errhandler>::share(comm::predefined_errhandler(abi::kErrorsAreFatal));
  made->size_ = made->comm_->size();
  made->own_rank_ = made->comm_->rank();
  made->for_threads_ = p2p::channels::offered();
  made->members_.resize(static_cast<std::size_t>(made->size()));
  made->own().path = Path::kOwn;
  set_info(*made, hints);
  *window = std::move(made);
  return kOk;
}

Status exchange_facts(Window& window, const Facts& own, std::vector<Facts>* all) {
  all->resize(static_cast<std::size_t>(window.size()));
  HR_TRY(p2p::run_blocking(comm::allgather(exchange_members(window, kFactsTag), &own, sizeof own,
                                           reinterpret_cast<std::byte*>(all->data()))));
  for (int rank = 0; rank < window.size(); ++rank) {
    const Facts& its = (*all)[static_cast<std::size_t>(rank)];
    Member& member = window.member(rank);
    member.address = its.address;
    member.bytes = its.bytes;
    member.displacement_unit = its.unit;
  }
  return kOk;
}

// Finds processes on this host whose host memory this process can read and write with system calls.
void find_readable(Window& window, const std::vector<Facts>& facts) {
  for (int rank = 0; rank < window.size(); ++rank) {
    Member& member = window.member(rank);
    if (member.path != Path::kMessage || facts[static_cast<std::size_t>(rank)].readable == 0) continue;
    const int proc = window.proc(rank);
    if (!p2p::shares_memory(proc)) continue;
    member.memory = transport::path_to_memory(proc);
    if (member.memory != nullptr) member.path = Path::kRead;
  }
}

// Waits until all processes are ready; none of them uses the window earlier. `failed`: nonzero if this process has no
// memory for the window. Returns MPI_ERR_NO_MEM if any process has none.
Status finish(Window& window, std::uint64_t failed) {
  std::uint64_t fine = failed == 0 ? 1 : 0;
  HR_TRY(p2p::run_blocking(comm::and_reduce(exchange_members(window, kLastTag), &fine, 1)));
  if (fine == 0 && failed == 0) return fail(Errc::kNoMem, "another process had no memory for the window");
  if (failed != 0) return Errc::kNoMem;
  return kOk;
}

void set_values(Window& window, void* base) {
  const bool plain = window.flavor_ != Flavor::kDynamic && window.where_.is_host();
  for (Member& member : window.members_) {
    if ((member.path == Path::kMapped && member.device == nullptr) || (member.path == Path::kOwn && plain))
      member.words = member.base;
  }
  window.direct_ = std::ranges::all_of(window.members_, [](const Member& each) { return each.words != nullptr; });
  window.values_.base = base;
  window.values_.size = window.own().bytes;
  window.values_.displacement_unit = static_cast<int>(window.own().displacement_unit);
  window.values_.flavor = flavor_value(window.flavor_);
  window.values_.model = abi::kWinUnified;
}

void enter(Window& window) { state->windows[window.context()] = &window; }
void leave(Window& window) {
  state->windows.erase(window.context());
  withdraw_key(window);
}

// Ends a window whose creation has failed in some process; collective.
void give_up(Window& window) {
  comm::end_connections(*window.comm_);
  leave(window);
}

Status give_memory(Window& window, const std::vector<Facts>& facts) {
  bool shared = false;
  HR_TRY(share_memory(window, facts, &shared));
  Member& own = window.own();
  std::uint64_t failed = 0;
  std::string why;
  if (!shared && window.flavor_ == Flavor::kShared) {
    failed = 1;
    why = "MPI_Win_allocate_shared: the processes could not share memory (HEADRACE_VERBOSE=1 says why)";
  } else if (own.base == nullptr && (own.bytes != 0 || is_contiguous(window, facts))) {
    failed = allocate_private(window, static_cast<std::size_t>(own.bytes), alignment_hint(window)).ok() ? 0 : 1;
    why = take_detail();
    own.base = window.memory_.get();
  }
  if (!shared) {
    std::vector<Facts> again;
    HR_TRY(exchange_facts(window,
                          {.address = reinterpret_cast<std::uint64_t>(own.base),
                           .bytes = own.bytes,
                           .unit = own.displacement_unit,
                           .readable = 1},
                          &again));
    find_readable(window, again);
  }
  HR_TRY(share_keys(window, facts));
  const Status status = finish(window, failed);
  if (failed != 0) set_detail(std::move(why));
  return status;
}

}  // namespace

Window::~Window() = default;

Status create(void* base, Count size, Count unit, const comm::Info* hints, comm::Communicator& comm,
              Ref<Window>* window) {
  HR_TRY(check_arguments(size, unit, comm));
  if (base == nullptr && size > 0) return fail(Errc::kBase, "base is null, size %lld", static_cast<long long>(size));
  mem::Location where;
  if (size > 0) HR_TRY(mem::classify(base, &where, static_cast<std::size_t>(size)));
  if (where.is_device()) HR_TRY(mem::check_range(base, static_cast<std::size_t>(size), where));
  Ref<Window> made;
  HR_TRY(begin(Flavor::kCreate, hints, comm, &made));
  made->where_ = where;
  const bool readable = size > 0 && where.is_host() && !where.pinned;
  std::vector<Facts> facts;
  HR_TRY(exchange_facts(*made,
                        {.address = reinterpret_cast<std::uint64_t>(base),
                         .bytes = size,
                         .unit = unit,
                         .device = where.is_device() ? 1U : 0U,
                         .readable = readable ? 1U : 0U,
                         .network = has_network(*made) ? 1U : 0U},
                        &facts));
  made->own().base = static_cast<std::byte*>(base);
  bool shared = false;
  HR_TRY(share_memory(*made, facts, &shared));
  find_readable(*made, facts);
  HR_TRY(share_devices(*made, facts));
  HR_TRY(share_keys(*made, facts));
  enter(*made);
  set_values(*made, base);
  const Status status = finish(*made, 0);
  if (!status.ok()) give_up(*made);
  HR_TRY(status);
  *window = std::move(made);
  return kOk;
}

Status allocate(Flavor flavor, Count size, Count unit, const comm::Info* hints, comm::Communicator& comm, void** base,
                Ref<Window>* window) {
  HR_TRY(check_arguments(size, unit, comm));
  if (flavor == Flavor::kShared) {
    for (const int proc : comm.local_->procs()) {
      if (proc == boot::processes().self() || p2p::shares_memory(proc)) continue;
      return fail(Errc::kRmaShared,
                  "the communicator has processes that share no memory with this one (%s): take one of "
                  "MPI_Comm_split_type with MPI_COMM_TYPE_SHARED",
                  boot::process_name(boot::processes(), proc).c_str());
    }
  }
  Ref<Window> made;
  HR_TRY(begin(flavor, hints, comm, &made));
  std::vector<Facts> facts;
  HR_TRY(exchange_facts(*made,
                        {.bytes = size,
                         .unit = unit,
                         .alignment = alignment_hint(*made),
                         .apart = shares_apart(*made) ? 1U : 0U,
                         .network = has_network(*made) ? 1U : 0U},
                        &facts));
  enter(*made);
  const Status status = give_memory(*made, facts);
  if (!status.ok()) give_up(*made);
  HR_TRY(status);
  set_values(*made, made->own().base);
  *base = made->own().base;
  *window = std::move(made);
  return kOk;
}

Status create_dynamic(const comm::Info* hints, comm::Communicator& comm, Ref<Window>* window) {
  HR_TRY(check_arguments(0, 1, comm));
  Ref<Window> made;
  HR_TRY(begin(Flavor::kDynamic, hints, comm, &made));
  std::vector<Facts> facts;
  HR_TRY(exchange_facts(*made, {}, &facts));
  bool shared = false;
  HR_TRY(share_memory(*made, facts, &shared));
  enter(*made);
  set_values(*made, nullptr);
  const Status status = finish(*made, 0);
  if (!status.ok()) give_up(*made);
  HR_TRY(status);
  *window = std::move(made);
  return kOk;
}

Status free(Window& window) {
  HR_TRY(check_no_access(window, "MPI_Win_free"));
  if (window.exposed_)
    return fail(Errc::kRmaSync, "MPI_Win_free was called in an epoch of MPI_Win_post: call MPI_Win_wait first");
  HR_TRY(window.attributes_.clear(window.handle()));
  const Status done = finish_operations(window, false);
  unmap_devices(window);
  coll::Call call;
  Status met = coll::barrier(call, *window.comm_);
  if (met.ok()) met = coll::run(call);
  comm::end_connections(*window.comm_);
  leave(window);
  forget_services(window);
  release(&window);
  // A failed process cannot enter the barrier; operations that depended on it have reported the failure.
  if (met == Errc::kProcFailed) {
    static_cast<void>(take_detail());
    met = kOk;
  }
  return done.ok() ? met : done;
}

Status shared_query(Window& window, int rank, Count* size, Count* unit, void** base) {
  if (window.flavor_ == Flavor::kDynamic)
    return fail(Errc::kRmaFlavor, "MPI_Win_shared_query is not for windows of MPI_Win_create_dynamic");
  if (rank == abi::kProcNull) {
    rank = 0;
    while (rank < window.size() - 1 && window.member(rank).bytes == 0) ++rank;
  }
  HR_TRY(check_rank(window, rank));
  const Member& member = window.member(rank);
  *size = member.words != nullptr ? member.bytes : 0;
  *unit = member.displacement_unit;
  *base = member.words;
  return kOk;
}

bool needs_progress(Window& window) noexcept {
  if (window.no_locks_) return false;
  return std::any_of(window.members_.begin(), window.members_.end(),
                     [](const Member& each) { return each.path != Path::kOwn && each.path != Path::kMapped; });
}

}  // namespace hr::rma
