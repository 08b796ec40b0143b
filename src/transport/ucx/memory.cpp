#include "transport/ucx/memory.hpp"

#include <cstring>

namespace hr::transport::ucx {
namespace {

constexpr std::size_t kMostKeys = 4096;

std::uint64_t number_of(const RemoteKey& key) noexcept {
  std::uint64_t number;
  std::memcpy(&number, key.data, sizeof number);
  return number;
}

}  // namespace

// A pending operation with all its parts.
struct Memory::Pending {
  const Memory* memory;
  void* path;
  Operation* done;
  Key* key;              // null: a flush
  std::size_t left = 1;  // number of parts that have not ended, plus one while parts are being started
  ucs_status_t status = UCS_OK;
};

Memory::~Memory() {
  for (auto& [whose, key] : keys_) library_.rkey_destroy(key.key);
  for (auto& [number, memory] : exposed_) static_cast<void>(library_.mem_unmap(worker_.context(), memory));
}

Status Memory::expose(std::byte* address, std::size_t bytes, RemoteKey* key) {
  ucp_mem_map_params_t wanted{};
  wanted.field_mask =
      UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_MEMORY_TYPE;
  wanted.address = address;
  wanted.length = bytes;
  wanted.memory_type = UCS_MEMORY_TYPE_HOST;
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
    exposed_.emplace(next_++, memory);
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
  static_cast<void>(library_.mem_unmap(worker_.context(), found->second));
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

Status Memory::key_for(const To& to, const RemoteKey& key, Key** out) {
  const std::pair<int, std::uint64_t> whose{to.proc, number_of(key)};
  auto found = keys_.find(whose);
  if (found == keys_.end()) {
    if (keys_.size() >= kMostKeys) drop_unused();
    Key made;
    const bool whole = key.bytes > sizeof(std::uint64_t) && key.bytes <= RemoteKey::kMost;
    const ucs_status_t status = whole
                                    ? library_.ep_rkey_unpack(to.endpoint, key.data + sizeof(std::uint64_t), &made.key)
                                    : UCS_ERR_INVALID_PARAM;
    if (status != UCS_OK) {
      return fail(Errc::kUnsupportedOperation, "ucx: the key to memory of rank %d cannot be used: %s", to.proc,
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
  return parameters;
}

void Memory::end(Pending* pending, ucs_status_t status) {
  if (status != UCS_OK && pending->status == UCS_OK) pending->status = status;
  if (--pending->left != 0) return;
  const Pending ended = *pending;
  delete pending;
  if (ended.key != nullptr) --ended.key->uses;
  if (ended.status != UCS_OK) ended.memory->failed_(ended.path, ended.status);
  ended.done->end(ended.status == UCS_OK ? kOk : Status(Errc::kOther));
}

void Memory::ended(void* request, ucs_status_t status, void* argument) {
  auto* const pending = static_cast<Pending*>(argument);
  pending->memory->library_.request_free(request);
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
Status Memory::move(const To& to, const RemoteKey& key, std::span<const RemotePart> parts, Operation* done,
                    Start&& start) {
  Key* found = nullptr;
  HR_TRY(key_for(to, key, &found));
  auto* const pending = new Pending{this, to.path, done, found};
  ++found->uses;
  ucp_request_param_t how = parameters(pending);
  how.op_attr_mask |= UCP_OP_ATTR_FIELD_MEMORY_TYPE;
  how.memory_type = UCS_MEMORY_TYPE_HOST;
  for (const RemotePart& part : parts) {
    if (part.bytes != 0 && pending->status == UCS_OK) started(pending, start(part, found->key, how));
  }
  // The network has no such operation, or none for such memory; the path itself works.
  const bool refused = pending->status == UCS_ERR_UNSUPPORTED || pending->status == UCS_ERR_INVALID_PARAM;
  if (refused && pending->left == 1) {
    const ucs_status_t why = pending->status;
    --found->uses;
    delete pending;
    return fail(Errc::kUnsupportedOperation, "ucx: memory of rank %d: %s", to.proc, library_.status_string(why));
  }
  end(pending, UCS_OK);
  return kOk;
}

Status Memory::get(const To& to, const RemoteKey& key, std::span<const RemotePart> parts, Operation* done) {
  return move(to, key, parts, done, [&](const RemotePart& part, ucp_rkey_h remote, const ucp_request_param_t& how) {
    return library_.get_nbx(to.endpoint, part.local, part.bytes, part.address, remote, &how);
  });
}

Status Memory::put(const To& to, const RemoteKey& key, std::span<const RemotePart> parts, Operation* done) {
  return move(to, key, parts, done, [&](const RemotePart& part, ucp_rkey_h remote, const ucp_request_param_t& how) {
    return library_.put_nbx(to.endpoint, part.local, part.bytes, part.address, remote, &how);
  });
}

void Memory::flush(const To& to, Operation* done) {
  auto* const pending = new Pending{this, to.path, done, nullptr};
  const ucp_request_param_t how = parameters(pending);
  started(pending, library_.ep_flush_nbx(to.endpoint, &how));
  end(pending, UCS_OK);
}

}  // namespace hr::transport::ucx
