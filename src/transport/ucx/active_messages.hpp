// UCX active messages: the kinds that this transport uses, and short strings that are sent in a message's header.
#pragma once

#include "transport/ucx/worker.hpp"

namespace hr::transport::ucx {

enum ActiveMessage : unsigned {
  kMessages,     // ucx.cpp
  kDisconnects,  // disconnects.hpp
};

// Calls `callback` for each message of that kind from now on. `flags`: UCP_AM_FLAG_*. Errors: MPI_ERR_OTHER with UCX's
// reason.
Status listen(const Library& library, const Worker& worker, ActiveMessage kind, unsigned flags,
              ucp_am_recv_callback_t callback, void* argument);

// Sends a string of plain bytes, copied by UCX, without waiting.
template <class Text>
ucs_status_t send_text(const Library& library, ucp_ep_h endpoint, ActiveMessage kind, const Text& text) {
  ucp_request_param_t how{};
  how.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  how.flags = UCP_AM_SEND_FLAG_COPY_HEADER | UCP_AM_SEND_FLAG_EAGER;
  const ucs_status_ptr_t answer = library.am_send_nbx(endpoint, kind, &text, sizeof text, nullptr, 0, &how);
  if (UCS_PTR_IS_PTR(answer)) library.request_free(answer);
  return UCS_PTR_IS_ERR(answer) ? UCS_PTR_STATUS(answer) : UCS_OK;
}

}  // namespace hr::transport::ucx
