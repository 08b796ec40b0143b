// Alltoall over hosts for short blocks: one process of each host, its leader, gathers the blocks of its host, exchanges
// one message with each other leader, and scatters what has arrived. This needs one connection per pair of hosts,
// whereas alltoall:hosts needs one per process and remote host.
#include <algorithm>

#include "coll/compose/step.hpp"
#include "coll/registry.hpp"

namespace hr::coll {
namespace {

std::size_t index(int i) noexcept { return static_cast<std::size_t>(i); }

// Memory for the blocks. A row holds all blocks that a process sends, or receives, in the order of hosts.ranks(). A
// message holds all blocks from one host to another, in the order of senders. Only leaders have more than one row.
class Rows {
 public:
  Rows(const Hosts& hosts, std::size_t block, bool leads)
      : hosts_(hosts),
        block_(block),
        row_bytes_(hosts.ranks().size() * block),
        here_(leads ? index(hosts.here().size()) : 0),
        own_(row_bytes_),
        rows_(here_ * row_bytes_),
        out_(here_ * row_bytes_),
        in_(here_ * row_bytes_) {}
  [[nodiscard]] std::size_t row_bytes() const noexcept { return row_bytes_; }
  // Returns the row of this process.
  [[nodiscard]] View own() noexcept { return own_.view(0, row_bytes_); }
  // Returns the rows of this host. Only on a leader.
  [[nodiscard]] Blocks of_host() noexcept { return byte_blocks(rows_.view(0, here_ * row_bytes_), row_bytes_); }

  // Posts receives for the messages of the other leaders.
  Status receive(const Call& call, p2p::RequestList& requests) {
    for (int host = 0; here_ != 0 && host < hosts_.count(); ++host) {
      if (host != hosts_.own()) HR_TRY(receive_from(call, hosts_.ranks(host)[0], message(in_, host), requests.next()));
    }
    return kOk;
  }
  // Sends one message to each other leader, in an order in which no leader is the first for all.
  Status send(const Call& call, p2p::RequestList& requests) {
    for (int step = 1; here_ != 0 && step < hosts_.count(); ++step) {
      const int host = (hosts_.own() + step) % hosts_.count();
      HR_TRY(send_to(call, hosts_.ranks(host)[0], message(out_, host), requests.next()));
    }
    return kOk;
  }
  // Copies the rows of this host's processes into messages.
  void make_messages() noexcept {
    for (int host = 0; host < hosts_.count(); ++host) {
      const std::size_t bytes = hosts_.ranks(host).size() * block_;
      std::byte* to = (host == hosts_.own() ? in_ : out_).data() + begin(host);
      for (std::size_t sender = 0; sender < here_; ++sender) {
        to = std::copy_n(rows_.data() + sender * row_bytes_ + index(hosts_.begin(host)) * block_, bytes, to);
      }
    }
  }
  // Copies the blocks in the messages from all hosts into the rows of their receivers.
  void make_rows() noexcept {
    const std::byte* from = in_.data();
    for (std::size_t sender = 0; sender < hosts_.ranks().size(); ++sender) {
      for (std::size_t receiver = 0; receiver < here_; ++receiver, from += block_) {
        std::copy_n(from, block_, rows_.data() + receiver * row_bytes_ + sender * block_);
      }
    }
  }
  // Copies blocks from the program's buffer into the row of this process.
  Status pack(const Blocks& blocks) {
    StepsOutcome outcome;
    std::byte* to = own_.data();
    for (const int rank : hosts_.ranks()) {
      View from;
      outcome.add(blocks.block(rank, &from));
      if (from.packed != block_)
        outcome.add(fail(from.packed > block_ ? Errc::kTruncate : Errc::kCount,
                         "send count and type are %zu bytes a process, receive count and type %zu", from.packed,
                         block_));
      outcome.add(layout::pack(from, 0, std::min(block_, from.packed), to));
      to += block_;
    }
    return outcome.result();
  }
  // Copies the row of this process into the program's buffer.
  Status unpack(const Blocks& blocks) {
    StepsOutcome outcome;
    const std::byte* from = own_.data();
    for (const int rank : hosts_.ranks()) {
      View to;
      outcome.add(blocks.block(rank, &to));
      outcome.add(layout::unpack(to, 0, block_, from));
      from += block_;
    }
    return outcome.result();
  }

 private:
  [[nodiscard]] std::size_t begin(int host) const noexcept { return index(hosts_.begin(host)) * here_ * block_; }
  [[nodiscard]] View message(Scratch& memory, int host) noexcept {
    return memory.view(begin(host), begin(host + 1) - begin(host));
  }

  const Hosts& hosts_;
  std::size_t block_;
  std::size_t row_bytes_;
  std::size_t here_;  // number of rows
  Scratch own_, rows_, out_, in_;
};

Task run(const Call& call) {
  const Levels levels(call);
  Step up(call, &levels.here(), Operation::kGather);
  Step down(call, &levels.here(), Operation::kScatter);
  Rows rows(levels.hosts(), call.bytes, levels.speaks());
  p2p::RequestList requests(2 * index(levels.hosts().count()));
  StepsOutcome outcome;
  outcome.add(rows.receive(call, requests));
  Task leave = defer_device_data(call);
  const Status left = co_await leave;
  outcome.add(left);
  outcome.add(rows.pack(call.in_place ? call.recv : call.send));
  up.call.bytes = rows.row_bytes();
  up.call.send = one_block(rows.own());
  down.call.bytes = rows.row_bytes();
  down.call.recv = one_block(rows.own());
  if (levels.speaks()) {
    up.call.recv = rows.of_host();
    down.call.send = rows.of_host();
  }
  Task gathered = up.run();
  const Status went_up = co_await gathered;
  if (!outcome.add_step(went_up)) co_return outcome.without({&down});
  rows.make_messages();
  outcome.add(rows.send(call, requests));
  const Status went_across = co_await requests.all();
  outcome.add(went_across);
  rows.make_rows();
  Task scattered = down.run();
  const Status came_down = co_await scattered;
  outcome.add(came_down);
  outcome.add(rows.unpack(call.recv));
  co_return outcome.result();
}

}  // namespace

const Algorithm alltoall_leader = {.name = "hosts_leader",
                                   .operations = serves(Operation::kAlltoall),
                                   .probe = &over_hosts,
                                   .run = &run,
                                   .composes = true};

}  // namespace hr::coll
