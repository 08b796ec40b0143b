// Channel calls: the bodies of the entry points that a channel other than 0 can execute (`channel` in api/functions/;
// p2p/channel.hpp), and of those on windows that need no library lock.
//
// Once this process has offered channels to the others (kReadyWithChannels in bind/runtime.hpp), an entry point calls
// its function here first, before it takes the library lock. False: the call is not for such a channel, or an argument
// is wrong; nothing has happened, and the ordinary body follows. True: the call is done, and *code is its result. A
// call on requests of several channels is executed here, even if some of them belong to channel 0. Threads: any; if the
// program calls from a callback, the library lock is released for the duration of the call.
#pragma once

#include "base/counter_parts.hpp"
#include "base/lock.hpp"
#include "bind/handles.hpp"
#include "bind/raise.hpp"
#include "mpi.h"

namespace hr::bind::channel_calls {

// False for predefined communicators: their calls cost no more than without channels.
inline bool may_use(MPI_Comm comm) noexcept { return reinterpret_cast<std::uintptr_t>(comm) >= kFirstAddress; }

// Releases the library lock for the duration of a call, if the thread holds it (in a callback of the program).
class Outside {
 public:
  Outside() noexcept : depth_(LibraryLock::suspend()) {}
  ~Outside() { LibraryLock::resume(depth_); }
  Outside(const Outside&) = delete;
  Outside& operator=(const Outside&) = delete;

 private:
  int depth_;
};

// Counts a call in the thread's part. Owner: the body, which withdraws it if the call is not for a channel.
class Counted : public counters::ChannelCall {
 public:
  explicit Counted(const Call& call) noexcept : ChannelCall(call.number, call.place) {}
};

#define HR_SEND(name)                                                                                     \
  bool name(const Call& call, const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, \
            MPI_Comm comm, int* code)
#define HR_ISEND(name)                                                                                    \
  bool name(const Call& call, const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, \
            MPI_Comm comm, MPI_Request* request, int* code)
HR_SEND(send);
HR_SEND(ssend);
HR_SEND(rsend);
HR_SEND(bsend);
HR_ISEND(isend);
HR_ISEND(issend);
HR_ISEND(irsend);
HR_ISEND(ibsend);
HR_ISEND(send_init);
HR_ISEND(ssend_init);
HR_ISEND(rsend_init);
HR_ISEND(bsend_init);
#undef HR_SEND
#undef HR_ISEND

bool recv(const Call& call, void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
          MPI_Status* status, int* code);
bool irecv(const Call& call, void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
           MPI_Request* request, int* code);
bool recv_init(const Call& call, void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
               MPI_Request* request, int* code);
bool sendrecv(const Call& call, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest, int sendtag,
              void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm,
              MPI_Status* status, int* code);
bool isendrecv(const Call& call, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest, int sendtag,
               void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm,
               MPI_Request* request, int* code);
bool sendrecv_replace(const Call& call, void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int sendtag,
                      int source, int recvtag, MPI_Comm comm, MPI_Status* status, int* code);
bool isendrecv_replace(const Call& call, void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int sendtag,
                       int source, int recvtag, MPI_Comm comm, MPI_Request* request, int* code);

bool probe(const Call& call, int source, int tag, MPI_Comm comm, MPI_Status* status, int* code);
bool iprobe(const Call& call, int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status, int* code);
bool mprobe(const Call& call, int source, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status, int* code);
bool improbe(const Call& call, int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message, MPI_Status* status,
             int* code);
bool mrecv(const Call& call, void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Message* message,
           MPI_Status* status, int* code);
bool imrecv(const Call& call, void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Message* message,
            MPI_Request* request, int* code);

bool wait(const Call& call, MPI_Request* request, MPI_Status* status, int* code);
bool waitall(const Call& call, int count, MPI_Request* requests, MPI_Status* statuses, int* code);
bool waitany(const Call& call, int count, MPI_Request* requests, int* index, MPI_Status* status, int* code);
bool waitsome(const Call& call, int count, MPI_Request* requests, int* outcount, int* indices, MPI_Status* statuses,
              int* code);
bool test(const Call& call, MPI_Request* request, int* flag, MPI_Status* status, int* code);
bool testall(const Call& call, int count, MPI_Request* requests, int* flag, MPI_Status* statuses, int* code);
bool testany(const Call& call, int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status, int* code);
bool testsome(const Call& call, int count, MPI_Request* requests, int* outcount, int* indices, MPI_Status* statuses,
              int* code);
bool request_get_status(const Call& call, MPI_Request request, int* flag, MPI_Status* status, int* code);
bool request_get_status_all(const Call& call, int count, const MPI_Request* requests, int* flag, MPI_Status* statuses,
                            int* code);
bool request_get_status_any(const Call& call, int count, const MPI_Request* requests, int* index, int* flag,
                            MPI_Status* status, int* code);
bool request_get_status_some(const Call& call, int count, const MPI_Request* requests, int* outcount, int* indices,
                             MPI_Status* statuses, int* code);
bool start(const Call& call, MPI_Request* request, int* code);
bool startall(const Call& call, int count, MPI_Request* requests, int* code);
bool cancel(const Call& call, MPI_Request* request, int* code);
bool request_free(const Call& call, MPI_Request* request, int* code);

// Calls on windows, which need no lock, or the window's own (rma/direct.hpp).
bool put(const Call& call, const void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
         int target_rank, MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_datatype, MPI_Win win,
         int* code);
bool get(const Call& call, void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype, int target_rank,
         MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_datatype, MPI_Win win, int* code);
bool accumulate(const Call& call, const void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
                int target_rank, MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_datatype, MPI_Op op,
                MPI_Win win, int* code);
bool fetch_and_op(const Call& call, const void* origin_addr, void* result_addr, MPI_Datatype datatype, int target_rank,
                  MPI_Aint target_disp, MPI_Op op, MPI_Win win, int* code);
bool compare_and_swap(const Call& call, const void* origin_addr, const void* compare_addr, void* result_addr,
                      MPI_Datatype datatype, int target_rank, MPI_Aint target_disp, MPI_Win win, int* code);
bool win_flush(const Call& call, int rank, MPI_Win win, int* code);
bool win_flush_local(const Call& call, int rank, MPI_Win win, int* code);
bool win_flush_all(const Call& call, MPI_Win win, int* code);
bool win_flush_local_all(const Call& call, MPI_Win win, int* code);
bool win_sync(const Call& call, MPI_Win win, int* code);
bool win_lock(const Call& call, int lock_type, int rank, int assert, MPI_Win win, int* code);
bool win_unlock(const Call& call, int rank, MPI_Win win, int* code);

}  // namespace hr::bind::channel_calls
