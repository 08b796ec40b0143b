#include "check/describe_collective.hpp"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <optional>
#include <string_view>

#include "coll/execute.hpp"

namespace hr::check {
namespace {

using coll::Blocks;
using coll::Operation;

constexpr auto kComm = ObjectKind::kCommunicator;
constexpr auto kWin = ObjectKind::kWindow;
constexpr auto kFile = ObjectKind::kFile;

constexpr CollectiveFunction kFunctions[] = {
    {"MPI_Comm_dup", kComm, "comm"},
    {"MPI_Comm_dup_with_info", kComm, "comm"},
    {"MPI_Comm_idup", kComm, "comm", "", false},
    {"MPI_Comm_idup_with_info", kComm, "comm", "", false},
    {"MPI_Comm_create", kComm, "comm"},
    {"MPI_Comm_split", kComm, "comm"},
    {"MPI_Comm_split_type", kComm, "comm"},
    {"MPI_Comm_set_info", kComm, "comm"},
    {"MPI_Comm_free", kComm, "comm", "", false, true, false},
    {"MPI_Comm_disconnect", kComm, "comm", "", true, true},
    {"MPI_Cart_create", kComm, "comm_old", "ndims"},
    {"MPI_Cart_sub", kComm, "comm"},
    {"MPI_Graph_create", kComm, "comm_old", "nnodes"},
    {"MPI_Dist_graph_create", kComm, "comm_old"},
    {"MPI_Dist_graph_create_adjacent", kComm, "comm_old"},
    {"MPI_Intercomm_merge", kComm, "intercomm"},
    {"MPI_Comm_spawn", kComm, "comm", "root"},
    {"MPI_Comm_spawn_multiple", kComm, "comm", "root"},
    {"MPI_Comm_accept", kComm, "comm", "root"},
    {"MPI_Comm_connect", kComm, "comm", "root"},
    {"MPIX_Stream_comm_create", kComm, "comm"},
    {"MPI_Win_create", kComm, "comm"},
    {"MPI_Win_allocate", kComm, "comm"},
    {"MPI_Win_allocate_shared", kComm, "comm"},
    {"MPI_Win_create_dynamic", kComm, "comm"},
    {"MPI_Win_fence", kWin, "win"},
    {"MPI_Win_free", kWin, "win", "", true, true},
    {"MPI_Win_set_info", kWin, "win"},
    {"MPI_File_open", kComm, "comm", "amode"},
    {"MPI_File_close", kFile, "fh", "", true, true},
    {"MPI_File_set_size", kFile, "fh", "size"},
    {"MPI_File_preallocate", kFile, "fh", "size"},
    {"MPI_File_set_info", kFile, "fh"},
    {"MPI_File_set_view", kFile, "fh"},
    {"MPI_File_set_atomicity", kFile, "fh", "flag"},
    {"MPI_File_sync", kFile, "fh"},
    {"MPI_File_seek_shared", kFile, "fh", "offset"},
    {"MPI_File_read_all", kFile, "fh"},
    {"MPI_File_write_all", kFile, "fh"},
    {"MPI_File_read_at_all", kFile, "fh"},
    {"MPI_File_write_at_all", kFile, "fh"},
    {"MPI_File_read_ordered", kFile, "fh"},
    {"MPI_File_write_ordered", kFile, "fh"},
    {"MPI_File_iread_all", kFile, "fh", "", false},
    {"MPI_File_iwrite_all", kFile, "fh", "", false},
    {"MPI_File_iread_at_all", kFile, "fh", "", false},
    {"MPI_File_iwrite_at_all", kFile, "fh", "", false},
    {"MPI_File_read_all_begin", kFile, "fh", "", false},
    {"MPI_File_write_all_begin", kFile, "fh", "", false},
    {"MPI_File_read_at_all_begin", kFile, "fh", "", false},
    {"MPI_File_write_at_all_begin", kFile, "fh", "", false},
    {"MPI_File_read_ordered_begin", kFile, "fh", "", false},
    {"MPI_File_write_ordered_begin", kFile, "fh", "", false},
    {"MPI_File_read_all_end", kFile, "fh", "", false},
    {"MPI_File_write_all_end", kFile, "fh", "", false},
    {"MPI_File_read_at_all_end", kFile, "fh", "", false},
    {"MPI_File_write_at_all_end", kFile, "fh", "", false},
    {"MPI_File_read_ordered_end", kFile, "fh", "", false},
    {"MPI_File_write_ordered_end", kFile, "fh", "", false},
};

Signature block(const Blocks& blocks, int at) { return signature_of(blocks.type(at), blocks.count(at)); }

std::vector<Signature> all_blocks(const coll::Call& call, const Blocks& blocks) {
  std::vector<Signature> parts;
  const int length = blocks.none() ? 0 : coll::length_of(call, blocks);
  for (int at = 0; at < length; ++at) parts.push_back(block(blocks, at));
  return parts;
}

void set_text(char* to, std::size_t room, std::string_view text) {
  const std::size_t length = std::min(text.size(), room - 1);
  std::memcpy(to, text.data(), length);
  to[length] = 0;
}

void set_data(Record& record, const Blocks& blocks, int at) {
  set_text(record.data, sizeof record.data, describe(blocks.type(at), blocks.count(at)));
}

// Describes a block whose signature must be the same on all members. `also`: another block of this process that must
// match it.
void all_have(Described& out, const Blocks& blocks, const Blocks* also = nullptr) {
  if (blocks.none()) return;
  out.record.has_same = 1;
  out.record.same = block(blocks, 0);
  set_data(out.record, blocks, 0);
  if (also != nullptr && !also->none() && !matches(block(*also, 0), out.record.same)) out.record.differs = 1;
}

void set_agreed(Record& record, const char* name, std::int64_t value) {
  set_text(record.agreed_name, sizeof record.agreed_name, name);
  record.agreed = value;
}

// Hashes an array that must be the same on all members.
std::int64_t hash_of(const std::vector<Signature>& parts) {
  std::uint64_t hash = parts.size();
  for (const Signature& each : parts) hash = hash * 1'000'003 + each.hash + each.length;
  return static_cast<std::int64_t>(hash);
}

// Returns "{2, 3} x MPI_INT", or a description of each block if their types differ.
std::string describe_all(const coll::Call& call, const Blocks& blocks) {
  constexpr int kShown = 8;
  const int length = coll::length_of(call, blocks);
  bool one_type = true;
  for (int at = 1; at < length; ++at) one_type &= &blocks.type(at) == &blocks.type(0);
  std::string text = "{";
  for (int at = 0; at < std::min(length, kShown); ++at) {
    if (at != 0) text += ", ";
    text += one_type ? std::to_string(blocks.count(at)) : describe(blocks.type(at), blocks.count(at));
  }
  text += length > kShown ? ", ...}" : "}";
  if (!one_type || length == 0) return text;
  const std::string type = describe(blocks.type(0), 1);
  return text + type.substr(1);
}

// Describes the counts and types of all blocks.
void set_counts(const coll::Call& call, Record& record, const Blocks& blocks) {
  set_text(record.data, sizeof record.data, describe_all(call, blocks));
  set_agreed(record, "recvcounts or types", hash_of(all_blocks(call, blocks)));
}

// Sets the description to "sends 2 x MPI_INT, expects {1, 1} x MPI_INT".
void set_parts(Record& record, const std::string& sends, const std::string& expects) {
  const std::string first = sends.empty() ? "" : "sends " + sends;
  const std::string second = expects.empty() ? "" : "expects " + expects;
  set_text(record.data, sizeof record.data, first + (first.empty() || second.empty() ? "" : ", ") + second);
}

void describe_intra(const coll::Call& call, Described& out) {
  const bool root = call.is_root();
  const int rank = call.rank();
  switch (call.operation) {
    case Operation::kBcast:
      return all_have(out, call.recv.none() ? call.send : call.recv);
    case Operation::kGather:
      return root ? all_have(out, call.recv, &call.send) : all_have(out, call.send);
    case Operation::kScatter:
      return root ? all_have(out, call.send, &call.recv) : all_have(out, call.recv);
    case Operation::kAllgather:
    case Operation::kAlltoall:
      return all_have(out, call.recv, &call.send);
    case Operation::kReduce:
    case Operation::kAllreduce:
    case Operation::kScan:
    case Operation::kExscan:
      return all_have(out, call.send.none() ? call.recv : call.send);
    case Operation::kReduceScatterBlock:
      return all_have(out, call.recv);
    case Operation::kReduceScatter: {
      const Blocks& counted = call.send.shape() == Blocks::Shape::kConsecutive ? call.send : call.recv;
      if (counted.shape() != Blocks::Shape::kConsecutive) return;
      return set_counts(call, out.record, counted);
    }
    case Operation::kAllgatherv: {
      const std::vector<Signature> parts = all_blocks(call, call.recv);
      set_counts(call, out.record, call.recv);
      if (call.send.none()) return;
      if (!matches(block(call.send, 0), parts[static_cast<std::size_t>(rank)])) out.record.differs = 1;
      return;
    }
    case Operation::kGatherv:
      if (root) out.expects = all_blocks(call, call.recv);
      if (!call.send.none()) out.sends = {block(call.send, 0)};
      return set_parts(out.record, call.send.none() ? "" : describe(call.send.type(0), call.send.count(0)),
                       root ? describe_all(call, call.recv) : "");
    case Operation::kScatterv:
      if (root) out.sends = all_blocks(call, call.send);
      if (!call.recv.none()) out.expects = {block(call.recv, 0)};
      return set_parts(out.record, root ? describe_all(call, call.send) : "",
                       call.recv.none() ? "" : describe(call.recv.type(0), call.recv.count(0)));
    case Operation::kAlltoallv:
    case Operation::kAlltoallw:
      out.expects = all_blocks(call, call.recv);
      out.sends = call.in_place ? out.expects : all_blocks(call, call.send);
      return set_parts(out.record, describe_all(call, call.in_place ? call.recv : call.send),
                       describe_all(call, call.recv));
    default:
      return;
  }
}

constexpr bool has_root(Operation operation) {
  return operation == Operation::kBcast || operation == Operation::kGather || operation == Operation::kGatherv ||
         operation == Operation::kScatter || operation == Operation::kScatterv || operation == Operation::kReduce;
}

}  // namespace

// Looks for the operation in the function's name, so that MPI_Iallreduce, MPI_Allreduce_init, ... are recognised too.
bool is_collective_operation(const Call& call) {
  std::string name(call.function().substr(4));
  if (name.ends_with("_init")) name.resize(name.size() - 5);
  std::ranges::transform(name, name.begin(), [](unsigned char each) { return static_cast<char>(std::tolower(each)); });
  return coll::find_operation(name) || (name.starts_with('i') && coll::find_operation(name.substr(1)));
}

Described describe_operation(const coll::Call& operation) {
  Described out;
  const bool inter = operation.members->is_inter();
  out.record.root = has_root(operation.operation) && !inter ? operation.root : 0;
  if (operation.op != nullptr) {
    const auto handle = reinterpret_cast<std::uint64_t>(operation.op->handle());
    out.record.operation = operation.op->kind() == layout::OpKind::kUser ? 1 : handle;
  }
  if (!inter) describe_intra(operation, out);
  return out;
}

const CollectiveFunction* find_collective(const Call& call) {
  const auto* const found =
      std::ranges::find(kFunctions, call.function(), [](const auto& each) { return std::string_view(each.name); });
  return found == std::end(kFunctions) ? nullptr : found;
}

Described describe_function(const Call& call, const CollectiveFunction& function) {
  Described out;
  if (function.agreed[0] != 0) set_agreed(out.record, function.agreed, call.number(function.agreed));
  return out;
}

}  // namespace hr::check
