// Windows as objects: their kinds, sizes, attributes, names, hints, groups, error handlers and memory (sections 12.2
// and 7.7).
#include <cstdint>
#include <cstring>
#include <vector>

#include "window_memory.hpp"

namespace {

template <class Value>
Value attribute(MPI_Win win, int keyval) {
  void* value = nullptr;
  int found = 0;
  CHECK_OK(MPI_Win_get_attr(win, keyval, &value, &found));
  CHECK(found != 0);
  return *static_cast<Value*>(value);
}

void check_attributes(MPI_Win win, void* base, MPI_Aint size, int unit, int flavor) {
  void* value = nullptr;
  int found = 0;
  CHECK_OK(MPI_Win_get_attr(win, MPI_WIN_BASE, &value, &found));
  CHECK(found != 0 && value == base);
  CHECK_EQ(attribute<MPI_Aint>(win, MPI_WIN_SIZE), size);
  CHECK_EQ(attribute<int>(win, MPI_WIN_DISP_UNIT), unit);
  CHECK_EQ(attribute<int>(win, MPI_WIN_CREATE_FLAVOR), flavor);
  CHECK_EQ(attribute<int>(win, MPI_WIN_MODEL), MPI_WIN_UNIFIED);
}

void kinds(const check::Environment& mpi) {
  std::vector<int> memory(100);
  MPI_Win win;
  const MPI_Aint size = mpi.rank == 0 ? 0 : 400;
  CHECK_OK(MPI_Win_create(mpi.rank == 0 ? nullptr : memory.data(), size, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  check_attributes(win, mpi.rank == 0 ? nullptr : memory.data(), size, 4, MPI_WIN_FLAVOR_CREATE);
  CHECK_OK(MPI_Win_free(&win));
  void* base = nullptr;
  CHECK_OK(MPI_Win_allocate(1000 + mpi.rank, 2, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
  check_attributes(win, base, 1000 + mpi.rank, 2, MPI_WIN_FLAVOR_ALLOCATE);
  std::memset(base, mpi.rank, static_cast<std::size_t>(1000 + mpi.rank));
  CHECK_OK(MPI_Win_free(&win));
  CHECK_OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  check_attributes(win, MPI_BOTTOM, 0, 1, MPI_WIN_FLAVOR_DYNAMIC);
  CHECK_OK(MPI_Win_free(&win));
  // The window's ranks are in group order.
  MPI_Comm turned;
  CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -mpi.rank, &turned));
  CHECK_OK(MPI_Win_allocate(8, 8, MPI_INFO_NULL, turned, &base, &win));
  MPI_Group of_comm;
  MPI_Group of_win;
  int same = MPI_UNEQUAL;
  CHECK_OK(MPI_Comm_group(turned, &of_comm));
  CHECK_OK(MPI_Win_get_group(win, &of_win));
  CHECK_OK(MPI_Group_compare(of_comm, of_win, &same));
  CHECK_EQ(same, MPI_IDENT);
  CHECK_OK(MPI_Group_free(&of_comm));
  CHECK_OK(MPI_Group_free(&of_win));
  CHECK_OK(MPI_Comm_free(&turned));  // the window stays valid
  *static_cast<std::int64_t*>(base) = mpi.rank;
  std::int64_t found = -1;
  const int own = mpi.size - 1 - mpi.rank;
  CHECK_OK(MPI_Win_fence(0, win));
  CHECK_OK(MPI_Get(&found, 1, MPI_INT64_T, (own + 1) % mpi.size, 0, 1, MPI_INT64_T, win));
  CHECK_OK(MPI_Win_fence(0, win));
  CHECK_EQ(found, mpi.size - 1 - (own + 1) % mpi.size);
  CHECK_OK(MPI_Win_free(&win));
}

void shared(const check::Environment& mpi) {
  if (!check::one_host()) return;
  for (const bool apart : {false, true}) {
    MPI_Info info;
    CHECK_OK(MPI_Info_create(&info));
    CHECK_OK(MPI_Info_set(info, "alloc_shared_noncontig", apart ? "true" : "false"));
    MPI_Win win;
    char* base = nullptr;
    const MPI_Aint own = mpi.rank == 0 ? 0 : 10 * mpi.rank;
    CHECK_OK(MPI_Win_allocate_shared(own, 1, info, MPI_COMM_WORLD, &base, &win));
    CHECK_OK(MPI_Info_free(&info));
    check_attributes(win, base, own, 1, MPI_WIN_FLAVOR_SHARED);
    if (own != 0) std::memset(base, mpi.rank, static_cast<std::size_t>(own));
    CHECK_OK(MPI_Win_fence(0, win));
    char* before = nullptr;
    // Rank 0 has no bytes, but an address if the parts are contiguous, as in MPICH and Open MPI.
    CHECK_EQ(base != nullptr, !apart || own != 0);
    for (int rank = 0; rank < mpi.size; ++rank) {
      MPI_Aint size = -1;
      int unit = -1;
      char* its = nullptr;
      CHECK_OK(MPI_Win_shared_query(win, rank, &size, &unit, &its));
      CHECK_EQ(size, 10 * rank);
      CHECK_EQ(unit, 1);
      CHECK_EQ(its != nullptr, !apart || size != 0);
      for (MPI_Aint i = 0; i < size; ++i) CHECK_EQ(its[i], rank);
      if (!apart && rank == mpi.rank) CHECK(its == base);
      if (!apart && rank == 1) CHECK(its == before);
      if (!apart && rank > 1) CHECK(its == before + static_cast<std::ptrdiff_t>(10) * (rank - 1));
      before = its;
    }
    MPI_Aint size = -1;
    int unit = -1;
    char* first = nullptr;
    CHECK_OK(MPI_Win_shared_query(win, MPI_PROC_NULL, &size, &unit, &first));
    if (mpi.size > 1) CHECK_EQ(size, 10);
    // Stores of other ranks are visible after a fence.
    CHECK_OK(MPI_Win_fence(0, win));
    if (mpi.size > 1 && mpi.rank == 0) first[3] = 99;
    CHECK_OK(MPI_Win_fence(0, win));
    if (mpi.rank == 1) CHECK_EQ(base[3], 99);
    CHECK_OK(MPI_Win_free(&win));
  }
}

void alignment() {
  MPI_Info info;
  CHECK_OK(MPI_Info_create(&info));
  CHECK_OK(MPI_Info_set(info, "mpi_minimum_memory_alignment", "1024"));
  MPI_Win win;
  void* base = nullptr;
  CHECK_OK(MPI_Win_allocate(24, 1, info, MPI_COMM_WORLD, &base, &win));
  CHECK_EQ(reinterpret_cast<std::uintptr_t>(base) % 1024, 0U);
  CHECK_OK(MPI_Info_free(&info));
  CHECK_OK(MPI_Win_get_info(win, &info));
  char value[100];
  int found = 0;
  CHECK_OK(MPI_Info_get(info, "mpi_minimum_memory_alignment", 99, value, &found));
  CHECK(found != 0 && std::string(value) == "1024");
  CHECK_OK(MPI_Info_get(info, "no_locks", 99, value, &found));
  CHECK(found != 0 && std::string(value) == "false");
  CHECK_OK(MPI_Win_set_info(win, info));
  CHECK_OK(MPI_Info_free(&info));
  CHECK_OK(MPI_Win_free(&win));
}

void names() {
  MPI_Win win;
  CHECK_OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  char name[MPI_MAX_OBJECT_NAME];
  int length = -1;
  CHECK_OK(MPI_Win_get_name(win, name, &length));
  CHECK_EQ(length, 0);
  CHECK_OK(MPI_Win_set_name(win, "a window"));
  CHECK_OK(MPI_Win_get_name(win, name, &length));
  CHECK_EQ(std::string(name), std::string("a window"));
  CHECK_EQ(length, 8);
  CHECK(MPI_Win_f2c(MPI_Win_c2f(win)) == win);
  CHECK_OK(MPI_Win_free(&win));
}

int deleted = 0;
int remove(MPI_Win win, int, void* value, void* extra_state) {
  MPI_Group group;
  CHECK_OK(MPI_Win_get_group(win, &group));
  CHECK_OK(MPI_Group_free(&group));
  CHECK(value == &deleted && extra_state == &deleted);
  ++deleted;
  return MPI_SUCCESS;
}

void attributes() {
  int keyval = MPI_KEYVAL_INVALID;
  CHECK_OK(MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, remove, &keyval, &deleted));
  MPI_Win win;
  CHECK_OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  void* value = nullptr;
  int found = -1;
  CHECK_OK(MPI_Win_get_attr(win, keyval, &value, &found));
  CHECK_EQ(found, 0);
  CHECK_OK(MPI_Win_set_attr(win, keyval, &deleted));
  CHECK_OK(MPI_Win_get_attr(win, keyval, &value, &found));
  CHECK(found != 0 && value == &deleted);
  CHECK_OK(MPI_Win_delete_attr(win, keyval));
  CHECK_EQ(deleted, 1);
  CHECK_OK(MPI_Win_set_attr(win, keyval, &deleted));
  CHECK_OK(MPI_Win_free_keyval(&keyval));
  CHECK_OK(MPI_Win_free(&win));
  CHECK_EQ(deleted, 2);
}

int handled = 0;
int handled_code = MPI_SUCCESS;
void handle(MPI_Win*, int* code, ...) {
  ++handled;
  handled_code = check::error_class(*code);
}

void handlers() {
  MPI_Errhandler mine;
  CHECK_OK(MPI_Win_create_errhandler(handle, &mine));
  MPI_Win win;
  CHECK_OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  MPI_Errhandler before;
  CHECK_OK(MPI_Win_get_errhandler(win, &before));
  CHECK(before == MPI_ERRORS_ARE_FATAL);
  CHECK_OK(MPI_Win_set_errhandler(win, mine));
  CHECK_OK(MPI_Errhandler_free(&mine));
  CHECK(MPI_Win_complete(win) != MPI_SUCCESS);
  CHECK_EQ(handled, 1);
  CHECK_EQ(handled_code, MPI_ERR_RMA_SYNC);
  CHECK_OK(MPI_Win_call_errhandler(win, MPI_ERR_ARG));
  CHECK_EQ(handled, 2);
  CHECK_EQ(handled_code, MPI_ERR_ARG);
  CHECK_OK(MPI_Win_free(&win));
}

// Attaches and detaches several pieces of memory.
void dynamic(const check::Environment& mpi) {
  MPI_Win win;
  CHECK_OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  for (int round = 0; round < 5; ++round) {
    std::vector<std::vector<int>> pieces;
    std::vector<MPI_Aint> starts(3);
    for (int i = 0; i < 3; ++i) {
      auto& piece = pieces.emplace_back(static_cast<std::size_t>(10 * (i + 1)), -1);
      CHECK_OK(MPI_Win_attach(win, piece.data(), static_cast<MPI_Aint>(piece.size() * sizeof(int))));
      CHECK_OK(MPI_Get_address(piece.data(), &starts[static_cast<std::size_t>(i)]));
    }
    std::vector<MPI_Aint> all(3 * static_cast<std::size_t>(mpi.size));
    CHECK_OK(MPI_Allgather(starts.data(), 3, MPI_AINT, all.data(), 3, MPI_AINT, MPI_COMM_WORLD));
    const int target = (mpi.rank + 1) % mpi.size;
    const int values[3] = {mpi.rank, round, 7};
    CHECK_OK(MPI_Win_lock_all(0, win));
    for (int i = 0; i < 3; ++i) {
      const MPI_Aint at = MPI_Aint_add(all[static_cast<std::size_t>(3 * target + i)], 4 * i);
      CHECK_OK(MPI_Put(values, 3, MPI_INT, target, at, 3, MPI_INT, win));
    }
    CHECK_OK(MPI_Win_unlock_all(win));
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < 3; ++i) {
      const int* const piece = pieces[static_cast<std::size_t>(i)].data() + i;
      CHECK_EQ(piece[0], (mpi.rank + mpi.size - 1) % mpi.size);
      CHECK_EQ(piece[1], round);
      CHECK_EQ(piece[2], 7);
      CHECK_OK(MPI_Win_detach(win, pieces[static_cast<std::size_t>(i)].data()));
    }
  }
  CHECK_OK(MPI_Win_free(&win));
}

// Creates many windows at once, and many consecutively.
void many(const check::Environment& mpi) {
  std::vector<MPI_Win> windows(30);
  std::vector<int*> bases(30);
  for (int turn = 0; turn < 5; ++turn) {
    for (std::size_t i = 0; i < windows.size(); ++i) {
      CHECK_OK(MPI_Win_allocate(4, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &bases[i], &windows[i]));
      *bases[i] = -1;
      CHECK_OK(MPI_Win_fence(0, windows[i]));
    }
    std::vector<int> values(windows.size());
    for (std::size_t i = 0; i < windows.size(); ++i) {
      values[i] = static_cast<int>(i) + mpi.rank;
      CHECK_OK(MPI_Put(&values[i], 1, MPI_INT, (mpi.rank + 1) % mpi.size, 0, 1, MPI_INT, windows[i]));
    }
    for (std::size_t i = 0; i < windows.size(); ++i) {
      CHECK_OK(MPI_Win_fence(0, windows[i]));
      CHECK_EQ(*bases[i], static_cast<int>(i) + (mpi.rank + mpi.size - 1) % mpi.size);
      CHECK_OK(MPI_Win_free(&windows[i]));
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv);
  kinds(mpi);
  shared(mpi);
  alignment();
  names();
  attributes();
  handlers();
  dynamic(mpi);
  many(mpi);
  return 0;
}
