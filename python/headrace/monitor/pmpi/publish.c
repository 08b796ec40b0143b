/* Makes the page, lets others find it, and saves it; marks of MPI_Pcontrol. */
/* Rank 0 names the job: the MPI, its host, its process, the time. */
static void hr_name_job(char* job, int rank) {
  char host[HOST_NAME_MAX + 1] = {0}, library[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  if (rank == 0) {
    gethostname(host, sizeof host - 1);
    PMPI_Get_library_version(library, &length);
    library[strcspn(library, " \t\n,")] = 0;
    snprintf(job, HR_NAME, "%.20s_%s_%.32s_%d_%llx", library, library[0] && strstr(library, "Open") ? "MPI" : "job",
             host, (int)getpid(), (unsigned long long)time(NULL));
    for (char* letter = job; *letter; ++letter) {
      if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-", *letter)) *letter = '-';
    }
  }
  PMPI_Bcast(job, HR_NAME, MPI_CHAR, 0, MPI_COMM_WORLD);
  job[HR_NAME - 1] = 0;
}

static struct hr_page* hr_make(const char* job, int rank, const struct hr_text* text) {
  const size_t text_at = hr_text_at(), bytes = hr_durations_at() + sizeof(struct hr_durations);
  snprintf(hr_name, sizeof hr_name, "headrace.%s.counters.%d", job, rank);
  const int file = memfd_create(hr_name, MFD_CLOEXEC); /* stays open, as others find the page through it */
  if (file < 0) return NULL;
  struct hr_page* page = ftruncate(file, (off_t)bytes) == 0 && posix_fallocate(file, 0, (off_t)bytes) == 0
                             ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
                             : MAP_FAILED;
  if (page == MAP_FAILED) {
    close(file);
    return NULL;
  }
  memcpy((char*)page + text_at, text->at, text->used);
  hr_durations = (struct hr_durations*)((char*)page + hr_durations_at());
  for (int i = 0; i < HR_FUNCTIONS; ++i) hr_durations->functions[i] = (hr_value)i;
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
  const char* set = getenv("HEADRACE_COUNTERS");
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
  struct hr_text text = {malloc(HR_TEXT), 0, HR_TEXT};
  if (!hr_row_of || !text.at) return;
  memset(hr_row_of, 0xff, (size_t)hr_size * sizeof *hr_row_of);
  hr_say_about(&text, job, rank);
  hr_say_dimensions(&text);
  hr_say_counters(&text);
  hr_say_durations(&text);
  __atomic_store_n(&hr_shared, hr_make(job, rank, &text), __ATOMIC_RELEASE);
  free(text.at);
}

/* The directory may be one that others can write to: another user's file of this name is not touched. */
static FILE* hr_own_file(const char* path) {
  struct stat status;
  const int file = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
  if (file < 0) return NULL;
  if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() && status.st_nlink == 1 &&
      ftruncate(file, 0) == 0)
    return fdopen(file, "w");
  close(file);
  return NULL;
}

static void hr_save(const char* directory) {
  char path[PATH_MAX];
  if (!directory || (size_t)snprintf(path, sizeof path, "%s/%s", directory, hr_name) >= sizeof path) return;
  FILE* file = hr_own_file(path);
  if (!file || fwrite(hr_shared, hr_shared->head.bytes, 1, file) != 1)
    fprintf(stderr, "headrace pmpi: %s could not be written\n", path);
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
