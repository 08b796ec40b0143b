#include "mem/device/chunk_export.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "mem/state.hpp"

namespace hr::mem::device {

struct ChunkExport::Chunk {
  DeviceAddress base = 0;
  std::uint64_t bytes = 0;
  std::uint64_t id = 0;  // the driver's buffer id
  int descriptor = -1;

  Chunk() = default;
  ~Chunk();
  Chunk(const Chunk&) = delete;
  Chunk& operator=(const Chunk&) = delete;
  [[nodiscard]] DeviceAddress end() const noexcept { return base + bytes; }
  [[nodiscard]] bool there() const noexcept {
    std::uint64_t now = 0;
    return driver().pointer_get_attribute(&now, kAttributeBufferId, base) == kSuccess && now == id;
  }
};

namespace {

constexpr std::size_t kMostDescriptors = 512;

constexpr std::size_t kTables = 512;

struct Free {
  void operator()(void* memory) const noexcept { std::free(memory); }
};
struct State final : FileState {
  // Other processes may read these at any time; a table in use has a nonzero id. Pages that are never touched take no
  // memory.
  std::unique_ptr<ChunkTable[], Free> tables{static_cast<ChunkTable*>(std::calloc(kTables, sizeof(ChunkTable)))};
  std::size_t open_descriptors = 0;
  std::uint64_t stamp = 0;
  std::vector<std::weak_ptr<ChunkExport::Chunk>> chunks;  // ranges that overlap share descriptors
};
State& state() { return own<State>(); }

// Returns a limit that leaves most of the process's descriptors to the program.
std::size_t most_descriptors() noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kMostDescriptors;
  return std::min<std::size_t>(kMostDescriptors, limit.rlim_cur / 4);
}

std::uint64_t own_stamp() noexcept {
  std::uint64_t& stamp = state().stamp;
  if (stamp == 0 && ::getrandom(&stamp, sizeof stamp, GRND_NONBLOCK) != sizeof stamp) {
    stamp = static_cast<std::uint64_t>(::getpid()) << 32 | (reinterpret_cast<std::uintptr_t>(&stamp) >> 12);
  }
  return stamp;
}

ChunkTable* free_table() noexcept {
  ChunkTable* const first = state().tables.get();
  if (first == nullptr) return nullptr;
  ChunkTable* const end = first + kTables;
  ChunkTable* const found = std::find_if(first, end, [](const ChunkTable& table) { return table.id == 0; });
  return found == end ? nullptr : found;
}

void set_id(ChunkTable& table, std::uint64_t id) noexcept {
  std::atomic_ref(table.id).store(id, std::memory_order_seq_cst);
}

Status not_exported(const char* why, DeviceAddress at) {
  return fail(Errc::kUnsupportedOperation, "memory in chunks at %#llx is not exported: %s", at, why);
}

// Finds the chunk that contains an address; false if the driver reports none. Drivers differ in which pair of
// attributes describes the chunk and which describes the whole reservation; the smaller range is the chunk.
bool chunk_at(DeviceAddress address, DeviceAddress* base, std::uint64_t* bytes) noexcept {
  constexpr int kAnswers[][2] = {{kAttributeMappingBase, kAttributeMappingSize},
                                 {kAttributeRangeStart, kAttributeRangeSize}};
  *bytes = 0;
  for (const auto& [base_attribute, bytes_attribute] : kAnswers) {
    DeviceAddress start = 0;
    std::size_t size = 0;
    if (driver().pointer_get_attribute(&start, base_attribute, address) != kSuccess ||
        driver().pointer_get_attribute(&size, bytes_attribute, address) != kSuccess)
      continue;
    if (address < start || address - start >= size || (*bytes != 0 && size >= *bytes)) continue;
    *base = start;
    *bytes = size;
  }
  return *bytes != 0;
}

}  // namespace

ChunkExport::Chunk::~Chunk() {
  if (descriptor < 0) return;
  ::close(descriptor);
  --state().open_descriptors;
}

Status ChunkExport::open(DeviceAddress address, std::shared_ptr<Chunk>* chunk) {
  auto& known = state().chunks;
  auto made = std::make_shared<Chunk>();
  if (!chunk_at(address, &made->base, &made->bytes) ||
      driver().pointer_get_attribute(&made->id, kAttributeBufferId, made->base) != kSuccess)
    return not_exported("it is not mapped", address);
  std::erase_if(known, [](const auto& each) { return each.expired(); });
  for (const auto& each : known) {
    *chunk = each.lock();
    if ((*chunk)->base == made->base && (*chunk)->bytes == made->bytes && (*chunk)->id == made->id) return kOk;
  }
  if (state().open_descriptors >= most_descriptors()) return not_exported("too many descriptors are open", address);
  const Result result = driver().chunk_export(&made->descriptor, address);
  if (result != kSuccess) {
    made->descriptor = -1;
    return not_exported(error_text(result).name, address);
  }
  ++state().open_descriptors;
  (void)::fcntl(made->descriptor, F_SETFD, FD_CLOEXEC);
  known.push_back(made);
  *chunk = std::move(made);
  return kOk;
}

Status ChunkExport::make(DeviceAddress begin, DeviceAddress end, std::uint64_t id, std::unique_ptr<ChunkExport>* made) {
  if (!driver().has_chunks) return not_exported("the driver cannot", begin);
  DeviceAddress first = 0;
  std::uint64_t bytes = 0;
  // Fails early if there are too many chunks, on the assumption that all have the same size.
  if (chunk_at(begin, &first, &bytes) && (end - first - 1) / bytes >= kMostChunks)
    return not_exported("too many chunks", begin);
  ChunkTable* const table = free_table();
  if (table == nullptr) return not_exported("too many ranges are", begin);
  std::unique_ptr<ChunkExport> range(new ChunkExport);
  for (DeviceAddress at = begin; at < end; at = range->chunks_.back()->end()) {
    if (range->chunks_.size() == kMostChunks) return not_exported("too many chunks", begin);
    std::shared_ptr<Chunk> chunk;
    HR_TRY(open(at, &chunk));
    if (at != begin && chunk->base != at) return not_exported("the chunks overlap", at);
    table->chunks[range->chunks_.size()] = {chunk->bytes, chunk->descriptor};
    range->chunks_.push_back(std::move(chunk));
  }
  range->table_ = table;
  table->stamp = own_stamp();
  table->count = range->chunks_.size();
  set_id(*table, id);
  *made = std::move(range);
  return kOk;
}

ChunkExport::~ChunkExport() {
  // Withdraws the table before any of its descriptors is closed.
  if (table_ != nullptr) set_id(*table_, 0);
}

DeviceAddress ChunkExport::base() const noexcept { return chunks_.front()->base; }

std::uint64_t ChunkExport::bytes() const noexcept { return chunks_.back()->end() - base(); }

ChunkTableName ChunkExport::name() const noexcept {
  return {reinterpret_cast<std::uintptr_t>(table_), table_->stamp, ::getpid()};
}

bool ChunkExport::holds(DeviceAddress begin, DeviceAddress end, std::uint64_t first) const noexcept {
  const Chunk& front = *chunks_.front();
  const Chunk& back = *chunks_.back();
  if (begin < front.base || begin >= front.end() || end <= back.base || end > back.end()) return false;
  return (front.id == first || front.there()) &&
         std::all_of(chunks_.begin() + 1, chunks_.end(), [](const auto& chunk) { return chunk->there(); });
}

bool ChunkExport::gone() const noexcept {
  return std::any_of(chunks_.begin(), chunks_.end(), [](const auto& chunk) { return !chunk->there(); });
}

}  // namespace hr::mem::device
