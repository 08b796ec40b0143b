// Operation: one call of section 12.3, checked, before it is executed in the way that the target requires. Internal to
// rma/. Owner: the call; parts that outlast it keep copies.
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
  layout::View origin{};               // data for the target; of no bytes for gets and MPI_NO_OP
  layout::View result{};               // destination of the target's previous contents
  const std::byte* compare = nullptr;  // kCompareSwap: host memory
  int rank = 0;
  Count displacement = 0;  // in units of the target's
  Count count = 0;
  layout::Datatype* type = nullptr;     // of the target's elements
  const layout::Op* op = nullptr;       // accumulates
  layout::Datatype* element = nullptr;  // accumulates: type of all its elements

  [[nodiscard]] bool has_result() const noexcept {
    return kind == OperationKind::kGet || kind == OperationKind::kGetAccumulate || kind == OperationKind::kCompareSwap;
  }
  [[nodiscard]] std::size_t target_bytes() const noexcept {
    return static_cast<std::size_t>(count) * static_cast<std::size_t>(type->size());
  }
};

// Returns the predefined operation of a kind.
[[nodiscard]] const layout::Op* op_of(layout::OpKind kind) noexcept;

// Errors: MPI_ERR_RMA_RANGE if the operation's part is not all in the target's memory, as far as the origin knows (not
// in dynamic windows); data may lie before the displacement.
Status check_range(const Operation& operation, const Window& window, const Member& member);
// Finds the operation's part of this process's memory, checked: for the target.
Status locate(Window& window, const Operation& operation, layout::View* target);

// --- the ways. Each is complete on return, except start_by_message() ---
// The member's memory is in this process.
Status execute_locally(Window& window, Operation& operation);
// Lets the system do kPut and kGet. Status::again(): the system does not permit it, go another way.
Status execute_by_system(Window& window, Operation& operation);
// *request, if it is not null, gets a reference for the caller. Buffers and types stay until it is complete.
Status start_by_message(Window& window, Operation& operation, p2p::Request** request);

}  // namespace hr::rma
