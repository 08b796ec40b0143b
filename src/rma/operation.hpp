// Operation: one call of section 12.3, checked, before it is carried out by the way that the target takes. Internal to
// rma/. Owner: the call; what goes on after it keeps copies.
#pragma once

#include <cstdint>

#include "layout/op.hpp"
#include "layout/view.hpp"
#include "p2p/request.hpp"
#include "rma/window.hpp"

namespace hr::rma {

enum class OperationKind : std::uint8_t { kPut, kGet, kAccumulate, kGetAccumulate, kCompareSwap };

struct Operation {
  OperationKind kind;
  layout::View origin{};               // what the target gets; of no bytes for gets and MPI_NO_OP
  layout::View result{};               // where what was there goes
  const std::byte* compare = nullptr;  // kCompareSwap: host memory
  int rank = 0;
  Count displacement = 0;  // in units of the target's
  Count count = 0;
  layout::Datatype* type = nullptr;     // of the target's elements
  const layout::Op* op = nullptr;       // accumulates
  layout::Datatype* element = nullptr;  // accumulates: what all of it consists of

  [[nodiscard]] bool has_result() const noexcept {
    return kind == OperationKind::kGet || kind == OperationKind::kGetAccumulate || kind == OperationKind::kCompareSwap;
  }
  [[nodiscard]] std::size_t target_bytes() const noexcept {
    return static_cast<std::size_t>(count) * static_cast<std::size_t>(type->size());
  }
};

// The predefined operation of a kind.
[[nodiscard]] const layout::Op* op_of(layout::OpKind kind) noexcept;

// MPI_ERR_RMA_RANGE where the operation's part of the target's memory leaves that, as far as the origin knows (not in
// dynamic windows); data may lie before the displacement.
Status check_range(const Operation& operation, const Window& window, const Member& member);
// The operation's part of this process's memory, checked: for the target.
Status locate(Window& window, const Operation& operation, layout::View* target);

// --- the ways. Each is over when it returns, but for start_by_message() ---
// The member's memory is in this process.
Status do_here(Window& window, Operation& operation);
// kPut and kGet by the system. Status::again(): the system does not let us, go another way.
Status do_by_system(Window& window, Operation& operation);
// *request, where it is not null, gets a reference for the caller. Buffers and types stay until it is complete.
Status start_by_message(Window& window, Operation& operation, p2p::Request** request);

}  // namespace hr::rma
