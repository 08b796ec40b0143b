// A libucp.so.0 that calls the real one, and claims to support the memory of the fake CUDA driver (tests/fake_cuda): it
// passes on the host memory that represents such memory. With FAKE_UCX_NETWORK=NAME it reports TCP as a network of that
// name, with FAKE_UCX_OLD=1 version 1.13. With FAKE_UCX_LATE=N puts and gets start after N rounds of progress, the last
// one first, and a flush waits for them. All other functions are the real library's, on which it depends.
// HEADRACE_UCX_DIR names its directory. Threads: those of the caller, one at a time.
#include <dlfcn.h>
#include <ucp/api/ucp.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unordered_set>
#include <utility>
#include <vector>

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

// An operation that has not started yet, and the request that the caller has for it.
struct Late {
  enum class Kind : std::uint8_t { kPut, kGet, kFlush } kind;
  ucp_ep_h endpoint;
  void* buffer;
  std::size_t bytes;
  std::uint64_t address;
  ucp_rkey_h key;
  ucp_request_param_t how;
  unsigned rounds = 0;
};

unsigned delay() {
  static const unsigned rounds = [] {
    const char* const text = std::getenv("FAKE_UCX_LATE");
    return text == nullptr ? 0U : static_cast<unsigned>(std::strtoul(text, nullptr, 10));
  }();
  return rounds;
}

std::vector<Late*> waiting;          // late operations in the order of their calls
std::unordered_set<void*> requests;  // requests that this library has returned

ucs_status_ptr_t hold(const Late& late) {
  Late* const held = new Late(late);
  requests.insert(held);
  waiting.push_back(held);
  return held;
}

void end(Late* late, ucs_status_t status) { late->how.cb.send(late, status, late->how.user_data); }

void start(Late* late);

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

ucs_status_ptr_t ucp_put_nbx(ucp_ep_h endpoint, const void* buffer, size_t bytes, std::uint64_t address, ucp_rkey_h key,
                             const ucp_request_param_t* how) {
  static const auto put = real(&ucp_put_nbx, "ucp_put_nbx");
  if (delay() == 0) return put(endpoint, buffer, bytes, address, key, how);
  return hold({Late::Kind::kPut, endpoint, const_cast<void*>(buffer), bytes, address, key, *how});
}

ucs_status_ptr_t ucp_get_nbx(ucp_ep_h endpoint, void* buffer, size_t bytes, std::uint64_t address, ucp_rkey_h key,
                             const ucp_request_param_t* how) {
  static const auto get = real(&ucp_get_nbx, "ucp_get_nbx");
  if (delay() == 0) return get(endpoint, buffer, bytes, address, key, how);
  return hold({Late::Kind::kGet, endpoint, buffer, bytes, address, key, *how});
}

ucs_status_ptr_t ucp_ep_flush_nbx(ucp_ep_h endpoint, const ucp_request_param_t* how) {
  static const auto flush = real(&ucp_ep_flush_nbx, "ucp_ep_flush_nbx");
  const bool waits = std::ranges::any_of(waiting, [&](const Late* each) { return each->endpoint == endpoint; });
  return waits ? hold({Late::Kind::kFlush, endpoint, nullptr, 0, 0, nullptr, *how}) : flush(endpoint, how);
}

void ucp_get_version(unsigned* major, unsigned* minor, unsigned* release) {
  static const auto version = real(&ucp_get_version, "ucp_get_version");
  version(major, minor, release);
  if (std::getenv("FAKE_UCX_OLD") != nullptr) *minor = 13;
}

unsigned ucp_worker_progress(ucp_worker_h worker) {
  static const auto progress = real(&ucp_worker_progress, "ucp_worker_progress");
  unsigned moved = progress(worker);
  for (Late* each : waiting) ++each->rounds;
  if (waiting.empty() || waiting.front()->rounds < delay()) return moved;
  std::vector<Late*> due = std::exchange(waiting, {});
  std::ranges::reverse(due);
  std::ranges::stable_partition(due, [](const Late* each) { return each->kind != Late::Kind::kFlush; });
  for (Late* each : due) start(each);
  moved += static_cast<unsigned>(due.size());
  return moved;
}

ucs_status_t ucp_worker_arm(ucp_worker_h worker) {
  static const auto arm = real(&ucp_worker_arm, "ucp_worker_arm");
  return waiting.empty() ? arm(worker) : UCS_ERR_BUSY;
}

ucs_status_ptr_t ucp_ep_close_nbx(ucp_ep_h endpoint, const ucp_request_param_t* how) {
  static const auto close = real(&ucp_ep_close_nbx, "ucp_ep_close_nbx");
  std::vector<Late*> ended;
  std::erase_if(waiting, [&](Late* each) {
    if (each->endpoint == endpoint) ended.push_back(each);
    return each->endpoint == endpoint;
  });
  for (Late* each : ended) end(each, UCS_ERR_CANCELED);
  return close(endpoint, how);
}

void ucp_request_free(void* request) {
  static const auto release = real(&ucp_request_free, "ucp_request_free");
  if (requests.erase(request) == 0) return release(request);
  delete static_cast<Late*>(request);
}

}  // extern "C"
#pragma GCC visibility pop

namespace {

void start(Late* late) {
  static const auto put = real(&ucp_put_nbx, "ucp_put_nbx");
  static const auto get = real(&ucp_get_nbx, "ucp_get_nbx");
  static const auto flush = real(&ucp_ep_flush_nbx, "ucp_ep_flush_nbx");
  ucp_request_param_t how = late->how;
  how.user_data = late;
  how.cb.send = [](void* request, ucs_status_t status, void* argument) {
    static const auto release = real(&ucp_request_free, "ucp_request_free");
    release(request);
    end(static_cast<Late*>(argument), status);
  };
  ucs_status_ptr_t answer = nullptr;
  switch (late->kind) {
    case Late::Kind::kPut:
      answer = put(late->endpoint, late->buffer, late->bytes, late->address, late->key, &how);
      break;
    case Late::Kind::kGet:
      answer = get(late->endpoint, late->buffer, late->bytes, late->address, late->key, &how);
      break;
    case Late::Kind::kFlush:
      answer = flush(late->endpoint, &how);
      break;
  }
  if (!UCS_PTR_IS_PTR(answer)) end(late, answer == nullptr ? UCS_OK : UCS_PTR_STATUS(answer));
}

}  // namespace
