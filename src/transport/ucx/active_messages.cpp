#include "transport/ucx/active_messages.hpp"

namespace hr::transport::ucx {

Status listen(const Library& library, const Worker& worker, ActiveMessage kind, unsigned flags,
              ucp_am_recv_callback_t callback, void* argument) {
  ucp_am_handler_param_t handler{};
  handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                       UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
  handler.id = kind;
  handler.flags = flags;
  handler.cb = callback;
  handler.arg = argument;
  const ucs_status_t status = library.worker_set_am_recv_handler(worker.get(), &handler);
  if (status == UCS_OK) return kOk;
  return fail(Errc::kOther, "ucx: no active messages: %s", library.status_string(status));
}

}  // namespace hr::transport::ucx
