// Connects two groups that may belong to several jobs (MPI 5.0 sections 7.6.2 and 11.9): the common part of
// MPI_Intercomm_create, MPI_Comm_spawn, MPI_Comm_accept and MPI_Comm_join.
//
// The leaders communicate over a Line. Each group gathers the addresses of its members, the leaders exchange them, and
// every member connects to the other side (p2p/connect_groups.hpp). When all processes of both sides have connected,
// they agree on a context. If any process has an error before all have connected, all processes of both sides return an
// error. Internal to comm/. Threads: library lock.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "boot/channel.hpp"
#include "comm/agree.hpp"
#include "comm/communicator.hpp"
#include "comm/create/assemble.hpp"

namespace hr::comm {

using Blob = std::vector<std::byte>;

class Line {
 public:
  virtual ~Line() = default;
  // Sends a blob and receives the other leader's, making progress. Fails if the other leader has ended.
  virtual Status trade(const Blob& own, Blob* other) = 0;
};

// Uses messages between processes that are already connected.
class PeerLine final : public Line {
 public:
  PeerLine(int own, int other, std::uint32_t context, int tag) noexcept
      : own_(own), other_(other), context_(context), tag_(tag) {}
  Status trade(const Blob& own, Blob* other) override {
    return p2p::run_blocking(exchange_blobs(own_, other_, context_, tag_, &own, other));
  }

 private:
  int own_;
  int other_;
  std::uint32_t context_;
  int tag_;
};

// Uses a socket.
class ChannelLine final : public Line {
 public:
  explicit ChannelLine(std::unique_ptr<boot::Channel> channel) noexcept : channel_(std::move(channel)) {}
  Status trade(const Blob& own, Blob* other) override;

 private:
  std::unique_ptr<boot::Channel> channel_;
};

// Broadcasts the leader's status and, if the status is an error, its message.
Status tell_status(const Members& members, int leader, Status at_leader);
// Broadcasts the leader's status as above and, if there is no error, the leader's blob.
Status tell(const Members& members, int leader, Status at_leader, Blob* blob);

// Connects the groups; collective over both. `line`: needed at the leader, if `at_leader` is not an error. `local`: the
// group of the members.
Status connect_groups(const Members& members, int leader, Status at_leader, Line* line, Ref<Group> local,
                      const Ref<Errhandler>& errhandler, Ref<Communicator>* result);

// Data that two connected groups need to agree on a context and create their communicator. The leaders exchange
// messages in this context with this tag.
struct Bridge {
  int leader = 0;          // index in the local members
  int remote_leader = -1;  // process
  std::uint32_t context = 0;
  int tag = 0;
};
Status join_groups(const Members& members, const Bridge& bridge, std::vector<int> remote, Ref<Group> local,
                   const Ref<Errhandler>& errhandler, Ref<Communicator>* result);

// Packs the names of processes, for receivers that already know these processes.
Blob pack_names(const ProcList& procs);
// True if all these processes and the named ones belong to one job.
[[nodiscard]] bool of_one_job(const ProcList& procs, const Blob& names);
// Errors: MPI_ERR_OTHER for a process that this process does not know.
Status unpack_names(const Blob& names, std::vector<int>* procs);

}  // namespace hr::comm
