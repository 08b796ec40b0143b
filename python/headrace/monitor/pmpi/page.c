/* A page of counters in the form of docs/counters.md, kept by what the profiling interface of any MPI shows.
 *
 * The page is a memory file that others find at /proc/<process>/fd; it goes with the process. It is made when MPI_Init has
 * returned; nothing is counted before, or where HEADRACE_COUNTERS is "off". HEADRACE_PMPI_SAVE names a directory where MPI_Finalize
 * leaves it as a file. Calls that an MPI makes of itself within a call are not counted. Threads: any; sums are added to atomically
 * (relaxed), what the rank does now is the last call's. */
#define _GNU_SOURCE
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
#include <time.h>
#include <unistd.h>

#define HR_ROWS_MOST 1024 /* peers with a row of their own */
#define HR_SIZES 64
#define HR_MARKS 64
#define HR_REQUESTS 4096 /* persistent sends that are remembered */
#define HR_NAME 96

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
  struct hr_peer peers[]; /* the last one stands for all that have none; then the text */
};

struct hr_call {
  int function; /* 0: within another call, or nobody counts */
  int waits;
  int peer; /* a row; -1: for no single one */
  hr_value began;
};

struct hr_request {
  MPI_Request request;
  int peer; /* -2: free */
  hr_value bytes;
};

static struct hr_page *hr_shared;
static char hr_name[HR_NAME + 40]; /* of the page */
static int hr_size, hr_rows;
static int *hr_row_of; /* of a rank of the world; -1: none yet */
static int hr_rows_used;
static MPI_Group hr_world_group;
static int hr_keyval = MPI_KEYVAL_INVALID;
static pthread_mutex_t hr_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct hr_request hr_requests[HR_REQUESTS];
static int hr_requests_used;
static __thread int hr_depth;
static const char *const hr_names[HR_FUNCTIONS];

static hr_value hr_clock(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (hr_value)time.tv_sec * 1000000000u + (hr_value)time.tv_nsec;
}

static void hr_add(hr_value *to, hr_value what) { __atomic_fetch_add(to, what, __ATOMIC_RELAXED); }
static void hr_set(hr_value *to, hr_value what) { __atomic_store_n(to, what, __ATOMIC_RELAXED); }

/* --- a call --- */
static void hr_begin(struct hr_call *call, int function, int waits) {
  call->function = hr_depth++ == 0 && hr_shared ? function : 0;
  if (!call->function) return;
  call->waits = waits;
  call->peer = -1;
  call->began = hr_clock(CLOCK_MONOTONIC);
  hr_add(&hr_shared->functions[function].calls, 1);
  hr_set(&hr_shared->now_function, (hr_value)function);
  if (waits) hr_set(&hr_shared->waiting_since, call->began);
}

static void hr_waited(const struct hr_call *call, hr_value length) {
  hr_set(&hr_shared->waiting_since, 0);
  hr_set(&hr_shared->waiting_for, 0);
  hr_add(&hr_shared->waits, 1);
  hr_add(&hr_shared->waited, length);
  hr_add(&hr_shared->functions[call->function].wait, length);
  if (length > hr_shared->longest) hr_set(&hr_shared->longest, length);
  if (call->peer < 0) return;
  hr_add(&hr_shared->peers[call->peer].waits, 1);
  hr_add(&hr_shared->peers[call->peer].wait, length);
}

static void hr_end(struct hr_call *call) {
  --hr_depth;
  if (!call->function) return;
  const hr_value length = hr_clock(CLOCK_MONOTONIC) - call->began;
  hr_add(&hr_shared->functions[call->function].time, length);
  if (call->waits) hr_waited(call, length);
  hr_set(&hr_shared->now_function, 0);
}

/* --- peers --- */
static int hr_free_table(MPI_Comm comm, int keyval, void *table, void *extra) {
  free(table);
  return MPI_SUCCESS;
}

