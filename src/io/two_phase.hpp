// Two-phase access: the processes of a file move their data together (MPI 5.0 section 14.4, collective operations).
//
// All tell each other the ranges of the file that their data covers. If the ranges lie one behind the other, or the
// segments are long, each process moves its data independently. Otherwise the whole range is cut into chunks, which
// some processes (the aggregators) take in turn, a round at a time: in one phase data goes between its owner and the
// aggregator, in the other between the aggregator and the file, in segments as long as possible. Bytes of a chunk that
// no process has written are not touched.
//
// A part for an aggregator in a round is announced by a header with the segments of the file; the data follows as one
// message, which the aggregator receives straight to its places in the chunk. Data of devices takes the usual way of
// their messages.
//
// At the end all processes know whether any of them had an error: one process's data is written by another.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "io/operation.hpp"
#include "io/segment_groups.hpp"

namespace hr::io {

[[nodiscard]] p2p::Task two_phase(Operation* operation);

// --- for the two directions ---

// A process's report of its part, and of its program's hints; process 0's hints hold for all.
struct AccessReport {
  Count first = 0, last = 0;  // bytes of the file; equal: it has no data
  Count bytes = 0, segments = 0;
  Count file_size = 0;
  Count chunk = 0, unit = 0;
  int aggregators = 0;
  Choice choice = Choice::kAutomatic;
  bool ordered = true;
  bool crowded = false;  // more processes than cores
};

// Plan, the same on all processes.
struct Plan {
  comm::Members members{};
  std::vector<AccessReport> reports;
  std::vector<int> aggregators;  // members
  int own_place = -1;            // among them
  Count origin = 0, end = 0, chunk = 0, rounds = 0;
  Count bytes = 0;  // of this process, for reads up to the end of the file

  // First error here. The others are served all the same.
  Status status;
  std::string detail;
  void note(Status failed);

  // Returns the aggregator's part of a round; empty behind the end.
  [[nodiscard]] Interval chunk_of(Count round, int aggregator) const noexcept;
  [[nodiscard]] bool has_data_in(int member, const Interval& chunk) const noexcept;
};

// A process's part in a chunk.
struct Header {
  static constexpr Count kInline = 4;
  Count bytes = 0;
  Count groups = 0;  // the first of them here, the rest in a separate message
  SegmentGroup first[kInline];
};

// A process's data in one chunk.
struct Part {
  int aggregator = 0;  // member
  Header header;
  std::vector<SegmentGroup> groups;
  std::size_t offset = 0, bytes = 0;  // of the packed form of its memory
  std::unique_ptr<std::byte[]> held;  // if that is not contiguous
};

// Announces this process's parts of a round to their aggregators.
Status announce(const Operation& operation, const Plan& plan, Count round, std::vector<Part>* parts,
                p2p::RequestList* requests);
// The other processes' parts in this process's chunk: `members[i]` has lists[i].
struct Announced {
  Interval chunk;
  std::vector<int> members;
  std::vector<Header> headers;
  std::vector<std::vector<SegmentGroup>> lists;
};
[[nodiscard]] p2p::Task receive_announcements(const Plan* plan, Count round, Announced* announced);

// The aggregator's buffer of a round, and its way between memory and the file. There are two: one is used for the disk
// while the other is used for messages.
struct Chunk {
  std::unique_ptr<std::byte[]> buffer;
  Announced announced;
  Job job;
  bool under_way = false;  // by the worker
};
enum class Fill : bool { kNone, kZeros };
// Allocates once; a later call does nothing. Errors: MPI_ERR_NO_MEM.
Status make_buffer(const Plan& plan, Fill fill, Chunk* chunk);
// Reads or writes the chunk by `work`: on the worker's thread if there is something to do meanwhile (settle() then
// waits for it), else before the task ends. The plan notes a failure.
[[nodiscard]] p2p::Task use_disk(Operation* operation, Plan* plan, Chunk* chunk, std::function<Status()>* work);
// Waits until the worker is done with it.
[[nodiscard]] p2p::Task settle(Plan* plan, Chunk* chunk);

// Makes a view of a member's segments in the buffer of a chunk. *type (may stay empty) is borrowed by the view.
Status view_of(const Announced& announced, std::size_t index, std::byte* buffer, Ref<layout::Datatype>* type,
               layout::View* view);

// Messages to an aggregator and those back are kept apart, as an aggregator exchanges both with itself.
enum class Direction : int { kTo = 0, kBack = 0x40000000 };  // beside the tags of collectives
Status receive_from(const Plan& plan, int member, const layout::View& data, p2p::RequestList* requests,
                    Direction direction = Direction::kTo);
Status send_to(const Plan& plan, int member, const layout::View& data, p2p::RequestList* requests,
               Direction direction = Direction::kTo);

[[nodiscard]] p2p::Task write_together(Operation* operation, Plan* plan);
[[nodiscard]] p2p::Task read_together(Operation* operation, Plan* plan);

}  // namespace hr::io
