// Partitioned operations of this process, and how the two sides of one find each other. Internal to p2p/.
//
// Threads: library lock. An operation is looked at in every round of progress while it is started.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "p2p/engine.hpp"
#include "p2p/partition_marks.hpp"
#include "p2p/partitioned.hpp"
#include "p2p/rendezvous.hpp"

namespace hr::p2p {

// A part of the sender: what travels as one message.
struct Part {
  layout::View view;                   // of its data in the buffer, or of `aside`
  std::unique_ptr<std::byte[]> aside;  // receive: it begins or ends within an element of the buffer
  std::size_t offset = 0;              // in the packed form
  Request* message = nullptr;          // under way
  bool begun = false;
  bool settled = false;  // its message has ended and has been looked at
};

class Partitioned final : public RequestState {
 public:
  Partitioned(Request& request, const PartitionedArguments& arguments, bool is_receive);
  ~Partitioned() override;

  Status start(Request& request) override;
  [[nodiscard]] const char* what() const noexcept override {
    return is_receive_ ? "partitioned receive" : "partitioned send";
  }

  // --- meeting the other side, once ---
  [[nodiscard]] std::uint64_t id() const noexcept { return id_; }
  [[nodiscard]] const PartitionedArguments& arguments() const noexcept { return arguments_; }
  [[nodiscard]] bool met() const noexcept { return met_; }
  // A send to that process, whose receive has not answered yet.
  [[nodiscard]] bool waits_for(int proc) const noexcept {
    return !is_receive_ && !met_ && unfit_.ok() && arguments_.peer_proc == proc;
  }
  // So many parts have tags from `first_tag` on. Of a send, or of a receive from a sender with as many partitions.
  void meet(int parts, int first_tag);
  // They do not fit together.
  void meet_other_size(std::size_t bytes);
  [[nodiscard]] bool uses_tags(const PartitionedArguments& of, int first, int count) const noexcept;

  // Makes them, once.
  Status marks(PartitionMarks** out);

  // --- one start ---
  Status check_ready(int partition) const;
  void make_ready(int partition);
  Status has_arrived(int partition, bool* arrived);
  // Begins and settles what it can; true when something moved.
  bool advance();
  [[nodiscard]] bool is_over() noexcept;
  // Completes the request, and may destroy this.
  void report();

 private:
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

  bool met_ = false;
  int first_tag_ = 0;
  std::vector<Part> parts_;
  Status unfit_ = kOk;  // why they never will meet
  std::string why_unfit_;

  std::vector<bool> ready_;                // partitions of a send
  int not_ready_ = 0;                      // how many are not
  std::unique_ptr<PartitionMarks> marks_;  // null: no kernel marks or asks
  bool look_for_ready_ = false;            // parts may have become ready before the other side was met
  std::size_t settled_ = 0;                // so many parts from the first on
  bool given_up_ = false;                  // no further part is begun
  Status error_ = kOk;                     // the first
  std::string why_;
};

struct PartitionedOffer {
  int from_proc;
  std::uint64_t sender;
  std::uint64_t bytes;
  int partitions;
};

struct PartitionedOperations final : FileState {
  using Key = std::tuple<std::uint32_t, int, int>;  // context, source, tag

  std::uint64_t next_id = 1;
  std::unordered_map<std::uint64_t, Partitioned*> alive;
  std::map<Key, std::deque<std::uint64_t>> posted;  // receives that have met nobody; they may be gone
  std::map<Key, std::deque<PartitionedOffer>> offers;
  std::vector<Partitioned*> started;
  bool advancing = false;
  int next_tag = 0;
  bool tags_are_reused = false;

  static bool advance_all(void* self);
};

// The partitioned send has been made: its receiver is told.
void offer_partitioned(Partitioned& send);
// The partitioned receive has been made: it meets the first offer, or waits for it.
void post_partitioned(Partitioned& receive);
std::span<const Arrival> partitioned_arrivals() noexcept;

}  // namespace hr::p2p
