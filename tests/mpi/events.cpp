// Events of the tool interface. Each is reported in the process in which it occurs, in order and with its elements, but
// only to callbacks that are registered and have not been freed. Callbacks may use MPI as far as their safety level
// allows.
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "common/check.hpp"

namespace {

MPI_Comm world = MPI_COMM_WORLD;

struct Heard {
  int event;
  std::vector<std::int64_t> elements;
  MPI_Count at;
};

struct Listener {
  int event = -1;
  int elements = 0;
  MPI_T_event_registration registration{};
  std::vector<Heard> heard;
  bool uses_mpi = false;
};

int index_of(const char* name) {
  int index = -1;
  CHECK_OK(MPI_T_event_get_index(name, &index));
  return index;
}

void hear(MPI_T_event_instance instance, MPI_T_event_registration registration, MPI_T_cb_safety, void* user_data) {
  auto& listener = *static_cast<Listener*>(user_data);
  CHECK(registration == listener.registration);
  Heard heard{listener.event, std::vector<std::int64_t>(static_cast<std::size_t>(listener.elements)), 0};
  CHECK_OK(MPI_T_event_copy(instance, heard.elements.data()));
  for (int i = 0; i < listener.elements; ++i) {
    std::int64_t value = -1;
    CHECK_OK(MPI_T_event_read(instance, i, &value));
    CHECK_EQ(value, heard.elements[static_cast<std::size_t>(i)]);
  }
  CHECK_EQ(MPI_T_event_read(instance, listener.elements, heard.elements.data()), MPI_T_ERR_INVALID_INDEX);
  int source = -1;
  CHECK_OK(MPI_T_event_get_source(instance, &source));
  CHECK_EQ(source, 0);
  CHECK_OK(MPI_T_event_get_timestamp(instance, &heard.at));
  if (!listener.heard.empty()) CHECK(heard.at >= listener.heard.back().at);
  listener.heard.push_back(heard);
  if (listener.uses_mpi) {
    int value = 7, sum = 0, flag = 1;
    CHECK_OK(MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF));
    CHECK_EQ(sum, 7);
    CHECK_OK(MPI_Iprobe(MPI_ANY_SOURCE, 54321, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    CHECK_EQ(flag, 0);
  }
}

bool freed = false;
void note_freed(MPI_T_event_registration, MPI_T_cb_safety, void* user_data) {
  CHECK(user_data == &freed);
  freed = true;
}

void listen(Listener& listener, const char* name, MPI_T_cb_safety safety) {
  listener.event = index_of(name);
  CHECK_OK(MPI_T_event_get_info(listener.event, nullptr, nullptr, nullptr, nullptr, nullptr, &listener.elements,
                                nullptr, nullptr, nullptr, nullptr, nullptr));
  CHECK_OK(MPI_T_event_handle_alloc(listener.event, nullptr, MPI_INFO_NULL, &listener.registration));
  CHECK_OK(MPI_T_event_register_callback(listener.registration, safety, MPI_INFO_NULL, &listener, hear));
}
void silence(Listener& listener) {
  freed = false;
  CHECK_OK(MPI_T_event_handle_free(listener.registration, &freed, note_freed));
  CHECK(freed);
}

void what_there_is() {
  int count = 0, in_category = 0;
  CHECK_OK(MPI_T_event_get_num(&count));
  CHECK(count >= 6);
  CHECK_OK(MPI_T_category_get_num_events(0, &in_category));
  CHECK_EQ(in_category, count);
  for (int i = 0; i < count; ++i) {
    char name[64], text[400];
    int name_length = sizeof name, text_length = sizeof text, elements = 8, bind = -1;
    MPI_Datatype types[8];
    MPI_Aint places[8];
    MPI_Info info = MPI_INFO_NULL;
    CHECK_OK(MPI_T_event_get_info(i, name, &name_length, nullptr, types, places, &elements, nullptr, &info, text,
                                  &text_length, &bind));
    CHECK_OK(MPI_Info_free(&info));
    CHECK_EQ(index_of(name), i);
    CHECK_EQ(bind, MPI_T_BIND_NO_OBJECT);
    CHECK(elements >= 1 && elements <= 8);
    CHECK(types[0] == MPI_INT64_T);
    CHECK_EQ(places[0], 0);
  }
  int none = 0;
  CHECK_EQ(MPI_T_event_get_index("nothing", &none), MPI_T_ERR_INVALID_NAME);
  CHECK_EQ(MPI_T_event_handle_alloc(count, nullptr, MPI_INFO_NULL, nullptr), MPI_T_ERR_INVALID_INDEX);
  MPI_T_event_registration bad = nullptr;
  CHECK_EQ(MPI_T_event_handle_free(bad, nullptr, nullptr), MPI_T_ERR_INVALID_HANDLE);
  int sources = 0;
  CHECK_OK(MPI_T_source_get_num(&sources));
  CHECK_EQ(sources, 1);
  MPI_Count ticks = 0, before = 0, after = 0;
  MPI_T_source_order order{};
  CHECK_OK(MPI_T_source_get_info(0, nullptr, nullptr, nullptr, nullptr, &order, &ticks, nullptr, nullptr));
  CHECK(order == MPI_T_SOURCE_ORDERED && ticks > 0);
  CHECK_OK(MPI_T_source_get_timestamp(0, &before));
  CHECK_OK(MPI_T_source_get_timestamp(0, &after));
  CHECK(after >= before);
}

// Messages from rank 0 to itself and between two ranks, short and long, sent before or after their receives are posted.
void messages(int rank, int size, MPI_T_cb_safety safety, bool uses_mpi) {
  Listener matched, unexpected, begun, ended;
  matched.uses_mpi = uses_mpi;
  listen(matched, "HEADRACE_MESSAGE_MATCHED", safety);
  listen(unexpected, "HEADRACE_MESSAGE_UNEXPECTED", safety);
  listen(begun, "HEADRACE_RENDEZVOUS_BEGUN", safety);
  listen(ended, "HEADRACE_RENDEZVOUS_ENDED", safety);
  const int peer = rank ^ 1;
  if (peer < size) {
    std::vector<char> out(300000, 1), in(300000);
    for (const int bytes : {8, 300000}) {
      for (const bool posted : {true, false}) {
        const int tag = bytes + (posted ? 1 : 0);
        MPI_Request request;
        if (posted) CHECK_OK(MPI_Irecv(in.data(), bytes, MPI_BYTE, peer, tag, world, &request));
        CHECK_OK(MPI_Sendrecv(nullptr, 0, MPI_BYTE, peer, 1, nullptr, 0, MPI_BYTE, peer, 1, world, MPI_STATUS_IGNORE));
        MPI_Request send;
        CHECK_OK(MPI_Isend(out.data(), bytes, MPI_BYTE, peer, tag, world, &send));
        if (!posted) {
          CHECK_OK(MPI_Probe(peer, tag, world, MPI_STATUS_IGNORE));
          CHECK_OK(MPI_Irecv(in.data(), bytes, MPI_BYTE, peer, tag, world, &request));
        }
        CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK_OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
      }
    }
    // Callbacks that may use all of MPI are called in a later progress step.
    CHECK_OK(MPI_Sendrecv(nullptr, 0, MPI_BYTE, peer, 2, nullptr, 0, MPI_BYTE, peer, 2, world, MPI_STATUS_IGNORE));
    int flag = 0;
    for (int i = 0; i < 10; ++i) CHECK_OK(MPI_Iprobe(peer, 12345, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    const auto count = [&](const Listener& listener, std::int64_t tag) {
      int found = 0;
      for (const Heard& each : listener.heard) {
        if (each.elements[0] == peer && each.elements[1] == tag) ++found;
      }
      return found;
    };
    for (const int bytes : {8, 300000}) {
      CHECK_EQ(count(matched, bytes), 1);
      CHECK_EQ(count(matched, bytes + 1), 1);
      CHECK_EQ(count(unexpected, bytes), 1);
      CHECK_EQ(count(unexpected, bytes + 1), 0);
      CHECK_EQ(count(begun, bytes), bytes == 8 ? 0 : 1);
      CHECK_EQ(count(ended, bytes + 1), bytes == 8 ? 0 : 1);
    }
    for (const Heard& each : matched.heard) {
      if (each.elements[0] != peer || each.elements[1] < 8) continue;
      CHECK_EQ(each.elements[3], each.elements[1] < 300000 ? 8 : 300000);
      CHECK_EQ(each.elements[4], each.elements[1] % 2 == 0 ? 1 : 0);
    }
    for (const Heard& each : ended.heard) CHECK_EQ(each.elements[3], MPI_SUCCESS);
  }
  for (Listener* each : {&matched, &unexpected, &begun, &ended}) silence(*each);
  const std::size_t heard = matched.heard.size();
  int value = 0;
  CHECK_OK(MPI_Sendrecv(&value, 1, MPI_INT, rank, 5, &value, 1, MPI_INT, rank, 5, world, MPI_STATUS_IGNORE));
  CHECK_EQ(matched.heard.size(), heard);
}

void collectives(const check::Environment& mpi) {
  Listener begun, ended;
  listen(begun, "HEADRACE_COLLECTIVE_BEGUN", MPI_T_CB_REQUIRE_MPI_RESTRICTED);
  listen(ended, "HEADRACE_COLLECTIVE_ENDED", MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE);
  int one = 1, sum = 0;
  CHECK_OK(MPI_Barrier(world));
  CHECK_EQ(begun.heard.size(), 1);
  CHECK_EQ(ended.heard.size(), 1);
  CHECK_OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, world));
  CHECK_EQ(sum, mpi.size);
  MPI_Request request;
  CHECK_OK(MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, world, &request));
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_Bcast_init(&one, 1, MPI_INT, 0, world, MPI_INFO_NULL, &request));
  for (int i = 0; i < 2; ++i) {
    CHECK_OK(MPI_Start(&request));
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  }
  CHECK_OK(MPI_Request_free(&request));
  CHECK_EQ(begun.heard.size(), 5);
  CHECK_EQ(ended.heard.size(), 5);
  for (std::size_t i = 0; i < ended.heard.size(); ++i) {
    CHECK(ended.heard[i].at >= begun.heard[i].at);
    CHECK_EQ(begun.heard[i].elements[3], mpi.size);
    CHECK_EQ(ended.heard[i].elements[0], begun.heard[i].elements[0]);
    CHECK_EQ(ended.heard[i].elements[4], MPI_SUCCESS);
  }
  CHECK_EQ(begun.heard[1].elements[0], begun.heard[2].elements[0]);
  CHECK(begun.heard[0].elements[0] != begun.heard[1].elements[0]);
  CHECK_EQ(begun.heard[1].elements[2], static_cast<std::int64_t>(sizeof(int)));
  silence(begun);
  silence(ended);
}

