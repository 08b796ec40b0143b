// Alltoall, alltoallv and alltoallw over hosts: a process does not send to every process of other hosts. Instead, the
// processes of a host divide the remote processes among themselves: each carries the blocks of its whole host to some
// of them.
//
// First, within the host, each process passes every block to its carrier, or directly to its receiver on the same host.
// Then each carrier sends one message to each remote process that it serves, with the blocks of its host in the order
// of their senders. The carriers are computed from the distribution of processes over hosts, which can be any.
// For alltoallv and alltoallw the processes of a host first exchange the lengths of these blocks. Long blocks to other
// hosts are sent directly by their sender, not carried; both ends know from their arguments which blocks these are. The
// choice is made here because the selection does not know the lengths.
#include <algorithm>

#include "coll/compose/step.hpp"
#include "coll/registry.hpp"

namespace hr::coll {
namespace {

std::size_t index(int i) noexcept { return static_cast<std::size_t>(i); }

// Minimum length of blocks of alltoallv and alltoallw that are not carried.
constexpr std::size_t kLong = 4096;

// Returns the index of the process on host `from` that carries the blocks for process `target` (an index) on host `to`.
// If the hosts have equally many processes, `target` in turn carries the blocks for the returned process, so that both
// directions use the same connection.
int carrier(const Hosts& hosts, int from, int to, int target) {
  const auto carriers = static_cast<int>(hosts.ranks(from).size());
  return from == to ? target : ((from + to - target) % carriers + carriers) % carriers;
}

// Returns the ranks that each process of this host serves.
std::vector<std::vector<int>> served_by(const Hosts& hosts) {
  std::vector<std::vector<int>> served(index(hosts.here().size()));
  for (int host = 0; host < hosts.count(); ++host) {
    const std::span<const int> ranks = hosts.ranks(host);
    for (std::size_t i = 0; i < ranks.size(); ++i)
      served[index(carrier(hosts, hosts.own(), host, static_cast<int>(i)))].push_back(ranks[i]);
  }
  return served;
}

// Consecutive blocks: counts and displacements for an operation on bytes, and the sum of the counts.
struct Runs {
  std::vector<Count> counts;
  std::vector<Count> displacements;
  std::size_t bytes = 0;
  void add(std::size_t length) {
    displacements.push_back(static_cast<Count>(bytes));
    counts.push_back(static_cast<Count>(length));
    bytes += length;
  }
  [[nodiscard]] Blocks of(const View& view) const {
    return Blocks::counted_in(view, counts.data(), displacements.data());
  }
};

// Blocks, lengths and buffers of the operation. `out_`: the blocks that this process sends, which are in recv if in
// place.
class Carried {
 public:
  Carried(const Call& call, const Hosts& hosts)
      : call_(call), hosts_(hosts), out_(call.in_place ? call.recv : call.send), served_(served_by(hosts)) {
    for (const std::vector<int>& ranks : served_) {
      std::size_t sum = 0;
      told_out_.add(ranks.size() * sizeof(std::size_t));
      told_in_.add(serves().size() * sizeof(std::size_t));
      for (const int rank : ranks) {
        own_lengths_.push_back(length(rank));
        sum += own_lengths_.back();
      }
      given_.add(sum);
    }
  }
  [[nodiscard]] bool equal() const noexcept { return call_.operation == Operation::kAlltoall; }
  // True if all processes of this host send one another the same number of bytes.
  [[nodiscard]] bool even() const noexcept {
    return equal() && std::all_of(served_.begin(), served_.end(),
                                  [this](const std::vector<int>& ranks) { return ranks.size() == serves().size(); });
  }
  // Ranks whose blocks this process carries, including its own.
  [[nodiscard]] const std::vector<int>& serves() const noexcept { return served_[index(hosts_.here().own())]; }

