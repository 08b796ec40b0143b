#include "job.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace fake_cuda::job {
namespace {

constexpr int kProcesses = 64, kDevices = 64, kExports = 8192;

struct Process {
  bool joined;  // perhaps dead since
  std::uint64_t used[kDevices];
  std::int32_t contexts[kDevices];
};
struct Exported {
  std::uint32_t serial;  // 0: free place
  std::int32_t exporter;
  std::int32_t device;
  bool freed;
  std::uint64_t bytes;
  std::uint64_t holders;  // one bit per process
};
static_assert(kProcesses <= 64);
struct Table {
  std::uint32_t last_serial;
  std::int32_t last_place;  // above: never used
  Process processes[kProcesses];
  Exported exports[kExports];
};

Table* table = nullptr;
int file = -1;
int self = -1;

// Byte kProcesses of the file is the table's mutex. A lock on byte i shows that process i is alive. The locks belong to
// this process's open file description and end with it.
struct flock bytes_of(int place, short type) {
  struct flock range = {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  range.l_start = place;
  range.l_len = 1;
  return range;
}
bool lock_byte(int place, int command) {
  struct flock range = bytes_of(place, F_WRLCK);
  return ::fcntl(file, command, &range) == 0;
}

class Lock {
 public:
  Lock() { (void)lock_byte(kProcesses, F_OFD_SETLKW); }
  ~Lock() {
    struct flock range = bytes_of(kProcesses, F_UNLCK);
    (void)::fcntl(file, F_OFD_SETLK, &range);
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
};

bool alive(int process) {
  if (process == self) return true;
  struct flock range = bytes_of(process, F_WRLCK);
  return ::fcntl(file, F_OFD_GETLK, &range) == 0 && range.l_type != F_UNLCK;
}

// Cleans up after a process: closes the exports that it had open, and frees its own.
void bury(int process) {
  table->processes[process] = {};
  for (Exported* entry = table->exports; entry <= table->exports + table->last_place; ++entry) {
    if (entry->serial == 0) continue;
    entry->holders &= ~(std::uint64_t{1} << process);
    if (entry->exporter == process) {
      entry->freed = true;
      entry->exporter = -1;
    }
  }
}

// Cleans up after processes that have ended, and drops exports no longer needed by any process.
void sweep() {
  for (int process = 0; process < kProcesses; ++process) {
    if (table->processes[process].joined && !alive(process)) bury(process);
  }
  for (Exported* entry = table->exports; entry <= table->exports + table->last_place; ++entry) {
    if (entry->serial != 0 && entry->freed && entry->holders == 0) *entry = {};
  }
}

std::uint64_t used_now(int device) {
  sweep();
  std::uint64_t sum = 0;
  for (const Process& process : table->processes) sum += process.used[device];
  for (const Exported* entry = table->exports; entry <= table->exports + table->last_place; ++entry) {
    if (entry->serial != 0 && entry->freed && entry->device == device) sum += entry->bytes;
  }
  return sum;
}

Exported* find(Export which) {
  if (which.place < 0 || which.place >= kExports || which.serial == 0) return nullptr;
  Exported* entry = &table->exports[which.place];
  return entry->serial == which.serial ? entry : nullptr;
}

// Returns the job's name; empty for a single-process job.
std::string job_name() {
  if (const char* shared = std::getenv("FAKE_CUDA_SHARED"); shared != nullptr) return shared;
  return std::getenv("PMI_RANK") == nullptr ? "" : "of launcher " + std::to_string(::getppid());
}

// Opens the memory file `name` of any process that has it open; -1 if none has.
int find_file(const std::string& name) {
  namespace fs = std::filesystem;
  const std::string link = "/memfd:" + name + " (deleted)";
  std::error_code ignored;  // processes end while we look
  for (fs::directory_iterator process("/proc", ignored), end; process != end; process.increment(ignored)) {
    if (!std::isdigit(static_cast<unsigned char>(process->path().filename().string()[0]))) continue;
    for (fs::directory_iterator entry(process->path() / "fd", ignored); entry != end; entry.increment(ignored)) {
      if (fs::read_symlink(entry->path(), ignored) != link) continue;
      if (const int found = ::open(entry->path().c_str(), O_RDWR | O_CLOEXEC); found >= 0) return found;
    }
  }
  return -1;
}

int make_file(const std::string& name) {
  const int made = ::memfd_create(name.c_str(), MFD_CLOEXEC);
  return made >= 0 && ::ftruncate(made, sizeof(Table)) == 0 ? made : -1;
}

// Looks for the table and creates it if it is missing; one process at a time, under a lock on this library's file.
int find_or_make_file(const std::string& job) {
  const std::string kind = maker() == Maker::kHip ? "fake_hip_job" : "fake_cuda_job";
  if (job.empty()) return make_file(kind);
  Dl_info info{};
  (void)::dladdr(reinterpret_cast<void*>(&find_or_make_file), &info);
  const int turn = ::open(info.dli_fname, O_RDONLY | O_CLOEXEC);
  if (turn < 0 || ::flock(turn, LOCK_EX) != 0) return -1;
  const std::string name = kind + " " + job;
  int found = find_file(name);
  if (found < 0) found = make_file(name);
  ::close(turn);
  return found;
}

bool claim_entry() {
  const Lock lock;
  for (int process = 0; process < kProcesses; ++process) {
    if (!lock_byte(process, F_OFD_SETLK)) continue;
    bury(process);  // the former owner of this place
    table->processes[process].joined = true;
    self = process;
    return true;
  }
  return false;
}

}  // namespace

Maker& maker() {
  static Maker instance = Maker::kCuda;
  return instance;
}

bool join() {
  if (self >= 0) return true;
  file = find_or_make_file(job_name());
  void* memory = file < 0 ? MAP_FAILED : ::mmap(nullptr, sizeof(Table), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory != MAP_FAILED) table = static_cast<Table*>(memory);
  if (table != nullptr && claim_entry()) return true;
  std::fprintf(stderr, "fake_cuda: %s\n",
               table == nullptr ? "no table for the processes of the job" : "more than 64 processes in a job");
  return false;
}

std::uint64_t identity() {
  struct stat status = {};
  return ::fstat(file, &status) == 0 ? status.st_ino : 0;
}

std::uint64_t used(int device) {
  const Lock lock;
  return used_now(device);
}

bool reserve(int device, std::uint64_t bytes, std::uint64_t limit) {
  const Lock lock;
  if (used_now(device) + bytes > limit) return false;
  table->processes[self].used[device] += bytes;
  return true;
}

void release(int device, std::uint64_t bytes) {
  const Lock lock;
  table->processes[self].used[device] -= bytes;
}

bool enter(int device, bool alone) {
  const Lock lock;
  sweep();
  for (int process = 0; process < kProcesses && alone; ++process) {
    if (process != self && table->processes[process].contexts[device] != 0) return false;
  }
  ++table->processes[self].contexts[device];
  return true;
}

void leave(int device) {
  const Lock lock;
  --table->processes[self].contexts[device];
}

Export publish(int device, std::uint64_t bytes) {
  const Lock lock;
  sweep();
  for (int place = 0; place < kExports; ++place) {
    Exported& entry = table->exports[place];
    if (entry.serial != 0) continue;
    entry = {++table->last_serial, self, device, false, bytes, 0};
    table->last_place = std::max(table->last_place, place);
    return {place, entry.serial};
  }
  return {};
}

bool retire(Export which, bool still_reserved) {
  const Lock lock;
  sweep();
  Exported* entry = find(which);
  if (entry == nullptr) return true;
  entry->freed = true;
  if (still_reserved) entry->bytes = 0;
  if (entry->holders != 0) return false;
  *entry = {};
  return true;
}

bool abandoned(Export which) {
  const Lock lock;
  sweep();
  return find(which) == nullptr;
}

bool open(Export which) {
  const Lock lock;
  Exported* entry = find(which);
  if (entry == nullptr || entry->freed) return false;
  entry->holders |= std::uint64_t{1} << self;
  return true;
}

void close(Export which) {
  const Lock lock;
  if (Exported* entry = find(which); entry != nullptr) entry->holders &= ~(std::uint64_t{1} << self);
}

}  // namespace fake_cuda::job
