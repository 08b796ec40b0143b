// Faults on request: FAKE_CUDA_FAIL=call:n:code[,call:n:code...]; the call, named as in libcuda.so.1 (its suffix _v2
// may be omitted), fails with this CUDA error code from its n-th call in this process on. Errors of 700 and more leave
// the current context in an error state, as on hardware.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string>

#include "state.hpp"
#include "stream.hpp"

namespace fake_cuda {
namespace {

struct Fault {
  std::string call;
  std::uint64_t from = 1;
  Result code = kUnknown;
  std::atomic<std::uint64_t> calls{0};
};

// Returns the requested faults, which are constant after the first call.
const std::vector<std::unique_ptr<Fault>>& faults() {
  static const auto* all = [] {
    auto* made = new std::vector<std::unique_ptr<Fault>>;
    const char* list = std::getenv("FAKE_CUDA_FAIL");
    const std::string text = list == nullptr ? "" : list;
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find(',', begin), text.size());
      const std::string entry = text.substr(begin, end - begin);
      auto fault = std::make_unique<Fault>();
      const std::size_t first = std::min(entry.find(':'), entry.size());
      fault->call = without_version(entry.substr(0, first));
      if (first < entry.size()) {
        char* rest = nullptr;
        fault->from = std::strtoull(entry.c_str() + first + 1, &rest, 10);
        if (*rest == ':') fault->code = static_cast<Result>(std::strtol(rest + 1, nullptr, 10));
      }
      made->push_back(std::move(fault));
      begin = end + 1;
    }
    return made;
  }();
  return *all;
}

}  // namespace

std::string without_version(const std::string& call) {
  const auto suffix = call.rfind("_v2");
  return suffix != std::string::npos && suffix + 3 == call.size() ? call.substr(0, suffix) : call;
}

Result injected(const char* call) {
  count(call);
  wait_for_submissions(call);
  if (faults().empty()) return kSuccess;
  const std::string name = without_version(call);
  for (const auto& fault : faults()) {
    if (fault->call != name || fault->calls.fetch_add(1) + 1 < fault->from) continue;
    if (Context* context = current_context(); context != nullptr && fault->code >= 700 && fault->code < 720) {
      break_context(context, fault->code);
    }
    return fault->code;
  }
  return kSuccess;
}

}  // namespace fake_cuda
