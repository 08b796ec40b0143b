// Operation: a call of section 12.3 whose arguments have been checked, to be executed over the path to the target.
// Internal to rma/. Owner: the call; code that outlasts the call copies what it needs.
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
  layout::View origin{};               // data for the target; empty for gets and MPI_NO_OP
  layout::View result{};               // destination of the target's previous contents
  const std::byte* compare = nullptr;  // kCompareSwap: host memory
  int rank = 0;
  Count displacement = 0;  // displacement in the target's units
  Count count = 0;
  layout::Datatype* type = nullptr;     // type of the target's elements
  const layout::Op* op = nullptr;       // accumulates
  layout::Datatype* element = nullptr;  // accumulates: predefined type of all elements

  [[nodiscard]] bool has_result() const noexcept {
    return kind == OperationKind::kGet || kind == OperationKind::kGetAccumulate || kind == OperationKind::kCompareSwap;
  }
  [[nodiscard]] std::size_t target_bytes() const noexcept {
    return static_cast<std::size_t>(count) * static_cast<std::size_t>(type->size());
  }
};

// Returns the predefined operation of a kind.
[[nodiscard]] const layout::Op* op_of(layout::OpKind kind) noexcept;

// Errors: MPI_ERR_RMA_RANGE if the operation's part is not entirely in the target's memory. Returns kOk in dynamic
// windows, where the origin cannot determine that. Data may be before the displacement.
Status check_range(const Operation& operation, const Window& window, const Member& member);
// For the target: finds the operation's part of this process's memory, and checks it.
Status locate(Window& window, const Operation& operation, layout::View* target);

// Returns the target's part as a view at its address in the target process.
[[nodiscard]] layout::View view_of_target(Window& window, const Operation& operation);

// --- Execution. The operation is complete on return, except from start_by_network() and start_by_message() ---

// Executes the operation on memory that this process owns or has mapped.
Status execute_locally(Window& window, Operation& operation);
// Executes kPut and kGet with system calls. Returns Status::again() if the system does not permit it; the operation
// then has to use messages.
Status execute_by_system(Window& window, Operation& operation);
// Puts and gets contiguous host memory (network.hpp). Returns Status::again() if the operation has to use messages.
// Here and below, *request receives a reference, which the caller owns; `request` may be null. Buffers and types must
// stay valid until the operation is complete.
Status start_by_network(Window& window, Operation& operation, p2p::Request** request);
Status start_by_message(Window& window, Operation& operation, p2p::Request** request);

}  // namespace hr::rma
