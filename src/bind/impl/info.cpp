// Info objects (MPI 5.0 chapter 10).
#include "comm/info.hpp"

#include <algorithm>
#include <cstring>

#include "base/abi.hpp"
#include "bind/impl.hpp"

namespace hr::bind::impl {

namespace {

Status check_live(const comm::Info* info) { return info != nullptr ? kOk : fail(Errc::kInfo, "info is MPI_INFO_NULL"); }

Status check_writable(const comm::Info* info) {
  HR_TRY(check_live(info));
  return info->is_predefined() ? fail(Errc::kInfo, "MPI_INFO_ENV cannot be changed") : kOk;
}

Status made(const Ref<comm::Info>& info) {
  return info ? kOk : fail(Errc::kNoMem, "no memory for another info object: free those no longer needed");
}

// Copies at most `capacity` characters including the terminator; none if `capacity` is 0.
void copy_out(const std::string& text, int capacity, char* out) {
  if (capacity <= 0) return;
  const std::size_t length = std::min(text.size(), static_cast<std::size_t>(capacity) - 1);
  std::memcpy(out, text.data(), length);
  out[length] = '\0';
}

}  // namespace

Status info_create(Ref<comm::Info>& info) {
  info = comm::create_info();
  return made(info);
}

Status info_create_env(int argc, char** argv, Ref<comm::Info>& info) {
  info = comm::create_info_env(argc, argv);
  return made(info);
}

Status info_dup(comm::Info* info, Ref<comm::Info>& newinfo) {
  HR_TRY(check_live(info));
  newinfo = info->dup();
  return made(newinfo);
}

Status info_free(comm::Info& info) {
  if (info.is_predefined()) return fail(Errc::kInfo, "MPI_INFO_ENV cannot be freed");
  release(&info);
  return kOk;
}

Status info_set(comm::Info* info, const char* key, const char* value) {
  HR_TRY(check_writable(info));
  return info->set(key, value);
}

Status info_delete(comm::Info* info, const char* key) {
  HR_TRY(check_writable(info));
  return info->erase(key);
}

Status info_get(comm::Info* info, const char* key, int valuelen, char* value, int& flag) {
  HR_TRY(check_live(info));
  HR_TRY(comm::check_info_key(key));
  if (valuelen < 0) return fail(Errc::kArg, "valuelen is %d: must not be negative", valuelen);
  const std::string* found = info->get(key);
  flag = found != nullptr ? 1 : 0;
  // valuelen does not count the terminator (deprecated since MPI 4.0).
  if (found != nullptr) copy_out(*found, std::min(valuelen, abi::kMaxInfoVal) + 1, value);
  return kOk;
}

Status info_get_string(comm::Info* info, const char* key, int& buflen, char* value, int& flag) {
  HR_TRY(check_live(info));
  HR_TRY(comm::check_info_key(key));
  if (buflen < 0) return fail(Errc::kArg, "buflen is %d: must not be negative", buflen);
  const std::string* found = info->get(key);
  flag = found != nullptr ? 1 : 0;
  if (found == nullptr) return kOk;
  copy_out(*found, buflen, value);
  buflen = static_cast<int>(found->size()) + 1;
  return kOk;
}

Status info_get_valuelen(comm::Info* info, const char* key, int& valuelen, int& flag) {
  HR_TRY(check_live(info));
  HR_TRY(comm::check_info_key(key));
  const std::string* found = info->get(key);
  flag = found != nullptr ? 1 : 0;
  if (found != nullptr) valuelen = static_cast<int>(found->size());
  return kOk;
}

Status info_get_nkeys(comm::Info* info, int& nkeys) {
  HR_TRY(check_live(info));
  nkeys = info->size();
  return kOk;
}

Status info_get_nthkey(comm::Info* info, int n, char* key) {
  HR_TRY(check_live(info));
  if (n < 0 || n >= info->size())
    return fail(Errc::kArg, "there is no key number %d: the info has %d", n, info->size());
  copy_out(info->key(n), abi::kMaxInfoKey, key);
  return kOk;
}

}  // namespace hr::bind::impl
