#include "mem/device/ipc.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/knobs.hpp"
#include "base/log.hpp"
#include "base/statistics.hpp"
#include "mem/device/chunk_export.hpp"
#include "mem/device/chunk_import.hpp"
#include "mem/device/deferred_free.hpp"
#include "mem/device/maker_list.hpp"
#include "mem/state.hpp"

namespace hr::mem::device {

struct Mapping {
  ContextHandle context = nullptr;
  std::uint64_t context_id = 0;
  int process = -1;
  std::uint64_t id = 0;
  DeviceAddress base = 0;
  std::uint64_t bytes = 0;
  MappedChunks chunks;     // empty: mapped by legacy IPC
  std::uint64_t used = 0;  // sequence number of the last use, for eviction
  int pins = 0;
  bool revoked = false;
};

namespace {

struct Exported {
  Export data;
  std::vector<int> processes;           // processes that have the Export
  std::unique_ptr<ChunkExport> chunks;  // null unless the memory is chunked

  [[nodiscard]] std::size_t questions() const noexcept { return chunks == nullptr ? 1 : chunks->count(); }
};
static_assert(sizeof(ChunkTableName) <= sizeof(IpcHandle));

// Maximum number of driver queries per sweep.
constexpr std::size_t kQuestionsASweep = 64;

struct Refusal {
  ContextHandle context;
  std::uint64_t context_id;
  int process;
  bool chunks;
};

struct State final : FileState {
  // A program's messages come from a handful of live allocations, so this is searched linearly.
  std::vector<Exported> exports;
  std::size_t next_swept = 0;
  std::uint64_t chunk_exports = 0;  // made so far
  struct Hidden {
    int process;
    Unmappable what;
  };
  std::vector<Hidden> hidden;  // processes that cannot map this memory of this process
  ExportHooks export_hooks;
  std::vector<std::unique_ptr<Mapping>> mappings;
  std::uint64_t uses = 0;
  std::vector<Refusal> refusals;
  bool refusal_noted = false;
  bool chunk_refusal_noted = false;
  bool maker_noted = false;
};
State& state() { return own<State>(); }

bool hides(int process, Unmappable what) noexcept {
  const auto& hidden = state().hidden;
  return std::any_of(hidden.begin(), hidden.end(), [&](const State::Hidden& each) {
    return each.process == process && (each.what == what || each.what == Unmappable::kAll);
  });
}

bool gone(const Exported& exported) {
  if (exported.chunks != nullptr) return exported.chunks->gone();
  std::uint64_t id = 0;
  const Result result = driver().pointer_get_attribute(&id, kAttributeBufferId, exported.data.base);
  return result != kSuccess || id != exported.data.id;
}

void close(const Mapping& mapping) noexcept {
  if (!mapping.chunks.chunks.empty()) return unmap_chunks(mapping.chunks);  // they belong to no context
  // The context may have been destroyed, and its mappings with it; failures are ignored.
  if (driver().context_push(mapping.context) != kSuccess) return;
  unsigned long long id = 0;
  const bool same = driver().context_id == nullptr ||
                    (driver().context_id(mapping.context, &id) == kSuccess && id == mapping.context_id);
  if (same) DeferredFrees::free(DeferredFrees::Kind::kImport, mapping.context, mapping.context_id, mapping.base);
  ContextHandle popped = nullptr;
  (void)driver().context_pop(&popped);
}

template <class Predicate>
void close_if(const Predicate& predicate) {
  std::erase_if(state().mappings, [&](const std::unique_ptr<Mapping>& mapping) {
    if (mapping->pins != 0 || !predicate(*mapping)) return false;
    close(*mapping);
    subtract(Statistic::device_ipc_mappings);
    subtract(Statistic::device_ipc_mapped_bytes, mapping->bytes);
    return true;
  });
}

void make_room() {
  const auto limit = static_cast<std::size_t>(knobs().device_ipc_mappings);
  const auto& mappings = state().mappings;
  while (mappings.size() >= limit) {
    const Mapping* oldest = nullptr;
    for (const auto& mapping : mappings) {
      if (mapping->pins == 0 && (oldest == nullptr || mapping->used < oldest->used)) oldest = mapping.get();
    }
    if (oldest == nullptr) return;  // all are in use, so the limit is exceeded for now
    close_if([&](const Mapping& mapping) { return &mapping == oldest; });
    add(Statistic::device_ipc_evictions);
  }
}

bool refused_before(const Context& context, int process, bool chunks) {
  const auto& refusals = state().refusals;
  return std::any_of(refusals.begin(), refusals.end(), [&](const Refusal& refusal) {
    return refusal.context == context.handle() && refusal.context_id == context.id() && refusal.process == process &&
           refusal.chunks == chunks;
  });
}

Status refuse(const Context& context, int process, Result result) {
  state().refusals.push_back({context.handle(), context.id(), process, false});
  log::note_once(state().refusal_noted,
                 "GPU memory of rank %d cannot be mapped on device %d (%s): their messages are staged through "
                 "pinned memory",
                 process, context.device(), error_text(result).name);
  return fail(Errc::kUnsupportedOperation, "opening memory of rank %d on device %d: %s", process, context.device(),
              error_text(result).name);
}

Status refuse_chunks(const Context& context, int process) {
  const std::string why = take_detail();
  state().refusals.push_back({context.handle(), context.id(), process, true});
  log::note_once(state().chunk_refusal_noted,
                 "GPU memory of rank %d that is put together from chunks cannot be mapped on device %d (%s): their "
                 "messages are staged",
                 process, context.device(), why.c_str());
  if (state().export_hooks.refuse != nullptr) state().export_hooks.refuse(process, Unmappable::kChunks);
  return fail(Errc::kUnsupportedOperation, "memory in chunks of rank %d on device %d: %s", process, context.device(),
              why.c_str());
}

// A driver that gets another maker's handle may do anything, so it must not be asked.
Status refuse_maker(int process, int maker) {
  const char *const theirs = maker_name(maker), *const ours = driver().names.maker;
  if (!hides(process, Unmappable::kAll)) {
    hide_from(process, Unmappable::kAll);  // our memory cannot be mapped there either
    if (state().export_hooks.refuse != nullptr) state().export_hooks.refuse(process, Unmappable::kAll);
  }
  log::note_once(state().maker_noted,
                 "rank %d uses %s devices, and this rank %s devices: messages between their GPU memory are staged "
                 "through pinned memory",
                 process, theirs, ours);
  return fail(Errc::kUnsupportedOperation, "memory of rank %d is on a %s device, and this rank uses %s devices",
              process, theirs, ours);
}

Status open_allocation(const Context& context, const Export& what, Mapping* made) {
  Result result = driver().ipc_open_handle(&made->base, what.handle, kIpcLazyPeerAccess);
  if (result == kAlreadyMapped) {
    // Small allocations share blocks of memory, and the block of this allocation is still mapped for another one, which
    // has been freed.
    close_if([&](const Mapping& each) {
      return each.process == made->process && each.context == context.handle() && each.chunks.chunks.empty();
    });
    result = driver().ipc_open_handle(&made->base, what.handle, kIpcLazyPeerAccess);
  }
  if (result == kAlreadyMapped) {
    return fail(Errc::kUnsupportedOperation, "memory beside that of rank %d is in use on device %d", made->process,
                context.device());
  }
  return result == kSuccess ? kOk : refuse(context, made->process, result);
}

Status open_chunks(const Context& context, const Export& what, Mapping* made) {
  ChunkTableName table;
  std::memcpy(&table, what.handle.bytes, sizeof table);
  bool never = false;
  if (const Status status = map_chunks(context, table, what.id, &made->chunks, &never); !status.ok()) {
    return never ? refuse_chunks(context, made->process) : status;
  }
  made->base = made->chunks.base;
  return kOk;
}

// Checks exports in turn, each at most once, until that many queries have been made.
void sweep(std::size_t questions) {
  auto& exports = state().exports;
  std::size_t& next = state().next_swept;
  const ExportHooks& hooks = state().export_hooks;
  for (std::size_t left = exports.size(); left > 0 && questions > 0; --left) {
    if (next >= exports.size()) next = 0;
    questions -= std::min(questions, exports[next].questions());
    if (!gone(exports[next])) {
      ++next;
      continue;
    }
    const Exported dead = std::move(exports[next]);
    exports.erase(exports.begin() + static_cast<std::ptrdiff_t>(next));
    if (hooks.revoke == nullptr) continue;
    for (const int process : dead.processes) hooks.revoke(process, dead.data.id);
  }
}

std::vector<Exported>::iterator find_export(const Location& where, const Range& range) {
  auto& exports = state().exports;
  return std::find_if(exports.begin(), exports.end(), [&](const Exported& each) {
    if (!where.chunks) return each.data.id == where.id;
    return each.chunks != nullptr && each.data.covers(range.begin, range.end) &&
           each.chunks->holds(range.begin, range.end, where.id);
  });
}

Status make_export(const Location& where, const Range& range, Exported* made) {
  const auto maker = static_cast<std::uint8_t>(driver().support);
  if (where.chunks) {
    const std::uint64_t id = Export::kChunks | ++state().chunk_exports;
    HR_TRY(ChunkExport::make(range.begin, range.end, id, &made->chunks));
    made->data = {id, made->chunks->base(), made->chunks->bytes(), maker, {}};
    const ChunkTableName name = made->chunks->name();
    std::memcpy(made->data.handle.bytes, &name, sizeof name);
    return kOk;
  }
  made->data = {where.id, where.base, where.bytes, maker, {}};
  Context* context = nullptr;
  HR_TRY(Context::of(where, &context));
  const Current current(*context);  // a progress thread has no current context
  HR_TRY(current.status());
  if (const Result result = driver().ipc_get_handle(&made->data.handle, where.base); result != kSuccess) {
    return fail(Errc::kUnsupportedOperation, "exporting memory at %#zx: %s", static_cast<std::size_t>(where.base),
                error_text(result).name);
  }
  return kOk;
}

}  // namespace

Status export_to(std::span<const int> processes, const Location& where, const Range& range, Export* out) {
  for (const int process : processes) {
    if (!exports_to(process, where)) {
      return fail(Errc::kUnsupportedOperation, "memory of a pool, managed, or that rank %d cannot map", process);
    }
  }
  auto& exports = state().exports;
  auto known = find_export(where, range);
  if (known == exports.end()) {
    if (!where.chunks) sweep(~std::size_t{0});
    Exported made;
    HR_TRY(make_export(where, range, &made));
    if (exports.empty() && state().export_hooks.begin != nullptr) state().export_hooks.begin();
    exports.push_back(std::move(made));
    known = std::prev(exports.end());
  }
  for (const int process : processes) {
    if (std::find(known->processes.begin(), known->processes.end(), process) == known->processes.end()) {
      known->processes.push_back(process);
    }
  }
  *out = known->data;
  return kOk;
}

Status export_to(int process, const Location& where, Export* out) {
  return export_to({&process, 1}, where, {where.base, where.base + where.bytes}, out);
}

bool exports_to(int process, const Location& where) noexcept {
  return where.is_device() && !where.managed && (where.context != nullptr || where.chunks) &&
         !hides(process, where.chunks ? Unmappable::kChunks : Unmappable::kAll);
}

void hide_from(int process, Unmappable what) {
  if (!hides(process, what)) state().hidden.push_back({process, what});
}

void set_export_hooks(const ExportHooks& hooks) noexcept { state().export_hooks = hooks; }

void sweep_exports() { sweep(kQuestionsASweep); }

bool any_exports() noexcept { return !state().exports.empty(); }

DeviceAddress base_of(const Mapping& mapping) noexcept { return mapping.base; }

Status map_import(Context& context, int process, const Export& what, Mapping** mapping) {
  if (what.maker != static_cast<unsigned>(driver().support)) [[unlikely]]
    return refuse_maker(process, static_cast<int>(what.maker));
  if (what.chunks()) add(Statistic::device_ipc_chunks);
  State& kept = state();
  for (const auto& each : kept.mappings) {
    if (each->id == what.id && each->process == process && each->context == context.handle() &&
        each->context_id == context.id() && !each->revoked) {
      each->used = ++kept.uses;
      ++each->pins;
      add(Statistic::device_ipc_hits);
      *mapping = each.get();
      return kOk;
    }
  }
  if (refused_before(context, process, what.chunks())) {
    return fail(Errc::kUnsupportedOperation, "memory of rank %d cannot be mapped here", process);
  }
  make_room();
  auto made = std::make_unique<Mapping>();
  made->context = context.handle();
  made->context_id = context.id();
  made->process = process;
  made->id = what.id;
  HR_TRY(what.chunks() ? open_chunks(context, what, made.get()) : open_allocation(context, what, made.get()));
  made->used = ++kept.uses;
  made->pins = 1;
  made->bytes = what.bytes;
  add(Statistic::device_ipc_misses);
  add(Statistic::device_ipc_mappings);
  add(Statistic::device_ipc_mapped_bytes, what.bytes);
  *mapping = made.get();
  kept.mappings.push_back(std::move(made));
  return kOk;
}

void unpin(Mapping* mapping) noexcept {
  if (--mapping->pins == 0 && mapping->revoked) {
    close_if([&](const Mapping& each) { return &each == mapping; });
  }
}

void revoke_import(int process, std::uint64_t id) noexcept {
  for (const auto& mapping : state().mappings) {
    if (mapping->process != process || mapping->id != id || mapping->revoked) continue;
    mapping->revoked = true;
    add(Statistic::device_ipc_revocations);
  }
  close_if([](const Mapping& mapping) { return mapping.revoked; });
}

void release_ipc() noexcept {
  close_if([](const Mapping&) { return true; });
  State& kept = state();
  for (const auto& pinned : kept.mappings) {
    subtract(Statistic::device_ipc_mappings);
    subtract(Statistic::device_ipc_mapped_bytes, pinned->bytes);
  }
  kept.mappings.clear();
  kept.exports.clear();
  kept.refusals.clear();
  kept.hidden.clear();
}

}  // namespace hr::mem::device
