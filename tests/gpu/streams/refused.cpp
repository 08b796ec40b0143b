// Calls that fail: in captures, on drivers that cannot capture operations, and with wrong arguments.
#include <mpix-device.h>

#include <string>

#include "../memory_in_use.hpp"
#include "../variable.hpp"
#include "parts.hpp"

namespace streams {

// Calls that cannot be captured fail, and the capture continues.
void refused_in_capture(const Kernels& kernels) {
  for (int mode = 0; mode < 3; ++mode) {
    const Lane lane(kernels);
    Buffer from(64, MemoryKind::kDevice), to(64, MemoryKind::kDevice);
    from.put(counting(16, 7));
    poison(to);
    gpu::synchronize();
    MPI_Request before[2];
    CHECK_OK(MPIX_Irecv_enqueue(to.get(), 16, MPI_UINT32_T, lane.previous, 0, lane.comm(), &before[0]));
    CHECK_OK(MPIX_Isend_enqueue(from.get(), 16, MPI_UINT32_T, lane.next, 0, lane.comm(), &before[1]));
    MPI_Request inside = MPI_REQUEST_NULL;
    {
      const Graph graph(lane, mode, [&] {
        CHECK_CLASS(MPIX_Wait_enqueue(&before[0], MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
        CHECK_CLASS(MPI_Send(from.get(), 16, MPI_UINT32_T, lane.next, 0, lane.comm()), MPI_ERR_OTHER);
        CHECK_CLASS(MPI_Barrier(lane.comm()), MPI_ERR_OTHER);
        CHECK_OK(MPIX_Isend_enqueue(from.get(), 16, MPI_UINT32_T, MPI_PROC_NULL, 0, lane.comm(), &inside));
        lane.fill(from, 8);
      });
      CHECK_CLASS(MPIX_Wait_enqueue(&inside, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
      CHECK_OK(MPIX_Waitall_enqueue(2, before, MPI_STATUSES_IGNORE));
      lane.wait();
      expect(to.take<Word>(), counting(16, 7), "a message enqueued before a capture");
      graph.launch();
      lane.wait();
      expect(from.take<Word>(), counting(16, 8), "a graph with refused calls");
    }
    CHECK_OK(MPI_Request_free(&inside));
  }
}

// For drivers whose streams wait only for their own words: every enqueued operation is refused in a capture, which goes
// on and holds the rest, and matched requests are executed as if they were not matched.
void declined(const Kernels& kernels) {
  constexpr std::size_t kCount = 3000;
  constexpr int kElements = static_cast<int>(kCount);
  const Lane lane(kernels);
  Buffer from(kCount * sizeof(Word), MemoryKind::kDevice), to(kCount * sizeof(Word), MemoryKind::kDevice);
  MPI_Request requests[2];
  CHECK_OK(MPI_Send_init(from.get(), kElements, MPI_UINT32_T, lane.next, 1, lane.comm(), &requests[0]));
  CHECK_OK(MPI_Recv_init(to.get(), kElements, MPI_UINT32_T, lane.previous, 1, lane.comm(), &requests[1]));
  CHECK_OK(MPIX_Matchall(2, requests));
  hr::test::Variable by_streams("HEADRACE_ENQUEUED_BY_STREAMS");
  for (int mode = 0; mode < 3; ++mode) {
    poison(to);
    gpu::synchronize();
    const Graph graph(lane, mode, [&] {
      MPI_Request request = MPI_REQUEST_NULL;
      const auto refused = [&](int code) {
        CHECK_CLASS(code, MPI_ERR_UNSUPPORTED_OPERATION);
        CHECK(check::error_text(code).find("the capture is still valid") != std::string::npos);
      };
      refused(MPIX_Send_enqueue(from.get(), kElements, MPI_UINT32_T, lane.next, 0, lane.comm()));
      refused(MPIX_Irecv_enqueue(to.get(), kElements, MPI_UINT32_T, lane.previous, 0, lane.comm(), &request));
      refused(MPIX_Allreduce_enqueue(from.get(), to.get(), kElements, MPI_UINT32_T, MPI_SUM, lane.comm()));
      refused(MPIX_Startall_enqueue(2, requests, lane.comm()));
      refused(MPIX_Runall_enqueue(2, requests, lane.comm()));
      CHECK_CLASS(MPI_Barrier(lane.comm()), MPI_ERR_OTHER);
      lane.fill(from, value_of(lane.rank, mode));
    });
    graph.launch();
    CHECK_OK(MPIX_Startall_enqueue(2, requests, lane.comm()));
    CHECK_OK(MPIX_Waitall_enqueue(2, requests, MPI_STATUSES_IGNORE));
    lane.wait();
    expect(from.take<Word>(), counting(kCount, value_of(lane.rank, mode)), "a graph with refused calls");
    expect(to.take<Word>(), counting(kCount, value_of(lane.previous, mode)), "requests that could not be matched");
  }
  CHECK(by_streams.take() == 0);
  for (MPI_Request& each : requests) CHECK_OK(MPI_Request_free(&each));
}

// Each call that takes an array of requests refuses one that stands there twice, names its place, and does nothing.
void named_twice(const Lane& lane) {
  Buffer from(64, MemoryKind::kDevice), to(64, MemoryKind::kDevice);
  from.put(counting(16, value_of(lane.rank, 0)));
  poison(to);
  gpu::synchronize();
  const auto refused = [&](int code, const char* where) {
    CHECK_CLASS(code, MPI_ERR_REQUEST);
    const std::string text = check::error_text(code);
    if (text.find(where) == std::string::npos) check::fail(__FILE__, __LINE__, "another text: " + text);
  };
  MPI_Request send = MPI_REQUEST_NULL, receive = MPI_REQUEST_NULL;
  CHECK_OK(MPI_Send_init(from.get(), 16, MPI_UINT32_T, lane.next, 6, lane.comm(), &send));
  CHECK_OK(MPI_Recv_init(to.get(), 16, MPI_UINT32_T, lane.previous, 6, lane.comm(), &receive));
  MPI_Request three[] = {send, receive, send};
  refused(MPIX_Matchall(3, three), "array_of_requests[2] is the same request as array_of_requests[0]");
  refused(MPIX_Startall_enqueue(3, three, lane.comm()), "array_of_requests[2] is the same request");
  refused(MPIX_Runall_enqueue(3, three, lane.comm()), "array_of_requests[2] is the same request");
  CHECK_OK(MPIX_Startall_enqueue(2, three, lane.comm()));
  MPI_Request with_null[] = {receive, MPI_REQUEST_NULL, MPI_REQUEST_NULL, send, receive};
  refused(MPIX_Waitall_enqueue(5, with_null, MPI_STATUSES_IGNORE),
          "array_of_requests[4] is the same request as array_of_requests[0]");
  CHECK_OK(MPIX_Waitall_enqueue(4, with_null, MPI_STATUSES_IGNORE));
  lane.wait();
  expect(to.take<Word>(), counting(16, value_of(lane.previous, 0)), "a message after requests named twice");
  for (MPI_Request* const each : {&send, &receive}) CHECK_OK(MPI_Request_free(each));

  MPI_Request once[2];
  CHECK_OK(MPIX_Isend_enqueue(from.get(), 16, MPI_UINT32_T, MPI_PROC_NULL, 0, lane.comm(), &once[0]));
  once[1] = once[0];
  refused(MPIX_Waitall_enqueue(2, once, MPI_STATUSES_IGNORE), "array_of_requests[1] is the same request");
  CHECK_OK(MPIX_Wait_enqueue(&once[0], MPI_STATUS_IGNORE));
  lane.wait();
}

void errors(const Kernels& kernels) {
  MPI_Comm plain = MPI_COMM_NULL, nameless = MPI_COMM_NULL;
  MPIX_Stream name = MPIX_STREAM_NULL, found = MPIX_STREAM_NULL;
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  CHECK_OK(MPIX_Stream_comm_create(MPI_COMM_WORLD, MPIX_STREAM_NULL, &plain));
  CHECK_OK(MPIX_Stream_create(MPI_INFO_NULL, &name));
  CHECK_OK(MPIX_Stream_comm_create(MPI_COMM_WORLD, name, &nameless));
  Word word = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  CHECK_CLASS(MPIX_Send_enqueue(&word, 1, MPI_UINT32_T, 0, 0, MPI_COMM_WORLD), MPI_ERR_COMM);
  CHECK_CLASS(MPIX_Send_enqueue(&word, 1, MPI_UINT32_T, 0, 0, plain), MPI_ERR_COMM);
  CHECK_CLASS(MPIX_Send_enqueue(&word, 1, MPI_UINT32_T, 0, 0, nameless), MPI_ERR_COMM);
  CHECK_OK(MPIX_Comm_get_stream(nameless, 0, &found));
  CHECK(found == name);
  CHECK_OK(MPIX_Comm_get_stream(plain, 0, &found));
  CHECK(found == MPIX_STREAM_NULL);
  CHECK_CLASS(MPIX_Comm_get_stream(plain, 1, &found), MPI_ERR_ARG);
  CHECK_OK(MPIX_Stream_progress(name));
  CHECK_OK(MPI_Comm_free(&plain));
  CHECK_OK(MPI_Comm_free(&nameless));
  CHECK_OK(MPIX_Stream_free(&name));
  CHECK(name == MPIX_STREAM_NULL);
  CHECK_CLASS(MPIX_Stream_free(&name), MPI_ERR_ARG);

  MPI_Info info = MPI_INFO_NULL;
  CHECK_OK(MPI_Info_create(&info));
  CHECK_OK(MPI_Info_set(info, "type", MPIX_Query_hip_support() != 0 ? "ze_command_list_handle_t" : "hipStream_t"));
  CHECK_CLASS(MPIX_Stream_create(info, &name), MPI_ERR_UNSUPPORTED_OPERATION);
  CHECK_OK(MPI_Info_set(info, "type", "cudaStream_t"));
  CHECK_CLASS(MPIX_Stream_create(info, &name), MPI_ERR_INFO_NOKEY);
  CHECK_OK(MPI_Info_set(info, "value", "12"));
  CHECK_CLASS(MPIX_Stream_create(info, &name), MPI_ERR_INFO_VALUE);
  const auto per_thread = std::uintptr_t{2};
  CHECK_OK(MPIX_Info_set_hex(info, "value", &per_thread, sizeof per_thread));
  CHECK_CLASS(MPIX_Stream_create(info, &name), MPI_ERR_ARG);
  CHECK_OK(MPI_Info_free(&info));

  {
    const Lane lane(kernels);
    Buffer data(64, MemoryKind::kDevice);
    CHECK_CLASS(MPIX_Send_enqueue(data.get(), 16, MPI_UINT32_T, lane.size, 0, lane.comm()), MPI_ERR_RANK);
    CHECK_CLASS(MPIX_Send_enqueue(data.get(), 16, MPI_UINT32_T, 0, -7, lane.comm()), MPI_ERR_TAG);
    CHECK_CLASS(MPIX_Send_enqueue(data.get(), -1, MPI_UINT32_T, 0, 0, lane.comm()), MPI_ERR_COUNT);
    CHECK_CLASS(MPIX_Send_enqueue(data.get(), 17, MPI_UINT32_T, 0, 0, lane.comm()), MPI_ERR_BUFFER);
    CHECK_CLASS(MPIX_Send_enqueue(nullptr, 1, MPI_UINT32_T, 0, 0, lane.comm()), MPI_ERR_BUFFER);
    CHECK_OK(MPI_Irecv(&word, 1, MPI_UINT32_T, lane.rank, 3, MPI_COMM_WORLD, &request));
    CHECK_CLASS(MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
    CHECK_CLASS(MPIX_Startall_enqueue(1, &request, lane.comm()), MPI_ERR_REQUEST);
    const Word sent = 1;
    CHECK_OK(MPI_Send(&sent, 1, MPI_UINT32_T, lane.rank, 3, MPI_COMM_WORLD));
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_OK(MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE));  // MPI_REQUEST_NULL

    named_twice(lane);

    // If a message is too long, the stream continues, and the next call reports the error.
    Buffer small(16, MemoryKind::kDevice);
    CHECK_OK(MPIX_Isend_enqueue(data.get(), 16, MPI_UINT32_T, lane.rank, 4, lane.comm(), &request));
    CHECK_OK(MPIX_Recv_enqueue(small.get(), 4, MPI_UINT32_T, lane.rank, 4, lane.comm(), MPI_STATUS_IGNORE));
    CHECK_OK(MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE));
    lane.wait();
    CHECK_CLASS(MPIX_Send_enqueue(data.get(), 16, MPI_UINT32_T, MPI_PROC_NULL, 0, lane.comm()), MPI_ERR_TRUNCATE);
    CHECK_OK(MPIX_Send_enqueue(data.get(), 16, MPI_UINT32_T, MPI_PROC_NULL, 0, lane.comm()));

    // The buffer is freed before the stream reaches the operation. Devices may keep the buffer mapped in its pool.
    const Lane other(kernels);
    auto freed = std::make_unique<Buffer>(64, MemoryKind::kPool);
    const gpu::Event gate = gpu::create_event();
    CHECK_OK(MPIX_Recv_enqueue(data.get(), 16, MPI_UINT32_T, lane.rank, 1, other.comm(), MPI_STATUS_IGNORE));
    gpu::record(gate, other.stream());
    gpu::wait(lane.stream(), gate);
    CHECK_OK(MPIX_Send_enqueue(freed->get(), 16, MPI_UINT32_T, lane.rank, 2, lane.comm()));
    freed.reset();
    MPI_Request opens[2];
    Word unused[16];
    CHECK_OK(MPI_Recv_init(unused, 16, MPI_UINT32_T, lane.rank, 2, lane.comm(), &opens[0]));
    CHECK_OK(MPI_Send_init(&word, 1, MPI_UINT32_T, lane.rank, 1, other.comm(), &opens[1]));
    CHECK_OK(MPI_Startall(2, opens));
    lane.wait();
    gpu::destroy_event(gate);
    const int code = MPIX_Send_enqueue(data.get(), 16, MPI_UINT32_T, MPI_PROC_NULL, 0, lane.comm());
    if (code != MPI_SUCCESS || hr::test::on_fake_driver()) {
      check::equal(__FILE__, __LINE__, "the class for a freed buffer", check::error_class(code), MPI_ERR_BUFFER);
      CHECK_OK(MPIX_Send_enqueue(data.get(), 16, MPI_UINT32_T, lane.rank, 2, lane.comm()));
      lane.wait();
    }
    CHECK_OK(MPI_Waitall(2, opens, MPI_STATUSES_IGNORE));
    for (MPI_Request& each : opens) CHECK_OK(MPI_Request_free(&each));
  }
}

}  // namespace streams
