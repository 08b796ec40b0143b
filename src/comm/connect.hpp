// Connecting two groups that may be of several jobs (MPI 5.0 sections 7.6.2 and 11.9): what MPI_Intercomm_create,
// MPI_Comm_spawn, MPI_Comm_accept and MPI_Comm_join have in common.
//
// The leaders talk over a line that they have. Each group gathers how its members are reached, the leaders trade that,
// every member meets the other side (p2p/meeting.hpp), and when all of both sides have, they agree on a context. An
// error anywhere before is an error on all of both sides. Internal to comm/. Threads: library lock.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "boot/channel.hpp"
#include "comm/agree.hpp"
#include "comm/assemble.hpp"
#include "comm/communicator.hpp"

namespace hr::comm {

using Blob = std::vector<std::byte>;

class Line {
 public:
  virtual ~Line() = default;
  // Gives a blob and gets the other leader's, making progress. Errors: that the other leader is gone.
  virtual Status trade(const Blob& own, Blob* other) = 0;
};

// Through messages of processes that reach each other.
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

// Through a socket.
class ChannelLine final : public Line {
 public:
  explicit ChannelLine(std::unique_ptr<boot::Channel> channel) noexcept : channel_(std::move(channel)) {}
  Status trade(const Blob& own, Blob* other) override;

 private:
  std::unique_ptr<boot::Channel> channel_;
};

// Everyone gets the leader's status, and where it is an error its text.
Status tell_status(const Members& members, int leader, Status at_leader);
// The same, and where it is none what is in the leader's blob.
Status tell(const Members& members, int leader, Status at_leader, Blob* blob);

// Collective over both groups. `line`: at the leader, where `at_leader` is no error. `local`: the group of the members.
Status connect_groups(const Members& members, int leader, Status at_leader, Line* line, Ref<Group> local,
                      const Ref<Errhandler>& errhandler, Ref<Communicator>* result);

// The agreement of two groups that reach each other, and the communicator. The leaders agree at this context and tag.
struct Bridge {
  int leader = 0;          // index in the local members
  int remote_leader = -1;  // process
  std::uint32_t context = 0;
  int tag = 0;
};
Status join_groups(const Members& members, const Bridge& bridge, std::vector<int> remote, Ref<Group> local,
                   const Ref<Errhandler>& errhandler, Ref<Communicator>* result);

// Names of processes, for who knows them.
Blob pack_names(const ProcList& procs);
// Whether these and the named ones are of one job.
[[nodiscard]] bool of_one_job(const ProcList& procs, const Blob& names);
// Errors: MPI_ERR_OTHER for a process that is not known here.
Status unpack_names(const Blob& names, std::vector<int>* procs);

}  // namespace hr::comm
