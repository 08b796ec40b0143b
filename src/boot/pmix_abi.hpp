// The part of PMIx that a client needs, as defined by the PMIx Standard (versions 4 and 5) and implemented by the
// libraries of these versions. The library (libpmix.so.2) is opened at run time, so its headers are not needed for the
// build. tests/unit/boot/pmix_abi_test.cpp compares these declarations with the header of an installed library, if
// there is one.
//
// Internal to boot/. Threads: see the functions.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hr::boot::pmix {

using Code = int;
inline constexpr Code kSuccess = 0;
inline constexpr Code kLostConnection = -61;  // the process has lost the connection to its daemon
inline constexpr Code kDoneAtOnce = -157;     // returned by a call that begins an operation: already completed
                                              // successfully

using Rank = std::uint32_t;
inline constexpr Rank kJob = UINT32_MAX - 1;  // represents all ranks of a job, and the job itself

// A process of a job.
struct Proc {
  char nspace[256];  // the job's name
  Rank rank;
};
static_assert(sizeof(Proc) == 260);

// Types of values.
inline constexpr std::uint16_t kBool = 1;
inline constexpr std::uint16_t kString = 3;
inline constexpr std::uint16_t kSize = 4;
inline constexpr std::uint16_t kInt = 6;
inline constexpr std::uint16_t kInt32 = 9;
inline constexpr std::uint16_t kUint = 11;
inline constexpr std::uint16_t kUint16 = 13;
inline constexpr std::uint16_t kUint32 = 14;
inline constexpr std::uint16_t kUint64 = 15;

struct Value {
  std::uint16_t type;
  union {
    bool flag;
    char* string;
    std::size_t size;
    int integer;
    std::uint16_t uint16;
    std::uint32_t uint32;
    std::uint64_t uint64;
    struct {
      void* words[3];
    } largest;
  } data;
};
static_assert(sizeof(Value) == 32 && offsetof(Value, data) == 8);

// An attribute of a call.
struct Info {
  char key[512];
  std::uint32_t flags;
  Value value;
};
static_assert(sizeof(Info) == 552 && offsetof(Info, flags) == 512 && offsetof(Info, value) == 520);

// A value published under a name, and its publisher.
struct Published {
  Proc proc;
  char key[512];
  Value value;
};
static_assert(sizeof(Published) == 808 && offsetof(Published, key) == 260 && offsetof(Published, value) == 776);

// Scope of a value that all processes can read.
using Scope = std::uint8_t;
inline constexpr Scope kGlobal = 3;

// Keys of attributes of calls, and of the launcher's data about a job.
inline constexpr const char* kCollect = "pmix.collect";  // bool: a fence distributes the values of all processes
inline constexpr const char* kTimeout = "pmix.timeout";  // int: seconds, after which a call fails
inline constexpr const char* kJobSize = "pmix.job.size";
inline constexpr const char* kAppNumber = "pmix.appnum";
inline constexpr const char* kUniverseSize = "pmix.univ.size";

// Called by a thread of the PMIx library.
using Done = void (*)(Code status, void* data);

// Called by a thread of the PMIx library when a registered event has happened. Once the event has been handled, the
// function must call `handled` with `data`.
using Event = void (*)(std::size_t registration, Code status, const Proc* source, Info* info, std::size_t count,
                       Info* results, std::size_t result_count, void* handled, void* data);

using InitFunction = Code (*)(Proc* self, Info* info, std::size_t count);
using FinalizeFunction = Code (*)(const Info* info, std::size_t count);
using AbortFunction = Code (*)(int status, const char* message, Proc* procs, std::size_t count);
using PutFunction = Code (*)(Scope scope, const char* key, Value* value);
using CommitFunction = Code (*)();
// Begins a fence of `procs`; null: of all processes of this job.
using FenceFunction = Code (*)(const Proc* procs, std::size_t count, const Info* info, std::size_t infos, Done done,
                               void* data);
// The caller owns the value and the memory that it points to; both are from malloc().
using GetFunction = Code (*)(const Proc* proc, const char* key, const Info* info, std::size_t count, Value** value);
// Registers an event handler; blocks if there is no callback.
using RegisterFunction = Code (*)(Code* codes, std::size_t code_count, Info* info, std::size_t count, Event event,
                                  void* registered, void* data);
using PublishFunction = Code (*)(const Info* info, std::size_t count);
using UnpublishFunction = Code (*)(char** keys, const Info* info, std::size_t count);  // keys: null after the last
// The caller owns the memory that the values point to, which is from malloc().
using LookupFunction = Code (*)(Published* data, std::size_t count, const Info* info, std::size_t infos);
using ErrorStringFunction = const char* (*)(Code status);

}  // namespace hr::boot::pmix