  // Prepares the step that sends the lengths of the outgoing blocks, and receives those of the incoming ones.
  void tell(Step& step) {
    lengths_.assign(index(hosts_.here().size()) * serves().size(), call_.bytes);
    step.call.send = told_out_.of(bytes_of(own_lengths_));
    step.call.recv = told_in_.of(bytes_of(lengths_));
    step.call.bytes = 0;
  }
  // Prepares the step that exchanges the blocks within the host, once the lengths are known.
  Status give(Step& step) {
    for (int i = 0; i < hosts_.here().size(); ++i) {
      std::size_t sum = 0;
      for (std::size_t k = 0; k < serves().size(); ++k) sum += length_from(i, k);
      taken_.add(sum);
    }
    out_memory_.emplace(given_.bytes);
    in_memory_.emplace(taken_.bytes);
    const View out = out_memory_->view(0, given_.bytes);
    const View in = in_memory_->view(0, taken_.bytes);
    step.call.bytes = even() ? serves().size() * call_.bytes : 0;
    step.call.send = even() ? byte_blocks(out, step.call.bytes) : given_.of(out);
    step.call.recv = even() ? byte_blocks(in, step.call.bytes) : taken_.of(in);
    StepsOutcome outcome;
    std::byte* to = out_memory_->data();
    for (const std::vector<int>& ranks : served_) {
      for (const int rank : ranks) {
        View from;
        outcome.add(out_.block(rank, &from));
        const std::size_t length = this->length(rank);
        if (from.packed != length && !goes_straight(rank, from.packed))
          outcome.add(fail(from.packed > length ? Errc::kTruncate : Errc::kCount,
                           "send count and type are %zu bytes a process, receive count and type %zu", from.packed,
                           length));
        outcome.add(layout::pack(from, 0, std::min(length, from.packed), to));
        to += length;
      }
    }
    return outcome.result();
  }
  // Exchanges the blocks that are not carried; both ends know which blocks these are.
  Status exchange_long(p2p::RequestList& requests) {
    View view;
    for (int rank = 0; rank < call_.size(); ++rank) {
      if (!goes_straight(rank, call_.recv.bytes(rank))) continue;
      HR_TRY(call_.recv.block(rank, &view));
      HR_TRY(receive_from(call_, rank, view, requests.next()));
    }
    for (int step = 1; step < call_.size(); ++step) {
      const int rank = (call_.rank() + step) % call_.size();
      if (!goes_straight(rank, out_.bytes(rank))) continue;
      HR_TRY(out_.block(rank, &view));
      HR_TRY(send_to(call_, rank, view, requests.next()));
    }
    return kOk;
  }
  // Sends one message to each process on other hosts that this process serves, beginning with the next host, so that no
  // process is the first destination of all.
  Status send(p2p::RequestList& requests) {
    messages_.emplace(taken_.bytes);
    std::byte* to = messages_->data();
    const auto next = std::ranges::find_if(serves(), [this](int rank) { return hosts_.of(rank) > hosts_.own(); });
    const auto begin_at = static_cast<std::size_t>(next - serves().begin());
    for (std::size_t step = 0; step < serves().size(); ++step) {
      const std::size_t k = (begin_at + step) % serves().size();
      const int rank = serves()[k];
      if (hosts_.of(rank) == hosts_.own()) continue;
      std::byte* const begin = to;
      for (int i = 0; i < hosts_.here().size(); ++i) to = std::copy_n(block_from(i, k), length_from(i, k), to);
      const auto bytes = static_cast<std::size_t>(to - begin);
      if (bytes > 0) HR_TRY(send_to(call_, rank, bytes_view(begin, bytes), requests.next()));
    }
    return kOk;
  }
  // Posts receives for the messages from other hosts, one per host.
  Status receive(p2p::RequestList& requests) {
    arriving_.emplace(remote_bytes());
    std::byte* at = arriving_->data();
    for (int host = 0; host < hosts_.count(); ++host) {
      if (host == hosts_.own()) continue;
      std::size_t bytes = 0;
      for (const int rank : hosts_.ranks(host)) bytes += carried_from(rank);
      const int from = hosts_.ranks(host)[index(carrier(hosts_, host, hosts_.own(), hosts_.here().own()))];
      if (bytes > 0) HR_TRY(receive_from(call_, from, bytes_view(at, bytes), requests.next()));
      at += bytes;
    }
    return kOk;
  }
  // Unpacks into recv the blocks from processes of this host, and those from other hosts.
  Status unpack() {
    StepsOutcome outcome;
    const std::size_t self = std::find(serves().begin(), serves().end(), call_.rank()) - serves().begin();
    for (int i = 0; i < hosts_.here().size(); ++i)
      outcome.add(put(hosts_.ranks(hosts_.own())[index(i)], block_from(i, self), length_from(i, self)));
    const std::byte* at = arriving_->data();
    for (int host = 0; host < hosts_.count(); ++host) {
      if (host == hosts_.own()) continue;
      for (const int rank : hosts_.ranks(host)) {
        const std::size_t length = carried_from(rank);
        if (length > 0) outcome.add(put(rank, at, length));
        at += length;
      }
    }
    return outcome.result();
  }