// Messages on a channel, to the other rank and to this one.
int on_channel(int argc, char** argv) {
  int provided = 0, size = 0;
  CHECK_OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
  CHECK_OK(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided));
  CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &world));
  CHECK_OK(MPI_Comm_size(world, &size));
  for (const auto safety : {MPI_T_CB_REQUIRE_MPI_RESTRICTED, MPI_T_CB_REQUIRE_NONE})
    messages(check::world_rank(), size, safety, false);
  Listener matched, ended;
  listen(matched, "HEADRACE_MESSAGE_MATCHED", MPI_T_CB_REQUIRE_MPI_RESTRICTED);
  listen(ended, "HEADRACE_RENDEZVOUS_ENDED", MPI_T_CB_REQUIRE_MPI_RESTRICTED);
  std::vector<char> out(300000, 1), in(300000);
  for (const int bytes : {8, 300000}) {
    for (const bool posted : {true, false}) {
      MPI_Request requests[2];
      const int rank = check::world_rank();
      if (posted) CHECK_OK(MPI_Irecv(in.data(), bytes, MPI_BYTE, rank, 4, world, &requests[0]));
      CHECK_OK(MPI_Isend(out.data(), bytes, MPI_BYTE, rank, 4, world, &requests[1]));
      if (!posted) CHECK_OK(MPI_Irecv(in.data(), bytes, MPI_BYTE, rank, 4, world, &requests[0]));
      CHECK_OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
      CHECK_EQ(matched.heard.back().elements[3], bytes);
      CHECK_EQ(matched.heard.back().elements[4], posted ? 0 : 1);
    }
  }
  CHECK_EQ(matched.heard.size(), 4);
  CHECK_EQ(ended.heard.size(), 2);
  silence(matched);
  silence(ended);
  CHECK_OK(MPI_Comm_free(&world));
  CHECK_OK(MPI_Finalize());
  return MPI_T_finalize();
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  if (argc > 1) return on_channel(argc, argv);
  CHECK_EQ(MPI_T_event_get_num(&provided), MPI_T_ERR_NOT_INITIALIZED);
  if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS) return 1;
  {
    // A callback registered before MPI_Init receives later events.
    Listener early;
    listen(early, "HEADRACE_MESSAGE_MATCHED", MPI_T_CB_REQUIRE_THREAD_SAFE);
    const check::Environment mpi(&argc, &argv);
    what_there_is();
    int value = mpi.rank, got = -1;
    CHECK_OK(MPI_Sendrecv(&value, 1, MPI_INT, (mpi.rank + 1) % mpi.size, 3, &got, 1, MPI_INT,
                          (mpi.rank + mpi.size - 1) % mpi.size, 3, world, MPI_STATUS_IGNORE));
    CHECK(!early.heard.empty());
    silence(early);
    CHECK_OK(MPI_Barrier(world));
    messages(mpi.rank, mpi.size, MPI_T_CB_REQUIRE_MPI_RESTRICTED, false);
    messages(mpi.rank, mpi.size, MPI_T_CB_REQUIRE_NONE, false);
    messages(mpi.rank, mpi.size, MPI_T_CB_REQUIRE_NONE, true);
    collectives(mpi);
  }
  MPI_T_finalize();
}
