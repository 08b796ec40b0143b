#include "transport/ucx/unpacking.hpp"

namespace hr::transport::ucx {
namespace {

// Returns the unpack state, which is the sink itself.
void* start(void* /*context*/, void* buffer, std::size_t /*count*/) { return buffer; }

void* start_packing(void* /*context*/, const void* /*buffer*/, std::size_t /*count*/) { return nullptr; }

std::size_t packed_bytes(void* state) { return static_cast<Sink*>(state)->bytes; }

std::size_t pack(void* /*state*/, std::size_t /*offset*/, void* /*to*/, std::size_t /*most*/) { return 0; }

ucs_status_t unpack(void* state, std::size_t offset, const void* from, std::size_t bytes) {
  auto& sink = *static_cast<Sink*>(state);
  sink.unpack(sink, offset, static_cast<const std::byte*>(from), bytes);
  return UCS_OK;
}

void finish(void* /*state*/) {}

constexpr ucp_generic_dt_ops_t kOperations = {start_packing, start, packed_bytes, pack, unpack, finish};

}  // namespace

Unpacking::~Unpacking() {
  if (type_ != 0) library_.dt_destroy(type_);
}

Status Unpacking::describe(Sink* into, ucp_request_param_t* how, void** buffer, std::size_t* count) {
  if (type_ == 0) {
    const ucs_status_t made = library_.dt_create_generic(&kOperations, nullptr, &type_);
    if (made != UCS_OK) {
      type_ = 0;
      return fail(Errc::kNoMem, "ucx: no datatype: %s", library_.status_string(made));
    }
  }
  how->op_attr_mask &= ~static_cast<std::uint32_t>(UCP_OP_ATTR_FIELD_MEMORY_TYPE);
  how->op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE;
  how->datatype = type_;
  *buffer = into;
  *count = 1;
  return kOk;
}

}  // namespace hr::transport::ucx
