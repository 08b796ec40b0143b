#include <cstdlib>

#include "base/log.hpp"
#include "boot/boot.hpp"
#include "transport/record_list.hpp"
#include "transport/transport.hpp"

namespace hr::transport {
namespace {

struct State {
  std::vector<std::unique_ptr<Transport>> owned;
  std::vector<Transport*> active;
};
State state;

void refuse(int from, const Header& header, const std::byte* /*payload*/, std::size_t bytes) {
  boot::abort(1, "rank " + std::to_string(from) + " sent a message of kind " + std::to_string(kind_of(header)) +
                     " with " + std::to_string(bytes) +
                     " bytes, which nothing here takes: does it run another version of the library?");
}

}  // namespace

Status init(const Job& job, Upcalls& upcalls) {
  for (Handler& handler : upcalls.handlers) {
    if (handler == nullptr) handler = refuse;
  }
  for (const Record* record : record_list()) {
    std::unique_ptr<Transport> made;
    HR_TRY(record->create(job, upcalls, &made));
    if (made == nullptr) continue;
    state.active.push_back(made.get());
    state.owned.push_back(std::move(made));
  }
  if (job.size > 1) HR_TRY(boot::fence());
  for (Transport* transport : state.active) HR_TRY(transport->open());
  return kOk;
}

Status connect(int proc, Transport** out) {
  std::string tried;
  for (Transport* transport : state.active) {
    if (transport->reaches(proc)) {
      HR_TRY(transport->connect(proc));
      log::write(log::Level::kTrace, "rank %d is reached by %.*s", proc, static_cast<int>(transport->name().size()),
                 transport->name().data());
      *out = transport;
      return kOk;
    }
    tried.append(tried.empty() ? "" : ", ").append(transport->name());
  }
  return fail(Errc::kOther, "rank %d is on another node and none of the transports here (%s) reaches it", proc,
              tried.c_str());
}

std::span<Transport* const> active() noexcept { return state.active; }

Status finalize() {
  Status first = kOk;
  for (auto& transport : state.owned) {
    const Status status = transport->finalize();
    if (first.ok()) first = status;
  }
  state.active.clear();
  state.owned.clear();
  return first;
}

}  // namespace hr::transport
