// Checks for test programs of several ranks: a failed check prints rank, file, line and values, and ends the job with
// MPI_Abort, so that no other rank waits forever. Header only. For any thread that may call MPI_Abort.
#pragma once

#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>

namespace check {

inline int world_rank() {
  int rank = -1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}
inline int world_size() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

// True if all ranks are, or are declared to be, on one host. Collective.
inline bool one_host() {
  MPI_Comm here = MPI_COMM_NULL;
  int members = 0;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
  MPI_Comm_size(here, &members);
  MPI_Comm_free(&here);
  return members == world_size();
}

[[noreturn]] inline void fail(const char* file, int line, const std::string& what) {
  std::fprintf(stderr, "rank %d: %s:%d: %s\n", world_rank(), file, line, what.c_str());
  std::fflush(stderr);
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

template <class T>
std::string text(const T& value) {
  std::ostringstream out;
  if constexpr (std::is_same_v<T, char> || std::is_same_v<T, signed char> || std::is_same_v<T, unsigned char>) {
    out << static_cast<int>(value);
  } else {
    out << value;
  }
  return out.str();
}

template <class A, class B>
void equal(const char* file, int line, const char* what, const A& found, const B& wanted) {
  bool same;
  if constexpr (std::is_integral_v<A> && std::is_integral_v<B>) {
    same = std::cmp_equal(static_cast<std::conditional_t<std::is_signed_v<A>, long long, unsigned long long>>(found),
                          static_cast<std::conditional_t<std::is_signed_v<B>, long long, unsigned long long>>(wanted));
  } else {
    same = found == wanted;
  }
  if (!same) fail(file, line, std::string(what) + " is " + text(found) + ", not " + text(wanted));
}

inline std::string error_text(int code) {
  char message[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, message, &length);
  return std::string(message, static_cast<std::size_t>(length));
}
inline int error_class(int code) {
  int result = -1;
  MPI_Error_class(code, &result);
  return result;
}

inline void success(const char* file, int line, const char* call, int code) {
  if (code != MPI_SUCCESS) fail(file, line, std::string(call) + " returned " + error_text(code));
}

inline void raises(const char* file, int line, const char* call, int code, int wanted) {
  if (error_class(code) != wanted) {
    fail(file, line,
         std::string(call) + " returned class " + std::to_string(error_class(code)) + " (" + error_text(code) +
             "), not " + std::to_string(wanted) + " (" + error_text(wanted) + ")");
  }
}

// True if the library under test is Headrace, whose own features are checked only in that case.
inline bool headrace() {
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(version, &length);
  return std::string(version, static_cast<std::size_t>(length)).find("Headrace") != std::string::npos;
}

// Keeps MPI initialised from its construction to the end of main. Ends the job if it has too few ranks, or if MPI
// provides a lower thread level than asked for.
class Environment {
 public:
  Environment(int* argc, char*** argv, int least_ranks = 1, int thread_level = MPI_THREAD_SINGLE) {
    int provided = 0;
    MPI_Init_thread(argc, argv, thread_level, &provided);
    rank = world_rank();
    size = world_size();
    if (provided < thread_level) fail(__FILE__, __LINE__, "thread level is less than asked for");
    if (size < least_ranks) fail(__FILE__, __LINE__, "requires at least " + std::to_string(least_ranks) + " ranks");
  }
  ~Environment() {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) std::printf("ok\n");
    MPI_Finalize();
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

  int rank, size;
};

}  // namespace check

#define CHECK(condition)                                                          \
  do {                                                                            \
    if (!(condition)) ::check::fail(__FILE__, __LINE__, "not true: " #condition); \
  } while (false)
#define CHECK_EQ(found, wanted) ::check::equal(__FILE__, __LINE__, #found, (found), (wanted))
#define CHECK_OK(call) ::check::success(__FILE__, __LINE__, #call, (call))
#define CHECK_CLASS(call, wanted) ::check::raises(__FILE__, __LINE__, #call, (call), (wanted))
