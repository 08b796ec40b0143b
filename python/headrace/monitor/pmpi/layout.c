/* A page of counters in the form of docs/counters.md, filled in through the profiling interface of any MPI.
 *
 * The page is a memory file that others find at /proc/<process>/fd; it ends with the process. It is made when MPI_Init
 * has returned; nothing is counted before, or where HEADRACE_COUNTERS is "off". HEADRACE_PMPI_SAVE names a directory
 * where MPI_Finalize leaves it as a file. MPI calls that the MPI library makes within a call are not counted. Threads:
 * any; sums are added to atomically (relaxed), the current activity is that of the last call. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <mpi.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define HR_ROWS_MOST 1024 /* limit of the peers that have their own rows */
#define HR_SIZES 64
#define HR_MARKS 64
#define HR_REQUESTS 4096 /* limit of the persistent sends that are remembered */
#define HR_NAME 96
#define HR_TEXT (1 << 16)
#define HR_DURATIONS 32 /* classes of durations; class 0: less than HR_SHORTEST ns, n: less than HR_SHORTEST << n */
#define HR_SHORTEST 64

typedef uint64_t hr_value;

struct hr_head {
  char magic[8];
  uint32_t version, state;
  hr_value bytes, text_at, text_bytes, begun, ended;
};

struct hr_function {
  hr_value calls, time, bytes, wait;
};

struct hr_peer {
  hr_value process, messages, bytes, waits, wait;
};

struct hr_mark {
  hr_value time, level;
};

struct hr_page {
  struct hr_head head;
  hr_value now_function, waiting_since, waiting_for;
  hr_value waits, waited, longest;
  hr_value marks;
  struct hr_mark mark[HR_MARKS];
  hr_value sizes[HR_SIZES];
  struct hr_function functions[HR_FUNCTIONS];
  struct hr_peer peers[]; /* the last row is for all peers without one; the text and the durations follow */
};

/* Calls of each function by duration. */
struct hr_durations {
  hr_value functions[HR_FUNCTIONS]; /* number of each row's function: its own */
  hr_value counts[HR_FUNCTIONS][HR_DURATIONS];
};

struct hr_call {
  int function; /* 0 within another call, or if it is not counted */
  int waits;
  int peer; /* a row; -1 if it waits for no single peer */
  hr_value began;
};

struct hr_request {
  MPI_Request request;
  int peer; /* -2: free */
  hr_value bytes;
};

static struct hr_page* hr_shared;
static struct hr_durations* hr_durations;
static char hr_name[HR_NAME + 40]; /* name of the page */
static int hr_size, hr_rows;
static int* hr_row_of; /* row of each world rank; -1: none yet */
static int hr_rows_used;
static MPI_Group hr_world_group;
static int hr_keyval = MPI_KEYVAL_INVALID;
static pthread_mutex_t hr_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct hr_request hr_requests[HR_REQUESTS];
static int hr_requests_used;
static __thread int hr_depth;
static const char* const hr_names[HR_FUNCTIONS];

static hr_value hr_clock(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (hr_value)time.tv_sec * 1000000000u + (hr_value)time.tv_nsec;
}

static void hr_add(hr_value* to, hr_value what) { __atomic_fetch_add(to, what, __ATOMIC_RELAXED); }
static void hr_set(hr_value* to, hr_value what) { __atomic_store_n(to, what, __ATOMIC_RELAXED); }