/* Ranks of the world of those that messages of a communicator go to. With the mutex held. */
static int *hr_make_table(MPI_Comm comm) {
  MPI_Group group;
  int inter = 0, size = 0;
  PMPI_Comm_test_inter(comm, &inter);
  if ((inter ? PMPI_Comm_remote_group(comm, &group) : PMPI_Comm_group(comm, &group)) != MPI_SUCCESS) return NULL;
  PMPI_Group_size(group, &size);
  int *table = malloc((2 * (size_t)size + 1) * sizeof *table);
  if (table) {
    table[0] = size;
    for (int rank = 0; rank < size; ++rank) table[1 + size + rank] = rank;
    if (size > 0) PMPI_Group_translate_ranks(group, size, table + 1 + size, hr_world_group, table + 1);
    PMPI_Comm_set_attr(comm, hr_keyval, table);
  }
  PMPI_Group_free(&group);
  return table;
}

/* -1: of another world, or nobody. */
static int hr_world_rank(MPI_Comm comm, int rank) {
  if (comm == MPI_COMM_WORLD) return rank < hr_size ? rank : -1;
  int *table = NULL, found = 0;
  PMPI_Comm_get_attr(comm, hr_keyval, &table, &found);
  if (!found) {
    pthread_mutex_lock(&hr_mutex);
    PMPI_Comm_get_attr(comm, hr_keyval, &table, &found);
    if (!found) table = hr_make_table(comm);
    pthread_mutex_unlock(&hr_mutex);
  }
  if (!table || rank >= table[0] || table[1 + rank] == MPI_UNDEFINED) return -1;
  return table[1 + rank];
}

static int hr_row(MPI_Comm comm, int rank) {
  const int world = hr_world_rank(comm, rank);
  if (world < 0) return hr_rows - 1;
  int row = __atomic_load_n(&hr_row_of[world], __ATOMIC_ACQUIRE);
  if (row >= 0) return row;
  pthread_mutex_lock(&hr_mutex);
  row = hr_row_of[world];
  if (row < 0) {
    row = hr_rows_used < hr_rows - 1 ? hr_rows_used++ : hr_rows - 1;
    if (row < hr_rows - 1) hr_set(&hr_shared->peers[row].process, (hr_value)world + 1);
    __atomic_store_n(&hr_row_of[world], row, __ATOMIC_RELEASE);
  }
  pthread_mutex_unlock(&hr_mutex);
  return row;
}

static void hr_waits_for(struct hr_call *call, int source, MPI_Comm comm) {
  if (!call->function || source < 0) return;
  call->peer = hr_row(comm, source);
  hr_set(&hr_shared->waiting_for, hr_shared->peers[call->peer].process);
}

/* --- messages --- */
static hr_value hr_bytes(long long count, MPI_Datatype type) {
  int size = 0;
  if (count <= 0 || PMPI_Type_size(type, &size) != MPI_SUCCESS || size < 0) return 0;
  return (hr_value)count * (hr_value)size;
}

static void hr_count(int function, int row, hr_value bytes) {
  hr_add(&hr_shared->functions[function].bytes, bytes);
  hr_add(&hr_shared->sizes[63 - __builtin_clzll(bytes | 1)], 1);
  hr_add(&hr_shared->peers[row].messages, 1);
  hr_add(&hr_shared->peers[row].bytes, bytes);
}

static void hr_sent(struct hr_call *call, int dest, long long count, MPI_Datatype type, MPI_Comm comm) {
  if (call->function && dest >= 0) hr_count(call->function, hr_row(comm, dest), hr_bytes(count, type));
}

/* Persistent sends count when they are started. */
static void hr_forget(MPI_Request *request) {
  if (!hr_shared || !__atomic_load_n(&hr_requests_used, __ATOMIC_RELAXED)) return;
  pthread_mutex_lock(&hr_mutex);
  for (int i = 0; i < hr_requests_used; ++i) {
    if (hr_requests[i].request == *request) hr_requests[i].peer = -2;
  }
  pthread_mutex_unlock(&hr_mutex);
}

static void hr_remember(MPI_Request *request, int dest, long long count, MPI_Datatype type, MPI_Comm comm) {
  if (!hr_shared || dest < 0) return;
  const struct hr_request made = {*request, hr_row(comm, dest), hr_bytes(count, type)};
  hr_forget(request);
  pthread_mutex_lock(&hr_mutex);
  int place = 0;
  while (place < hr_requests_used && hr_requests[place].peer != -2) ++place;
  if (place < HR_REQUESTS) {
    hr_requests[place] = made;
    if (place == hr_requests_used) ++hr_requests_used;
  }
  pthread_mutex_unlock(&hr_mutex);
}