 private:
  static View bytes_of(std::vector<std::size_t>& numbers) noexcept {
    return bytes_view(reinterpret_cast<std::byte*>(numbers.data()), numbers.size() * sizeof(std::size_t));
  }
  // Returns the length of the block to a rank. For alltoall, this is the common length, whatever this process's
  // arguments are.
  [[nodiscard]] std::size_t length(int rank) const {
    if (equal()) return call_.bytes;
    const std::size_t bytes = out_.bytes(rank);
    return goes_straight(rank, bytes) ? 0 : bytes;
  }
  // True if a block is sent directly, not carried. Never if in place, as data that is still to be sent would be
  // overwritten.
  [[nodiscard]] bool goes_straight(int rank, std::size_t bytes) const {
    return !equal() && !call_.in_place && bytes >= kLong && hosts_.of(rank) != hosts_.own();
  }
  // Returns the length of the block from a process of another host within that host's message.
  [[nodiscard]] std::size_t carried_from(int rank) const {
    const std::size_t bytes = call_.recv.bytes(rank);
    return goes_straight(rank, bytes) ? 0 : bytes;
  }
  // Return the length and address of the block from a process of this host to the k-th process that this one serves.
  [[nodiscard]] std::size_t length_from(int from, std::size_t k) const {
    return lengths_[index(from) * serves().size() + k];
  }
  [[nodiscard]] const std::byte* block_from(int from, std::size_t k) {
    const std::byte* at = in_memory_->data() + taken_.displacements[index(from)];
    for (std::size_t before = 0; before < k; ++before) at += length_from(from, before);
    return at;
  }
  [[nodiscard]] std::size_t remote_bytes() const {
    std::size_t bytes = 0;
    for (int rank = 0; rank < call_.size(); ++rank)
      if (hosts_.of(rank) != hosts_.own()) bytes += carried_from(rank);
    return bytes;
  }
  Status put(int rank, const std::byte* data, std::size_t length) {
    View to;
    HR_TRY(call_.recv.block(rank, &to));
    if (length > to.packed)
      return fail(Errc::kTruncate, "process %d sends %zu bytes, there is room for %zu", rank, length, to.packed);
    return layout::unpack(to, 0, length, data);
  }

  const Call& call_;
  const Hosts& hosts_;
  const Blocks& out_;
  std::vector<std::vector<int>> served_;  // ranks served, indexed by the carrier's index on this host
  std::vector<std::size_t> own_lengths_;  // lengths of the outgoing blocks, in the order of served_
  std::vector<std::size_t> lengths_;      // lengths of the incoming blocks: by sender, then as in serves()
  Runs told_out_, told_in_, given_, taken_;
  std::optional<Scratch> out_memory_, in_memory_, messages_, arriving_;
};

Task run(const Call& call) {
  const Levels levels(call);
  const Hosts& hosts = levels.hosts();
  Carried carried(call, hosts);
  Step telling(call, carried.equal() ? nullptr : &levels.here(), Operation::kAlltoallv);
  Step giving(call, &levels.here(), carried.even() ? Operation::kAlltoall : Operation::kAlltoallv);
  p2p::RequestList requests(carried.serves().size() + index(hosts.count()) + 2 * index(call.size()));
  StepsOutcome outcome;
  outcome.add(carried.receive(requests));
  Task leave = defer_device_data(call);
  const Status left = co_await leave;
  outcome.add(left);
  outcome.add(carried.exchange_long(requests));
  carried.tell(telling);
  Task told = telling.run();
  const Status was_told = co_await told;
  if (!outcome.add_step(was_told)) co_return outcome.without({&giving});
  outcome.add(carried.give(giving));
  Task given = giving.run();
  const Status was_given = co_await given;
  outcome.add(was_given);
  outcome.add(carried.send(requests));
  const Status moved = co_await requests.all();
  outcome.add(moved);
  outcome.add(carried.unpack());
  co_return outcome.result();
}

}  // namespace

const Algorithm alltoall_hosts = {
    .name = "hosts",
    .operations = serves(Operation::kAlltoall, Operation::kAlltoallv, Operation::kAlltoallw),
    .probe = &over_hosts,
    .run = &run,
    .composes = true};

}  // namespace hr::coll
