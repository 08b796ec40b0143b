/* Counts calls and their time, waits, messages by peer and size. */
/* --- a call --- */
static void hr_begin(struct hr_call* call, int function, int waits) {
  call->function = hr_depth++ == 0 && hr_shared ? function : 0;
  if (!call->function) return;
  call->waits = waits;
  call->peer = -1;
  call->began = hr_clock(CLOCK_MONOTONIC);
  hr_add(&hr_shared->functions[function].calls, 1);
  hr_set(&hr_shared->now_function, (hr_value)function);
  if (waits) hr_set(&hr_shared->waiting_since, call->began);
}

static void hr_waited(const struct hr_call* call, hr_value length) {
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

static void hr_took(int function, hr_value length) {
  const hr_value units = length / HR_SHORTEST;
  const int class = units ? 64 - __builtin_clzll(units) : 0;
  hr_add(&hr_durations->counts[function][class < HR_DURATIONS ? class : HR_DURATIONS - 1], 1);
}

static void hr_end(struct hr_call* call) {
  --hr_depth;
  if (!call->function) return;
  const hr_value length = hr_clock(CLOCK_MONOTONIC) - call->began;
  hr_add(&hr_shared->functions[call->function].time, length);
  hr_took(call->function, length);
  if (call->waits) hr_waited(call, length);
  hr_set(&hr_shared->now_function, 0);
}

/* --- peers --- */
static int hr_free_table(MPI_Comm comm, int keyval, void* table, void* extra) {
  free(table);
  return MPI_SUCCESS;
}

/* World ranks of a communicator's destinations. Called with the mutex held. */
static int* hr_make_table(MPI_Comm comm) {
  MPI_Group group;
  int inter = 0, size = 0;
  PMPI_Comm_test_inter(comm, &inter);
  if ((inter ? PMPI_Comm_remote_group(comm, &group) : PMPI_Comm_group(comm, &group)) != MPI_SUCCESS) return NULL;
  PMPI_Group_size(group, &size);
  int* table = malloc((2 * (size_t)size + 1) * sizeof *table);
  if (table) {
    table[0] = size;
    for (int rank = 0; rank < size; ++rank) table[1 + size + rank] = rank;
    if (size > 0) PMPI_Group_translate_ranks(group, size, table + 1 + size, hr_world_group, table + 1);
    PMPI_Comm_set_attr(comm, hr_keyval, table);
  }
  PMPI_Group_free(&group);
  return table;
}

/* Returns -1 for a rank of another world, or for none. */
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

static void hr_waits_for(struct hr_call* call, int source, MPI_Comm comm) {
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

static void hr_sent(struct hr_call* call, int dest, long long count, MPI_Datatype type, MPI_Comm comm) {
  if (call->function && dest >= 0) hr_count(call->function, hr_row(comm, dest), hr_bytes(count, type));
}

/* Persistent sends count when they are started. */
static void hr_forget(MPI_Request* request) {
  if (!hr_shared || !__atomic_load_n(&hr_requests_used, __ATOMIC_RELAXED)) return;
  pthread_mutex_lock(&hr_mutex);
  for (int i = 0; i < hr_requests_used; ++i) {
    if (hr_requests[i].request == *request) hr_requests[i].peer = -2;
  }
  pthread_mutex_unlock(&hr_mutex);
}

static void hr_remember(MPI_Request* request, int dest, long long count, MPI_Datatype type, MPI_Comm comm) {
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

static void hr_started(struct hr_call* call, int count, MPI_Request* requests) {
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