static void hr_started(struct hr_call *call, int count, MPI_Request *requests) {
  if (!call->function || !__atomic_load_n(&hr_requests_used, __ATOMIC_RELAXED)) return;
  pthread_mutex_lock(&hr_mutex);
  for (int each = 0; each < count; ++each) {
    for (int i = 0; i < hr_requests_used; ++i) {
      if (hr_requests[i].peer == -2 || hr_requests[i].request != requests[each]) continue;
      hr_count(call->function, hr_requests[i].peer, hr_requests[i].bytes);
      break;
    }
  }
  pthread_mutex_unlock(&hr_mutex);
}

/* --- the text --- */
struct hr_text {
  char *at;
  size_t used, room;
};

static void hr_say(struct hr_text *text, const char *form, ...) {
  va_list values;
  va_start(values, form);
  const int length = vsnprintf(text->at + text->used, text->room - text->used, form, values);
  va_end(values);
  if (length > 0) text->used += (size_t)length < text->room - text->used ? (size_t)length : text->room - text->used - 1;
}

static void hr_say_text(struct hr_text *text, const char *name, const char *value) {
  hr_say(text, ",\"%s\":\"", name);
  for (; *value; ++value) {
    const unsigned char letter = (unsigned char)*value;
    hr_say(text, letter < 0x20 || letter > 0x7e || letter == '"' || letter == '\\' ? "\\u%04x" : "%c", letter);
  }
  hr_say(text, "\"");
}

/* The line of a file that begins so, without that; "" where there is none. */
static void hr_line(const char *path, const char *begin, char *line, size_t length) {
  FILE *file = fopen(path, "r");
  *line = 0;
  while (file && fgets(line, (int)length, file)) {
    if (strncmp(line, begin, strlen(begin)) == 0) {
      memmove(line, line + strlen(begin), strlen(line + strlen(begin)) + 1);
      line[strcspn(line, "\n")] = 0;
      break;
    }
    *line = 0;
  }
  if (file) fclose(file);
}

