// A libucp.so.0 in front of the real one that claims to support the memory of the fake CUDA driver (tests/fake_cuda):
// it passes such memory on as the host memory behind it. With FAKE_UCX_NETWORK=NAME it reports TCP as a network of that
// name. All other functions are the real library's, on which it depends. HEADRACE_UCX_DIR names its directory.
#include <dlfcn.h>
#include <ucp/api/ucp.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

template <class Function>
Function real(Function /*own*/, const char* name) {
  void* const found = ::dlsym(RTLD_NEXT, name);
  if (found == nullptr) {
    std::fprintf(stderr, "fake_ucx: the real library has no %s\n", name);
    std::abort();
  }
  return reinterpret_cast<Function>(found);
}

bool is_device(const ucp_request_param_t* how) {
  return (how->op_attr_mask & UCP_OP_ATTR_FIELD_MEMORY_TYPE) != 0 && how->memory_type == UCS_MEMORY_TYPE_CUDA;
}

const void* behind(const void* address) {
  using Alias = void* (*)(std::uint64_t);
  static const auto alias = [] {
    void* const driver = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    return driver != nullptr ? reinterpret_cast<Alias>(::dlsym(driver, "fake_cuda_alias")) : nullptr;
  }();
  if (alias == nullptr) {
    std::fprintf(stderr, "fake_ucx: device memory, and no fake driver in the process\n");
    std::abort();
  }
  return alias(reinterpret_cast<std::uint64_t>(address));
}

ucp_request_param_t of_host(const ucp_request_param_t* how) {
  ucp_request_param_t of_host = *how;
  of_host.memory_type = UCS_MEMORY_TYPE_HOST;
  return of_host;
}

}  // namespace

// Not hidden, unlike everything else built here.
#pragma GCC visibility push(default)
extern "C" {

ucs_status_t ucp_context_query(ucp_context_h context, ucp_context_attr_t* attributes) {
  static const auto query = real(&ucp_context_query, "ucp_context_query");
  const ucs_status_t status = query(context, attributes);
  if (status == UCS_OK && (attributes->field_mask & UCP_ATTR_FIELD_MEMORY_TYPES) != 0)
    attributes->memory_types |= std::uint64_t{1} << UCS_MEMORY_TYPE_CUDA;
  return status;
}

ucs_status_t ucp_ep_query(ucp_ep_h endpoint, ucp_ep_attr_t* attributes) {
  static const auto query = real(&ucp_ep_query, "ucp_ep_query");
  const ucs_status_t status = query(endpoint, attributes);
  const char* const name = std::getenv("FAKE_UCX_NETWORK");
  if (status != UCS_OK || name == nullptr || (attributes->field_mask & UCP_EP_ATTR_FIELD_TRANSPORTS) == 0)
    return status;
  for (unsigned i = 0; i < attributes->transports.num_entries; ++i) {
    ucp_transport_entry_t& entry = attributes->transports.entries[i];
    if (entry.transport_name != nullptr && std::strcmp(entry.transport_name, "tcp") == 0) entry.transport_name = name;
  }
  return status;
}

ucs_status_ptr_t ucp_am_send_nbx(ucp_ep_h endpoint, unsigned id, const void* header, size_t header_length,
                                 const void* buffer, size_t count, const ucp_request_param_t* how) {
  static const auto send = real(&ucp_am_send_nbx, "ucp_am_send_nbx");
  if (!is_device(how)) return send(endpoint, id, header, header_length, buffer, count, how);
  const ucp_request_param_t host = of_host(how);
  return send(endpoint, id, header, header_length, behind(buffer), count, &host);
}

ucs_status_ptr_t ucp_am_recv_data_nbx(ucp_worker_h worker, void* data, void* buffer, size_t count,
                                      const ucp_request_param_t* how) {
  static const auto receive = real(&ucp_am_recv_data_nbx, "ucp_am_recv_data_nbx");
  if (!is_device(how)) return receive(worker, data, buffer, count, how);
  const ucp_request_param_t host = of_host(how);
  return receive(worker, data, const_cast<void*>(behind(buffer)), count, &host);
}

}  // extern "C"
#pragma GCC visibility pop
