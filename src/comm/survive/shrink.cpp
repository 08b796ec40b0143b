#include "comm/shrink.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "comm/consensus.hpp"
#include "comm/create/assemble.hpp"
#include "comm/failure.hpp"

namespace hr::comm {
namespace {

std::vector<int> without(const ProcList& procs, const std::vector<int>& failed) {
  std::vector<int> left;
  for (const int proc : procs) {
    if (std::find(failed.begin(), failed.end(), proc) == failed.end()) left.push_back(proc);
  }
  return left;
}

// State of one shrink operation until it has ended.
class Shrinking final : public p2p::TaskResources {
 public:
  Shrinking(Communicator& comm, Ref<Communicator> made)
      : comm(Ref<Communicator>::share(&comm)), made(std::move(made)), participants(comm) {}
  [[nodiscard]] const char* what() const noexcept override { return "shrinking of a communicator"; }

  // Returns the survivors, in the order of the participants.
  Members survivors(std::uint32_t number) {
    left.clear();
    int me = 0;
    for (int i = 0; i < participants.size(); ++i) {
      const int proc = participants.proc(i);
      if (std::find(agreed.failed.begin(), agreed.failed.end(), proc) != agreed.failed.end()) continue;
      if (i == participants.me()) me = static_cast<int>(left.size());
      left.push_back(proc);
    }
    const int size = static_cast<int>(left.size());
    return {ProcList(left.data(), size), size, me, comm->context() + kSurvivorsContext,
            static_cast<int>(number & 0x7fffffff)};
  }

  Ref<Communicator> comm;
  Ref<Communicator> made;
  Participants participants;
  std::vector<int> left;
  Agreed agreed;
  Agreed confirmed;
};

// Sets the groups of the new communicator.
Status fill(Shrinking& shrinking) {
  const Communicator& comm = *shrinking.comm;
  std::vector<int> local = without(comm.local_->procs(), shrinking.agreed.failed);
  Ref<Group> remote;
  if (comm.is_inter()) {
    std::vector<int> there = without(comm.remote_->procs(), shrinking.agreed.failed);
    if (there.empty() || local.empty())
      return fail(Errc::kComm, "one group of the intercommunicator has no processes left");
    remote = make_group(std::move(there), *comm.remote_);
  }
  shrinking.made->set_groups(make_group(std::move(local), *comm.local_), std::move(remote));
  return kOk;
}

p2p::Task shrink_task(Shrinking* shrinking) {
  Communicator& comm = *shrinking->comm;
  for (;;) {
    shrinking->agreed.flag = 1;
    p2p::Task on_failures = reach_consensus(comm, shrinking->participants, &shrinking->agreed);
    HR_CO_TRY(co_await on_failures);
    comm.excluded_ = shrinking->agreed.failed;
    std::uint32_t context = 0;
    Agreement agreement;
    agreement.members = shrinking->survivors(comm.agreements_);
    agreement.blocking = false;
    p2p::Task on_context = agree_on_context(agreement, &context);
    const Status made = co_await on_context;
    // The error matters only if no member has failed meanwhile, which the members find out together.
    std::string why;
    if (!made.ok()) why = take_detail();
    shrinking->confirmed.flag = made.ok() ? 1 : 0;
    p2p::Task on_success = reach_consensus(comm, shrinking->participants, &shrinking->confirmed);
    HR_CO_TRY(co_await on_success);
    const bool same = shrinking->confirmed.failed.size() == shrinking->agreed.failed.size();
    if (shrinking->confirmed.flag == 1 && same) {
      HR_CO_TRY(fill(*shrinking));
      shrinking->made->context_ = context;
      apply_early_revocation(*shrinking->made);
      co_return kOk;
    }
    if (made.ok()) release_context(context);
    // Without a new failure, another attempt would fail for the same reason.
    if (same) {
      if (!made.ok()) {
        set_detail(std::move(why));
        co_return made;
      }
      co_return fail(Errc::kOther, "another member could not create the communicator");
    }
  }
}

Status prepare(Communicator& comm, std::unique_ptr<Shrinking>* shrinking) {
  // The communicator keeps the old groups until the survivors are known.
  Ref<Communicator> made = assemble(comm.local_, comm.remote_, comm.errhandler_);
  HR_TRY(check_no_room(made));
  *shrinking = std::make_unique<Shrinking>(comm, std::move(made));
  return kOk;
}

}  // namespace

Status shrink(Communicator& comm, Ref<Communicator>* result) {
  std::unique_ptr<Shrinking> shrinking;
  HR_TRY(prepare(comm, &shrinking));
  HR_TRY(p2p::run_blocking(shrink_task(shrinking.get())));
  *result = std::move(shrinking->made);
  return kOk;
}

Status ishrink(Communicator& comm, Ref<Communicator>* result, p2p::Request** request) {
  std::unique_ptr<Shrinking> shrinking;
  HR_TRY(prepare(comm, &shrinking));
  Ref<Communicator> made = shrinking->made;
  p2p::Task task = shrink_task(shrinking.get());
  HR_TRY(p2p::run_as_request(std::move(task), std::move(shrinking), &comm, request));
  *result = std::move(made);
  return kOk;
}

}  // namespace hr::comm
