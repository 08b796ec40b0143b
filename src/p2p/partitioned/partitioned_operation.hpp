// Partitioned operations of this process, and the matching of their two sides. Internal to p2p/.
//
// Threads: library lock. Every round of progress advances the started operations.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "p2p/core/engine.hpp"
#include "p2p/partitioned.hpp"
#include "p2p/partitioned/partition_marks.hpp"
#include "p2p/protocol/rendezvous.hpp"

namespace hr::p2p {

// One of the sender's partitions, sent as one message.
struct Part {
  layout::View view;  // its data in the buffer, or `aside`
  std::unique_ptr<std::byte[]>
      aside;                   // receive: separate memory of a part that begins or ends within an element of the buffer
  std::size_t offset = 0;      // offset in the packed form
  Request* message = nullptr;  // the pending message
  bool begun = false;
  bool settled = false;  // true if its message has ended and has been handled
};

class Partitioned final : public RequestState {
 public:
  Partitioned(Request& request, const PartitionedArguments& arguments, bool is_receive);
  ~Partitioned() override;

  Status start(Request& request) override;
  // Both fail while the operation is pending (section 4.2): it continues, and must still be completed.
  Status cancel(Request& request) override;
  [[nodiscard]] Status may_free() const override;
  void become_independent() override;
  [[nodiscard]] const char* what() const noexcept override {
    return is_receive_ ? "partitioned receive" : "partitioned send";
  }

  // --- matching the other side, once ---
  [[nodiscard]] std::uint64_t id() const noexcept { return id_; }
  [[nodiscard]] const PartitionedArguments& arguments() const noexcept { return arguments_; }
  [[nodiscard]] bool matched() const noexcept { return matched_; }
  // True if this is a send to that process whose receive has not answered yet.
  [[nodiscard]] bool waits_for(int proc) const noexcept {
    return !is_receive_ && !matched_ && unfit_.ok() && arguments_.peer_proc == proc;
  }
  // Records that the two sides have matched: the sender has `parts` parts, with consecutive tags from `first_tag`.
  void match(int parts, int first_tag);
  // Records that the other side's size is different: `bytes` bytes.
  void match_other_size(std::size_t bytes);
  [[nodiscard]] bool uses_tags(const PartitionedArguments& of, int first, int count) const noexcept;

  // Makes the marks, once.
  Status marks(PartitionMarks** out);

  // --- one start ---
  Status check_ready(int partition) const;
  void make_ready(int partition);
  Status has_arrived(int partition, bool* arrived);
  // Begins and finishes as many parts as possible; true if something moved.
  bool advance();
  [[nodiscard]] bool is_over() noexcept;
  // Completes the request, and may destroy this object.
  void report();
  [[nodiscard]] bool is_receive() const noexcept { return is_receive_; }
  [[nodiscard]] const std::vector<Part>& parts() const noexcept { return parts_; }
  // Lets the operation end with this error, whose detail is recorded, as soon as its pending messages have ended.
  void give_up(Status why) {
    note(why);
    given_up_ = true;
  }

 private:
  [[nodiscard]] Status under_way(const char* verb) const;
  Status make_parts(int count);
  Status make_part(std::size_t offset, std::size_t bytes, Part* part);
  void begin(std::size_t index);
  void begin_ready();
  bool settle(Part& part);
  bool has_come(int partition);
  bool look_at_marks();
  void note(Status error);

  Request* request_;
  PartitionedArguments arguments_;
  Ref<layout::Datatype> type_;
  bool is_receive_;
  std::uint64_t id_;

  bool matched_ = false;
  int first_tag_ = 0;
  std::vector<Part> parts_;
  Status unfit_ = kOk;  // error if the two sides can never match
  std::string why_unfit_;

  std::vector<bool> ready_;                // partitions of a send
  int not_ready_ = 0;                      // number of partitions not ready
  std::unique_ptr<PartitionMarks> marks_;  // null: kernels neither mark nor test partitions
  bool look_for_ready_ = false;            // parts may have become ready before the two sides matched
  std::size_t settled_ = 0;                // leading parts that are settled
  bool given_up_ = false;                  // true if no further part will be started
  Status error_ = kOk;                     // the first error
  std::string why_;
};

struct PartitionedRts {
  int from_proc;
  std::uint64_t sender;
  std::uint64_t bytes;
  int partitions;
};

struct PartitionedOperations final : FileState {
  using Key = std::tuple<std::uint32_t, int, int>;  // context, source, tag

  std::uint64_t next_id = 1;
  std::unordered_map<std::uint64_t, Partitioned*> alive;
  std::map<Key, std::deque<std::uint64_t>> posted;  // receives that wait for an RTS; they may no longer exist
  std::map<Key, std::deque<PartitionedRts>> unmatched;
  std::vector<Partitioned*> started;
  bool advancing = false;
  int next_tag = 0;
  bool tags_are_reused = false;

  static bool advance_all(void* self);
};

// Sends the RTS of a new partitioned send.
void send_partitioned_rts(Partitioned& send);
// Matches a new partitioned receive with the first matching RTS, or lets it wait for one.
void post_partitioned(Partitioned& receive);
std::span<const Arrival> partitioned_arrivals() noexcept;

}  // namespace hr::p2p