static void hr_say_about(struct hr_text *text, const char *job, int rank) {
  char line[PATH_MAX], library[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  hr_say(text, "{\"about\":{\"rank\":%d,\"size\":%d,\"host_number\":0,\"pid\":%d,\"user\":%u", rank, hr_size, (int)getpid(), (unsigned)getuid());
  hr_say_text(text, "job", job);
  gethostname(line, sizeof line - 1);
  hr_say_text(text, "host", line);
  hr_line("/proc/self/stat", "", line, sizeof line);
  char *field = strrchr(line, ')');
  for (int i = 0; field && i < 20; ++i) field = strchr(field + 1, ' ');
  hr_say(text, ",\"pid_started\":%llu", field ? strtoull(field, NULL, 10) : 0ull);
  const ssize_t path = readlink("/proc/self/exe", line, sizeof line - 1);
  line[path > 0 ? path : 0] = 0;
  hr_say_text(text, "program", line);
  hr_line("/proc/self/status", "Cpus_allowed_list:\t", line, sizeof line);
  hr_say_text(text, "cores", line);
  const char *gpus = getenv("CUDA_VISIBLE_DEVICES");
  hr_say_text(text, "gpus", gpus ? gpus : "");
  PMPI_Get_library_version(library, &length);
  library[strcspn(library, "\n,")] = 0;
  hr_say_text(text, "library", library);
  hr_say(text, "}");
}

static void hr_say_dimensions(struct hr_text *text) {
  hr_say(text, ",\"dimensions\":{\"function\":{\"length\":%d,\"labels\":[", HR_FUNCTIONS);
  for (int i = 0; i < HR_FUNCTIONS; ++i) hr_say(text, "%s\"%s\"", i ? "," : "", hr_names[i]);
  hr_say(text, "]},\"size\":{\"length\":%d,\"labels\":[", HR_SIZES);
  for (int i = 0; i < HR_SIZES; ++i)
    hr_say(text, "%s\"%llu-%llu\"", i ? "," : "", i ? 1ull << i : 0ull, i < 63 ? (2ull << i) - 1 : ~0ull);
  hr_say(text, "]},\"mark\":{\"length\":%d},\"peer\":{\"length\":%d,\"others\":{\"%d\":\"others\"}}}", HR_MARKS, hr_rows, hr_rows - 1);
}

struct hr_entry {
  const char *name, *kind, *unit, *sentence;
  size_t at;
  const char *dimension;
  size_t stride;
};

#define HR_AT(member) offsetof(struct hr_page, member)
#define HR_FUNCTION(member) HR_AT(functions) + offsetof(struct hr_function, member), "function", sizeof(struct hr_function)
#define HR_PEER(member) HR_AT(peers) + offsetof(struct hr_peer, member), "peer", sizeof(struct hr_peer)
static const struct hr_entry hr_entries[] = {
    {"now.function", "level", "function", "The function that the program is in, by its place; 0: none.", HR_AT(now_function)},
    {"now.waiting_since", "level", "nanoseconds", "Since when it is in a function that waits, by CLOCK_MONOTONIC; 0: it is in none.", HR_AT(waiting_since)},
    {"now.waiting_for", "level", "process", "Whom it waits for, and 1; 0: no single process.", HR_AT(waiting_for)},
    {"function.calls", "sum", "calls", "Calls of the program.", HR_FUNCTION(calls)},
    {"function.time", "sum", "nanoseconds", "Time within the function.", HR_FUNCTION(time)},
    {"function.bytes", "sum", "bytes", "Bytes of messages sent in it.", HR_FUNCTION(bytes)},
    {"function.wait", "sum", "nanoseconds", "The same as its time, of functions that wait for others.", HR_FUNCTION(wait)},
    {"peer.process", "level", "process", "Whose row it is, and 1: the rank.", HR_PEER(process)},
    {"peer.messages", "sum", "messages", "The program's messages sent to it.", HR_PEER(messages)},
    {"peer.bytes", "sum", "bytes", "Bytes of them.", HR_PEER(bytes)},
    {"peer.waits", "sum", "waits", "Calls that waited for it alone.", HR_PEER(waits)},
    {"peer.wait", "sum", "nanoseconds", "How long they were.", HR_PEER(wait)},
    {"sent.sizes", "sum", "messages", "Messages sent, by their length in bytes.", HR_AT(sizes), "size", 8},
    {"wait.times", "sum", "waits", "Calls of functions that wait for others.", HR_AT(waits)},
    {"wait.time", "sum", "nanoseconds", "How long they were.", HR_AT(waited)},
    {"wait.longest", "high_water", "nanoseconds", "The longest.", HR_AT(longest)},
    {"phase.marks", "sum", "marks", "Calls of MPI_Pcontrol.", HR_AT(marks)},
    {"phase.time", "level", "nanoseconds", "When the last ones were, since 1970: mark n at n % length.", HR_AT(mark), "mark", sizeof(struct hr_mark)},
    {"phase.level", "level", "level", "Their levels.", HR_AT(mark) + offsetof(struct hr_mark, level), "mark", sizeof(struct hr_mark)},
};

static void hr_say_counters(struct hr_text *text) {
  hr_say(text, ",\"counters\":[");
  for (size_t i = 0; i < sizeof hr_entries / sizeof *hr_entries; ++i) {
    const struct hr_entry *entry = &hr_entries[i];
    hr_say(text, "%s{\"name\":\"%s\",\"kind\":\"%s\",\"unit\":\"%s\",\"at\":%zu", i ? "," : "", entry->name, entry->kind, entry->unit, entry->at);
    if (entry->dimension) hr_say(text, ",\"dimension\":\"%s\",\"stride\":%zu", entry->dimension, entry->stride);
    hr_say(text, ",\"sentence\":\"%s\"}", entry->sentence);
  }
  hr_say(text, "]}");
}

/* --- the page --- */
/* Rank 0 names the job: the MPI, its host, its process, the time. */
static void hr_name_job(char *job, int rank) {
  char host[HOST_NAME_MAX + 1] = {0}, library[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  if (rank == 0) {
    gethostname(host, sizeof host - 1);
    PMPI_Get_library_version(library, &length);
    library[strcspn(library, " \t\n,")] = 0;
    snprintf(job, HR_NAME, "%.20s_%s_%.32s_%d_%llx", library, library[0] && strstr(library, "Open") ? "MPI" : "job", host, (int)getpid(),
             (unsigned long long)time(NULL));
    for (char *letter = job; *letter; ++letter) {
      if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-", *letter)) *letter = '-';
    }
  }
  PMPI_Bcast(job, HR_NAME, MPI_CHAR, 0, MPI_COMM_WORLD);
  job[HR_NAME - 1] = 0;
}

static struct hr_page *hr_make(const char *job, int rank, const struct hr_text *text) {
  const size_t text_at = (sizeof(struct hr_page) + (size_t)hr_rows * sizeof(struct hr_peer) + 7) / 8 * 8, bytes = text_at + text->used;
  snprintf(hr_name, sizeof hr_name, "headrace.%s.counters.%d", job, rank);
  const int file = memfd_create(hr_name, MFD_CLOEXEC); /* stays open: it is how others find it */
  if (file < 0) return NULL;
  struct hr_page *page = ftruncate(file, (off_t)bytes) == 0 && posix_fallocate(file, 0, (off_t)bytes) == 0
                             ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
                             : MAP_FAILED;
  if (page == MAP_FAILED) {
    close(file);
    return NULL;
  }
  memcpy((char *)page + text_at, text->at, text->used);
  memcpy(page->head.magic, "HRCOUNTS", 8);
  page->head.state = 1;
  page->head.bytes = bytes;
  page->head.text_at = text_at;
  page->head.text_bytes = text->used;
  page->head.begun = hr_clock(CLOCK_REALTIME);
  __atomic_store_n(&page->head.version, 1, __ATOMIC_RELEASE);
  return page;
}

static int hr_is_wanted(void) {
  char library[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  const char *set = getenv("HEADRACE_COUNTERS");
  PMPI_Get_library_version(library, &length);
  if (set && (strcmp(set, "off") == 0 || strcmp(set, "0") == 0)) return 0;
  return !strstr(library, "Headrace") || getenv("HEADRACE_PMPI_SAVE"); /* Headrace has pages of its own */
}

static void hr_publish(void) {
  char job[HR_NAME] = {0};
  int rank = 0;
  if (hr_shared || !hr_is_wanted()) return;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &hr_size);
  hr_name_job(job, rank);
  PMPI_Comm_group(MPI_COMM_WORLD, &hr_world_group);
  PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, hr_free_table, &hr_keyval, NULL);
  hr_rows = (hr_size < HR_ROWS_MOST ? hr_size : HR_ROWS_MOST) + 1;
  hr_row_of = malloc((size_t)hr_size * sizeof *hr_row_of);
  struct hr_text text = {malloc(1 << 16), 0, 1 << 16};
  if (!hr_row_of || !text.at) return;
  memset(hr_row_of, 0xff, (size_t)hr_size * sizeof *hr_row_of);
  hr_say_about(&text, job, rank);
  hr_say_dimensions(&text);
  hr_say_counters(&text);
  __atomic_store_n(&hr_shared, hr_make(job, rank, &text), __ATOMIC_RELEASE);
  free(text.at);
}

static void hr_save(const char *directory) {
  char path[PATH_MAX];
  if (!directory || (size_t)snprintf(path, sizeof path, "%s/%s", directory, hr_name) >= sizeof path) return;
  FILE *file = fopen(path, "w");
  if (!file || fwrite(hr_shared, hr_shared->head.bytes, 1, file) != 1) fprintf(stderr, "headrace pmpi: %s could not be written\n", path);
  if (file) fclose(file);
}

static void hr_finalized(void) {
  if (!hr_shared) return;
  hr_shared->head.ended = hr_clock(CLOCK_REALTIME);
  hr_shared->head.state = 2;
  hr_save(getenv("HEADRACE_PMPI_SAVE"));
}

int MPI_Pcontrol(const int level, ...) {
  if (hr_shared) {
    const hr_value number = __atomic_fetch_add(&hr_shared->marks, 1, __ATOMIC_RELAXED);
    hr_set(&hr_shared->mark[number % HR_MARKS].time, hr_clock(CLOCK_REALTIME));
    hr_set(&hr_shared->mark[number % HR_MARKS].level, (hr_value)(int64_t)level);
    hr_add(&hr_shared->functions[HR_PCONTROL].calls, 1);
  }
  return MPI_SUCCESS;
}
