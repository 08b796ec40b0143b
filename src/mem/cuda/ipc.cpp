#include "mem/cuda/ipc.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "base/knobs.hpp"
#include "base/log.hpp"
#include "base/statistics.hpp"

namespace hr::mem::cuda {

struct Mapping {
  ContextHandle context = nullptr;
  std::uint64_t context_id = 0;
  int process = -1;
  std::uint64_t id = 0;
  DeviceAddress base = 0;
  std::uint64_t bytes = 0;
  std::uint64_t used = 0;  // order of use, for eviction
  int pins = 0;
  bool revoked = false;
};

namespace {

struct Exported {
  Export data;
  std::vector<int> processes;  // that have it
};

// A handful of live allocations carry a program's messages: searched in order, the last used first.
std::vector<Exported> exports;
ExportKeeper export_keeper;
std::vector<std::unique_ptr<Mapping>> mappings;
std::uint64_t uses = 0;

struct Refusal {
  ContextHandle context;
  std::uint64_t context_id;
  int process;
};
std::vector<Refusal> refusals;

bool gone(const Exported& exported) {
  std::uint64_t id = 0;
  const Result result = driver().pointer_get_attribute(&id, kAttributeBufferId, exported.data.base);
  return result != kSuccess || id != exported.data.id;
}

void close(const Mapping& mapping) noexcept {
  // The context may be gone, and its mappings with it; nothing else can be done about a failure.
  if (driver().context_push(mapping.context) != kSuccess) return;
  unsigned long long id = 0;
  const bool same = driver().context_id == nullptr ||
                    (driver().context_id(mapping.context, &id) == kSuccess && id == mapping.context_id);
  if (same) (void)driver().ipc_close_handle(mapping.base);
  ContextHandle popped = nullptr;
  (void)driver().context_pop(&popped);
}

template <class Predicate>
void close_if(const Predicate& predicate) {
  std::erase_if(mappings, [&](const std::unique_ptr<Mapping>& mapping) {
    if (mapping->pins != 0 || !predicate(*mapping)) return false;
    close(*mapping);
    subtract(Statistic::cuda_ipc_mappings);
    subtract(Statistic::cuda_ipc_mapped_bytes, mapping->bytes);
    return true;
  });
}

void make_room() {
  const auto limit = static_cast<std::size_t>(knobs().cuda_ipc_mappings);
  while (mappings.size() >= limit) {
    const Mapping* oldest = nullptr;
    for (const auto& mapping : mappings) {
      if (mapping->pins == 0 && (oldest == nullptr || mapping->used < oldest->used)) oldest = mapping.get();
    }
    if (oldest == nullptr) return;  // all in use: the bound gives way for as long as they are
    close_if([&](const Mapping& mapping) { return &mapping == oldest; });
    add(Statistic::cuda_ipc_evictions);
  }
}

bool refused_before(const Context& context, int process) {
  return std::any_of(refusals.begin(), refusals.end(), [&](const Refusal& refusal) {
    return refusal.context == context.handle() && refusal.context_id == context.id() && refusal.process == process;
  });
}

Status refuse(const Context& context, int process, Result result) {
  refusals.push_back({context.handle(), context.id(), process});
  static bool noted = false;
  log::note_once(noted,
                 "GPU memory of rank %d cannot be mapped on CUDA device %d (%s): their messages are staged through "
                 "pinned memory",
                 process, context.device(), error_text(result).name);
  return fail(Errc::kUnsupportedOperation, "cuIpcOpenMemHandle for memory of rank %d on CUDA device %d: %s", process,
              context.device(), error_text(result).name);
}

}  // namespace

Status export_to(int process, const Location& where, Export* out) {
  if (!where.is_device() || where.context == nullptr) {
    return fail(Errc::kUnsupportedOperation, "memory of a pool, of cuMemCreate or managed has no IPC handle");
  }
  auto known =
      std::find_if(exports.begin(), exports.end(), [&](const Exported& each) { return each.data.id == where.id; });
  if (known == exports.end()) {
    sweep_exports();
    Export made{where.id, where.base, where.bytes, {}};
    if (const Result result = driver().ipc_get_handle(&made.handle, where.base); result != kSuccess) {
      return fail(Errc::kUnsupportedOperation, "cuIpcGetMemHandle for %#zx: %s", static_cast<std::size_t>(where.base),
                  error_text(result).name);
    }
    if (exports.empty() && export_keeper.begin != nullptr) export_keeper.begin();
    exports.push_back({made, {}});
    known = std::prev(exports.end());
  }
  if (std::find(known->processes.begin(), known->processes.end(), process) == known->processes.end()) {
    known->processes.push_back(process);
  }
  *out = known->data;
  return kOk;
}

void set_export_keeper(const ExportKeeper& keeper) noexcept { export_keeper = keeper; }

void sweep_exports() {
  for (std::size_t i = 0; i < exports.size();) {
    if (!gone(exports[i])) {
      ++i;
      continue;
    }
    const Exported dead = std::move(exports[i]);
    exports.erase(exports.begin() + static_cast<std::ptrdiff_t>(i));
    if (export_keeper.revoke == nullptr) continue;
    for (const int process : dead.processes) export_keeper.revoke(process, dead.data.id);
  }
}

bool any_exports() noexcept { return !exports.empty(); }

DeviceAddress base_of(const Mapping& mapping) noexcept { return mapping.base; }

Status map_import(Context& context, int process, const Export& what, Mapping** mapping) {
  for (const auto& each : mappings) {
    if (each->id == what.id && each->process == process && each->context == context.handle() &&
        each->context_id == context.id() && !each->revoked) {
      each->used = ++uses;
      ++each->pins;
      add(Statistic::cuda_ipc_hits);
      *mapping = each.get();
      return kOk;
    }
  }
  if (refused_before(context, process)) {
    return fail(Errc::kUnsupportedOperation, "memory of rank %d cannot be mapped here", process);
  }
  make_room();
  auto made = std::make_unique<Mapping>();
  made->context = context.handle();
  made->context_id = context.id();
  made->process = process;
  made->id = what.id;
  Result result = driver().ipc_open_handle(&made->base, what.handle, kIpcLazyPeerAccess);
  if (result == kAlreadyMapped) {
    // Small allocations share blocks of memory, and this one's block is mapped for one that has been freed since.
    close_if([&](const Mapping& each) { return each.process == process && each.context == context.handle(); });
    result = driver().ipc_open_handle(&made->base, what.handle, kIpcLazyPeerAccess);
  }
  if (result == kAlreadyMapped) {
    return fail(Errc::kUnsupportedOperation, "memory beside that of rank %d is in use on CUDA device %d", process,
                context.device());
  }
  if (result != kSuccess) return refuse(context, process, result);
  made->used = ++uses;
  made->pins = 1;
  made->bytes = what.bytes;
  add(Statistic::cuda_ipc_misses);
  add(Statistic::cuda_ipc_mappings);
  add(Statistic::cuda_ipc_mapped_bytes, what.bytes);
  *mapping = made.get();
  mappings.push_back(std::move(made));
  return kOk;
}

void unpin(Mapping* mapping) noexcept {
  if (--mapping->pins == 0 && mapping->revoked) {
    close_if([&](const Mapping& each) { return &each == mapping; });
  }
}

void revoke_import(int process, std::uint64_t id) noexcept {
  for (const auto& mapping : mappings) {
    if (mapping->process != process || mapping->id != id || mapping->revoked) continue;
    mapping->revoked = true;
    add(Statistic::cuda_ipc_revocations);
  }
  close_if([](const Mapping& mapping) { return mapping.revoked; });
}

void release_ipc() noexcept {
  close_if([](const Mapping&) { return true; });
  for (const auto& pinned : mappings) {
    subtract(Statistic::cuda_ipc_mappings);
    subtract(Statistic::cuda_ipc_mapped_bytes, pinned->bytes);
  }
  mappings.clear();
  exports.clear();
  refusals.clear();
}

}  // namespace hr::mem::cuda
