/* The page's description of itself: JSON, in the form of docs/counters.md. */
struct hr_text {
  char* at;
  size_t used, room;
};

static void hr_say(struct hr_text* text, const char* form, ...) {
  va_list values;
  va_start(values, form);
  const int length = vsnprintf(text->at + text->used, text->room - text->used, form, values);
  va_end(values);
  if (length > 0) text->used += (size_t)length < text->room - text->used ? (size_t)length : text->room - text->used - 1;
}

static void hr_say_text(struct hr_text* text, const char* name, const char* value) {
  hr_say(text, ",\"%s\":\"", name);
  for (; *value; ++value) {
    const unsigned char letter = (unsigned char)*value;
    hr_say(text, letter < 0x20 || letter > 0x7e || letter == '"' || letter == '\\' ? "\\u%04x" : "%c", letter);
  }
  hr_say(text, "\"");
}

/* Finds the line of a file that begins with `begin`, and returns the rest of it; "" if there is none. */
static void hr_line(const char* path, const char* begin, char* line, size_t length) {
  FILE* file = fopen(path, "r");
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

static void hr_say_about(struct hr_text* text, const char* job, int rank) {
  char line[PATH_MAX], library[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  hr_say(text, "{\"about\":{\"rank\":%d,\"size\":%d,\"host_number\":0,\"pid\":%d,\"user\":%u", rank, hr_size,
         (int)getpid(), (unsigned)getuid());
  hr_say_text(text, "job", job);
  gethostname(line, sizeof line - 1);
  hr_say_text(text, "host", line);
  hr_line("/proc/self/stat", "", line, sizeof line);
  char* field = strrchr(line, ')');
  for (int i = 0; field && i < 20; ++i) field = strchr(field + 1, ' ');
  hr_say(text, ",\"pid_started\":%llu", field ? strtoull(field, NULL, 10) : 0ull);
  const ssize_t path = readlink("/proc/self/exe", line, sizeof line - 1);
  line[path > 0 ? path : 0] = 0;
  hr_say_text(text, "program", line);
  hr_line("/proc/self/status", "Cpus_allowed_list:\t", line, sizeof line);
  hr_say_text(text, "cores", line);
  const char* gpus = getenv("CUDA_VISIBLE_DEVICES");
  hr_say_text(text, "gpus", !gpus ? "" : *gpus ? gpus : "none");
  PMPI_Get_library_version(library, &length);
  library[strcspn(library, "\n,")] = 0;
  hr_say_text(text, "library", library);
  hr_say(text, "}");
}

static void hr_say_dimensions(struct hr_text* text) {
  hr_say(text, ",\"dimensions\":{\"function\":{\"length\":%d,\"labels\":[", HR_FUNCTIONS);
  for (int i = 0; i < HR_FUNCTIONS; ++i) hr_say(text, "%s\"%s\"", i ? "," : "", hr_names[i]);
  hr_say(text, "]},\"size\":{\"length\":%d,\"labels\":[", HR_SIZES);
  for (int i = 0; i < HR_SIZES; ++i)
    hr_say(text, "%s\"%llu-%llu\"", i ? "," : "", i ? 1ull << i : 0ull, i < 63 ? (2ull << i) - 1 : ~0ull);
  hr_say(text, "]},\"mark\":{\"length\":%d},\"peer\":{\"length\":%d,\"others\":{\"%d\":\"others\"}}}", HR_MARKS,
         hr_rows, hr_rows - 1);
}

struct hr_entry {
  const char *name, *kind, *unit, *sentence;
  size_t at;
  const char* dimension;
  size_t stride;
};

#define HR_AT(member) offsetof(struct hr_page, member)
#define HR_FUNCTION(member) \
  HR_AT(functions) + offsetof(struct hr_function, member), "function", sizeof(struct hr_function)
#define HR_PEER(member) HR_AT(peers) + offsetof(struct hr_peer, member), "peer", sizeof(struct hr_peer)
static const struct hr_entry hr_entries[] = {
    {"now.function", "level", "function", "The function that the program is in, by its place; 0: none.",
     HR_AT(now_function)},
    {"now.waiting_since", "level", "nanoseconds",
     "Since when it is in a function that waits, by CLOCK_MONOTONIC; 0: it is in none.", HR_AT(waiting_since)},
    {"now.waiting_for", "level", "process", "The process that it waits for, plus 1; 0: no single process.",
     HR_AT(waiting_for)},
    {"function.calls", "sum", "calls", "Calls of the program.", HR_FUNCTION(calls)},
    {"function.time", "sum", "nanoseconds", "Time within the function.", HR_FUNCTION(time)},
    {"function.bytes", "sum", "bytes", "Bytes of messages sent in it.", HR_FUNCTION(bytes)},
    {"function.wait", "sum", "nanoseconds", "The same as its time, of functions that wait for others.",
     HR_FUNCTION(wait)},
    {"peer.process", "level", "process", "The row's process, plus 1: its rank.", HR_PEER(process)},
    {"peer.messages", "sum", "messages", "The program's messages sent to it.", HR_PEER(messages)},
    {"peer.bytes", "sum", "bytes", "Bytes of them.", HR_PEER(bytes)},
    {"peer.waits", "sum", "waits", "Calls that waited for it alone.", HR_PEER(waits)},
    {"peer.wait", "sum", "nanoseconds", "Duration of these waits.", HR_PEER(wait)},
    {"sent.sizes", "sum", "messages", "Messages sent, by their length in bytes.", HR_AT(sizes), "size", 8},
    {"wait.times", "sum", "waits", "Calls of functions that wait for others.", HR_AT(waits)},
    {"wait.time", "sum", "nanoseconds", "Duration of these waits.", HR_AT(waited)},
    {"wait.longest", "high_water", "nanoseconds", "The longest.", HR_AT(longest)},
    {"phase.marks", "sum", "marks", "Calls of MPI_Pcontrol.", HR_AT(marks)},
    {"phase.time", "level", "nanoseconds", "When the last ones were, since 1970: mark n at n % length.", HR_AT(mark),
     "mark", sizeof(struct hr_mark)},
    {"phase.level", "level", "level", "Their levels.", HR_AT(mark) + offsetof(struct hr_mark, level), "mark",
     sizeof(struct hr_mark)},
};

static void hr_say_counters(struct hr_text* text) {
  hr_say(text, ",\"counters\":[");
  for (size_t i = 0; i < sizeof hr_entries / sizeof *hr_entries; ++i) {
    const struct hr_entry* entry = &hr_entries[i];
    hr_say(text, "%s{\"name\":\"%s\",\"kind\":\"%s\",\"unit\":\"%s\",\"at\":%zu", i ? "," : "", entry->name,
           entry->kind, entry->unit, entry->at);
    if (entry->dimension) hr_say(text, ",\"dimension\":\"%s\",\"stride\":%zu", entry->dimension, entry->stride);
    hr_say(text, ",\"sentence\":\"%s\"}", entry->sentence);
  }
  hr_say(text, "]");
}

static size_t hr_text_at(void) {
  return (sizeof(struct hr_page) + (size_t)hr_rows * sizeof(struct hr_peer) + 7) / 8 * 8;
}
static size_t hr_durations_at(void) { return hr_text_at() + HR_TEXT; }

static void hr_say_durations(struct hr_text* text) {
  hr_say(text, ",\"durations\":{\"functions\":%zu,\"at\":%zu,\"rows\":%d,\"classes\":%d,\"shortest\":%d}}",
         hr_durations_at() + offsetof(struct hr_durations, functions),
         hr_durations_at() + offsetof(struct hr_durations, counts), HR_FUNCTIONS, HR_DURATIONS, HR_SHORTEST);
}
