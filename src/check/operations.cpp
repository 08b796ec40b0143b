#include "check/operations.hpp"

#include <utility>

#include "base/abi.hpp"
#include "check/call.hpp"
#include "check/collectives.hpp"
#include "check/describe_collective.hpp"
#include "check/state.hpp"
#include "comm/communicator.hpp"
#include "p2p/p2p.hpp"
#include "rma/window.hpp"

namespace hr::check {
namespace {

struct Table final : FileState {
  Operations of;
};

const p2p::Request* request(const void* handle) noexcept {
  return Arena<p2p::Request>::instance().owns(handle) ? static_cast<const p2p::Request*>(handle) : nullptr;
}

Operation describe(const Call& call) {
  Operation operation;
  operation.call_site = call.call_site();
  operation.collective = begun_collective();
  operation.persistent = call.function().ends_with("_init");
  operation.active = !operation.persistent;
  if (const auto* comm = call.object<comm::Communicator>("comm"); comm != nullptr) operation.context = comm->context();
  if (is_collective_operation(call)) {
    operation.kind = Operation::Kind::kCollective;
  } else if (call.find("dest") != nullptr && call.find("source") == nullptr && call.find("partitions") == nullptr) {
    operation.kind = Operation::Kind::kSend;
    operation.peer = static_cast<int>(call.number("dest"));
  } else if (call.find("source") != nullptr && call.find("dest") == nullptr && call.find("partitions") == nullptr) {
    operation.kind = Operation::Kind::kReceive;
    operation.peer = static_cast<int>(call.number("source"));
  }
  operation.tag = static_cast<int>(call.number("tag"));
  if (const auto* window = call.object<rma::Window>("win"); window != nullptr) {
    operation.window = window->context();
    operation.target = static_cast<int>(call.number("target_rank"));
  }
  return operation;
}

void replace_shared_request(const Argument& argument) {
  p2p::Request* const shared = p2p::completed_send_request();
  const bool is_shared = argument.values()[0] == shared->handle();
  p2p::release_request(shared);
  if (!is_shared) return;
  p2p::Request* const own = Arena<p2p::Request>::instance().create();
  if (own == nullptr) return;
  own->finish({});
  *static_cast<void**>(const_cast<void*>(argument.address)) = own->handle();
  p2p::release_request(shared);
}

// Returns the buffers of MPIX_Allreduce_enqueue, which have a count and a type in common.
std::vector<Buffer> buffers_of_reduction(const Call& call) {
  std::vector<Buffer> buffers;
  auto* const type = call.object<layout::Datatype>("datatype");
  if (type == nullptr || !type->committed() || call.number("count") <= 0) return buffers;
  for (const char* const name : {"sendbuf", "recvbuf"}) {
    const Argument* const memory = call.find(name);
    if (reinterpret_cast<std::uintptr_t>(memory->address) == std::uintptr_t{abi::kInPlace}) continue;
    buffers.push_back({name, memory->address, call.number("count"), Ref<layout::Datatype>::share(type),
                       memory->use == Argument::Use::kWritten, false, 0});
  }
  return buffers;
}

}  // namespace

Operations& operations() { return own<Table>().of; }

std::vector<Operation> take_completed(const Call& call) {
  std::vector<Operation> completed;
  std::size_t at = 0;
  const bool frees = call.is("MPI_Request_free");
  for (const Argument& argument : call.arguments()) {
    if (argument.use != Argument::Use::kChanged) continue;
    for (const void* const now : argument.values()) {
      const void* const before = call.before[at++];
      if (argument.kind != ObjectKind::kRequest) continue;
      const auto found = operations().find(before);
      if (found == operations().end()) continue;
      Operation& operation = found->second;
      if (before != now) {
        if (operation.active && !frees) completed.push_back(std::move(operation));
        operations().erase(found);
      } else if (operation.persistent && operation.active && request(before) != nullptr && !request(before)->active()) {
        operation.active = false;
        completed.push_back(operation);
      }
    }
  }
  return completed;
}

void note_started(Call& call) {
  for (const Argument& argument : call.arguments()) {
    if (argument.use != Argument::Use::kMade || argument.kind != ObjectKind::kRequest || argument.amount != 1) continue;
    replace_shared_request(argument);
    if (request(argument.values()[0]) == nullptr) continue;
    Operation operation = describe(call);
    operation.request = argument.values()[0];
    operation.buffers = std::move(call.buffers);
    operations()[argument.values()[0]] = std::move(operation);
  }
}

bool is_nobody(const Call& call, const char* peer) {
  const Argument* const found = call.find(peer);
  return found != nullptr && found->amount == abi::kProcNull;
}

std::vector<Buffer> buffers_of(const Call& call) {
  std::vector<Buffer> buffers;
  const bool communicates = call.find("comm") != nullptr || call.find("fh") != nullptr || call.find("win") != nullptr ||
                            call.find("message") != nullptr;
  if (!communicates || call.function().starts_with("MPI_Pack") || call.function().starts_with("MPI_Unpack"))
    return buffers;
  if (call.is("MPIX_Allreduce_enqueue")) return buffers_of_reduction(call);
  const auto arguments = call.arguments();
  for (std::size_t at = 0; at + 2 < arguments.size(); ++at) {
    const Argument& memory = arguments[at];
    const bool written = memory.use == Argument::Use::kWritten;
    const bool three = (written || memory.use == Argument::Use::kRead) &&
                       arguments[at + 1].use == Argument::Use::kNumber &&
                       arguments[at + 2].kind == ObjectKind::kDatatype;
    if (!three || arguments[at + 1].amount <= 0) continue;
    if (is_nobody(call, written ? "source" : "dest")) continue;
    auto* const type = call.object<layout::Datatype>(arguments[at + 2].name);
    if (type == nullptr || !type->committed()) continue;
    buffers.push_back(
        {memory.name, memory.address, arguments[at + 1].amount, Ref<layout::Datatype>::share(type), written, false, 0});
  }
  return buffers;
}

}  // namespace hr::check
