// Two-phase access: the processes of a file move their data together (MPI 5.0 section 14.4, collective operations).
//
// The processes exchange the ranges of the file that their data covers. If the ranges do not overlap, or the segments
// are long, each process moves its data independently. Otherwise the whole range is divided into chunks, which are
// assigned to some processes (the aggregators) in turn; each handles one chunk per round. In one phase, data is moved
// between its owner and the aggregator; in the other, between the aggregator and the file, in segments as long as
// possible. Bytes of a chunk that no process writes are not touched.
//
// A process announces its part of a chunk to the aggregator with a header that lists the segments of the file. The data
// follows as one message, which the aggregator receives directly into place in the chunk. Device data is sent as in
// other messages.
//
// At the end, all processes know whether any of them had an error, because one process's data is written by another.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "io/operation.hpp"
#include "io/segment_groups.hpp"

namespace hr::io {

[[nodiscard]] p2p::Task two_phase(Operation* operation);

// --- For the two directions ---

// A process's report of its part of the access, and of its program's hints. The hints of process 0 are used.
struct AccessReport {
  Count first = 0, last = 0;  // range of bytes in the file; empty if it has no data
  Count bytes = 0, segments = 0;
  Count file_size = 0;
  Count chunk = 0, unit = 0;
  int aggregators = 0;
  Choice choice = Choice::kAutomatic;
  bool ordered = true;
  bool crowded = false;  // there are more processes than cores
};

// Plan of an access: the same on all processes, except for own_place, bytes and errors.
struct Plan {
  comm::Members members{};
  std::vector<AccessReport> reports;
  std::vector<int> aggregators;  // indices of members
  int own_place = -1;            // index of this process among the aggregators; -1 if it is not one
  Count origin = 0, end = 0, chunk = 0, rounds = 0;
  Count bytes = 0;  // bytes that this process moves; reads end at the end of the file

  // First error on this process, which still serves the others.
  Status status;
  std::string detail;
  void note(Status failed);

  // Returns the aggregator's chunk in a round; empty after the end.
  [[nodiscard]] Interval chunk_of(Count round, int aggregator) const noexcept;
  [[nodiscard]] bool has_data_in(int member, const Interval& chunk) const noexcept;
};

// Header of the message in which a process announces its part of a chunk.
struct Header {
  static constexpr Count kInline = 4;
  Count bytes = 0;
  Count groups = 0;  // number of groups: the first ones are here, the rest are in a separate message
  SegmentGroup first[kInline];
};

// A process's data in one chunk.
struct Part {
  int aggregator = 0;  // member
  Header header;
  std::vector<SegmentGroup> groups;
  std::size_t offset = 0, bytes = 0;  // range of the packed form of its memory
  std::unique_ptr<std::byte[]> held;  // used if the memory is not contiguous
};

// Announces this process's parts of a round to their aggregators.
Status announce(const Operation& operation, const Plan& plan, Count round, std::vector<Part>* parts,
                p2p::RequestList* requests);
// The other processes' parts in this process's chunk. lists[i] belongs to members[i].
struct Announced {
  Interval chunk;
  std::vector<int> members;
  std::vector<Header> headers;
  std::vector<std::vector<SegmentGroup>> lists;
};
[[nodiscard]] p2p::Task receive_announcements(const Plan* plan, Count round, Announced* announced);

// The aggregator's buffer for a round, and the job that moves it to or from the file. There are two chunks: one is in
// use for the disk while the other is in use for messages.
struct Chunk {
  std::unique_ptr<std::byte[]> buffer;
  Announced announced;
  Job job;
  bool under_way = false;  // the worker uses it
};
enum class Fill : bool { kNone, kZeros };
// Allocates the buffer on the first call. Errors: MPI_ERR_NO_MEM.
Status make_buffer(const Plan& plan, Fill fill, Chunk* chunk);
// Reads or writes the chunk with `work`: on the worker thread if there is other work meanwhile (settle() then waits
// for it), otherwise before the task ends. Records a failure in the plan.
[[nodiscard]] p2p::Task use_disk(Operation* operation, Plan* plan, Chunk* chunk, std::function<Status()>* work);
// Waits until the worker is done with the chunk.
[[nodiscard]] p2p::Task settle(Plan* plan, Chunk* chunk);

// Creates a view of a member's segments in the buffer of a chunk. *type: owner of the type that the view borrows; may
// stay empty.
Status view_of(const Announced& announced, std::size_t index, std::byte* buffer, Ref<layout::Datatype>* type,
               layout::View* view);

// Distinguishes messages to an aggregator from those that it sends back, because an aggregator exchanges both with
// itself.
enum class Direction : int { kTo = 0, kBack = 0x40000000 };  // tag bit that collectives do not use
Status receive_from(const Plan& plan, int member, const layout::View& data, p2p::RequestList* requests,
                    Direction direction = Direction::kTo);
Status send_to(const Plan& plan, int member, const layout::View& data, p2p::RequestList* requests,
               Direction direction = Direction::kTo);

[[nodiscard]] p2p::Task write_together(Operation* operation, Plan* plan);
[[nodiscard]] p2p::Task read_together(Operation* operation, Plan* plan);

}  // namespace hr::io
