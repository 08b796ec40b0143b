#include "transport/ucx/memory.hpp"

#include <cstring>

namespace hr::transport::ucx {
namespace {

constexpr std::size_t kMostKeys = 256;

}  // namespace

// A pending operation with all its parts.
struct Memory::Pending {
  Operation* done;
  Key* key;  // null: a flush
  const Library* library;
  std::size_t left = 1;  // number of parts that have not ended, plus one while parts are being started
  ucs_status_t status = UCS_OK;
};

std::uint64_t Memory::number_of(const RemoteKey& key) noexcept {
  std::uint64_t number;
  std::memcpy(&number, key.data, sizeof number);
  return number;
}

bool Memory::exposes(std::uint64_t number, std::uint64_t address, std::size_t bytes) const noexcept {
  const auto found = exposed_.find(number);
  if (found == exposed_.end() || found->second.device) return false;
  const Exposed& memory = found->second;
  return address >= memory.address && address - memory.address <= memory.bytes &&
         memory.bytes - (address - memory.address) >= bytes;
}

Memory::~Memory() {
  for (auto& [whose, key] : keys_) library_.rkey_destroy(key.key);
  for (auto& [number, memory] : exposed_) static_cast<void>(library_.mem_unmap(worker_.context(), memory.handle));
}

Status Memory::expose(std::byte* address, std::size_t bytes, bool device, RemoteKey* key) {
  if (device && !worker_.knows_device_memory()) return Errc::kUnsupportedOperation;
  ucp_mem_map_params_t wanted{};
  wanted.field_mask =
      UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_MEMORY_TYPE;
  wanted.address = address;
  wanted.length = bytes;
  wanted.memory_type = device ? UCS_MEMORY_TYPE_CUDA : UCS_MEMORY_TYPE_HOST;
  ucp_mem_h memory = nullptr;
  if (const ucs_status_t mapped = library_.mem_map(worker_.context(), &wanted, &memory); mapped != UCS_OK) {
    return fail(Errc::kNoMem, "ucx: %zu bytes of memory cannot be made reachable for others: %s", bytes,
                library_.status_string(mapped));
  }
  void* packed = nullptr;
  std::size_t packed_bytes = 0;
  ucs_status_t status = library_.rkey_pack(worker_.context(), memory, &packed, &packed_bytes);
  const std::size_t total = sizeof next_ + packed_bytes;
  if (status == UCS_OK && total <= RemoteKey::kMost) {
    key->bytes = static_cast<std::uint32_t>(total);
    std::memcpy(key->data, &next_, sizeof next_);
    std::memcpy(key->data + sizeof next_, packed, packed_bytes);
    exposed_.emplace(next_++, Exposed{memory, reinterpret_cast<std::uint64_t>(address), bytes, device});
  } else {
    static_cast<void>(library_.mem_unmap(worker_.context(), memory));
    if (status == UCS_OK) status = UCS_ERR_BUFFER_TOO_SMALL;
  }
  if (packed != nullptr) library_.rkey_buffer_release(packed);
  if (status == UCS_OK) return kOk;
  return fail(Errc::kNoMem, "ucx: no key of %zu bytes for others to reach memory of this process: %s", total,
              library_.status_string(status));
}

void Memory::withdraw(const RemoteKey& key) noexcept {
  const auto found = exposed_.find(number_of(key));
  if (found == exposed_.end()) return;
  static_cast<void>(library_.mem_unmap(worker_.context(), found->second.handle));
  exposed_.erase(found);
}

void Memory::forget(int proc) noexcept {
  for (auto at = keys_.lower_bound({proc, 0}); at != keys_.end() && at->first.first == proc; at = keys_.erase(at)) {
    library_.rkey_destroy(at->second.key);
  }
}

void Memory::drop_unused() noexcept {
  for (auto at = keys_.begin(); at != keys_.end();) {
    if (at->second.uses != 0) {
      ++at;
      continue;
    }
    library_.rkey_destroy(at->second.key);
    at = keys_.erase(at);
  }
}

Status Memory::key_for(int proc, ucp_ep_h endpoint, const RemoteKey& key, Key** out) {
  const std::pair<int, std::uint64_t> whose{proc, number_of(key)};
  auto found = keys_.find(whose);
  if (found == keys_.end()) {
    if (keys_.size() >= kMostKeys) drop_unused();
    Key made;
    const ucs_status_t status = library_.ep_rkey_unpack(endpoint, key.data + sizeof(std::uint64_t), &made.key);
    if (status != UCS_OK) {
      return fail(Errc::kOther, "ucx: the key to memory of rank %d cannot be used: %s", proc,
                  library_.status_string(status));
    }
    found = keys_.emplace(whose, made).first;
  }
  *out = &found->second;
  return kOk;
}

ucp_request_param_t Memory::parameters(Pending* pending) const noexcept {
  ucp_request_param_t parameters{};
  parameters.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  parameters.cb.send = ended;
  parameters.user_data = pending;
  if (!worker_.knows_device_memory()) {
    parameters.op_attr_mask |= UCP_OP_ATTR_FIELD_MEMORY_TYPE;
    parameters.memory_type = UCS_MEMORY_TYPE_HOST;
  }
  return parameters;
}

void Memory::end(Pending* pending, ucs_status_t status) {
  if (status != UCS_OK && pending->status == UCS_OK) pending->status = status;
  if (--pending->left != 0) return;
  if (pending->key != nullptr) --pending->key->uses;
  pending->done->status = pending->status == UCS_OK ? kOk : Status(Errc::kOther);
  pending->done->complete = true;
  delete pending;
}

void Memory::ended(void* request, ucs_status_t status, void* argument) {
  auto* const pending = static_cast<Pending*>(argument);
  pending->library->request_free(request);
  end(pending, status);
}

void Memory::started(Pending* pending, ucs_status_ptr_t answer) {
  if (UCS_PTR_IS_PTR(answer)) {
    ++pending->left;
  } else if (UCS_PTR_IS_ERR(answer) && pending->status == UCS_OK) {
    pending->status = UCS_PTR_STATUS(answer);
  }
}

template <class Start>
Status Memory::move(int proc, ucp_ep_h endpoint, const RemoteKey& key, std::span<const RemotePart> parts,
                    Operation* done, Start&& start) {
  Key* found = nullptr;
  HR_TRY(key_for(proc, endpoint, key, &found));
  ++found->uses;
  auto* const pending = new Pending{done, found, &library_};
  const ucp_request_param_t how = parameters(pending);
  for (const RemotePart& part : parts) {
    if (part.bytes != 0) started(pending, start(part, found->key, how));
  }
  end(pending, UCS_OK);
  return kOk;
}

Status Memory::get(int proc, ucp_ep_h endpoint, const RemoteKey& key, std::span<const RemotePart> parts,
                   Operation* done) {
  return move(proc, endpoint, key, parts, done,
              [&](const RemotePart& part, ucp_rkey_h remote, const ucp_request_param_t& how) {
                return library_.get_nbx(endpoint, part.local, part.bytes, part.address, remote, &how);
              });
}

Status Memory::put(int proc, ucp_ep_h endpoint, const RemoteKey& key, std::span<const RemotePart> parts,
                   Operation* done) {
  return move(proc, endpoint, key, parts, done,
              [&](const RemotePart& part, ucp_rkey_h remote, const ucp_request_param_t& how) {
                return library_.put_nbx(endpoint, part.local, part.bytes, part.address, remote, &how);
              });
}

void Memory::flush(ucp_ep_h endpoint, Operation* done) {
  auto* const pending = new Pending{done, nullptr, &library_};
  ucp_request_param_t how = parameters(pending);
  how.op_attr_mask &= ~static_cast<std::uint32_t>(UCP_OP_ATTR_FIELD_MEMORY_TYPE);
  started(pending, library_.ep_flush_nbx(endpoint, &how));
  end(pending, UCS_OK);
}

}  // namespace hr::transport::ucx
