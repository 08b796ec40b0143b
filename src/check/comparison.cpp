#include "check/comparison.hpp"

#include <utility>

#include "base/abi.hpp"

namespace hr::check {
namespace {

std::string name_of(const Record& record) {
  std::string name(record.call_site.function);
  if (name.ends_with("_c")) name.resize(name.size() - 2);
  return name;
}

// Returns "rank 1: MPI_Bcast at bcast.c:12 (main)".
std::string who(const Record& record) { return "rank " + std::to_string(record.rank) + ": " + text(record.call_site); }

Status differ(Errc error_class, const char* what, const Record& a, const std::string& of_a, const Record& b,
              const std::string& of_b) {
  const std::string first = who(a), second = who(b);
  return fail(
      error_class,
      "collective: members of the communicator give different %s: %s in %s, %s in %s; it must be the same on all", what,
      of_a.c_str(), first.c_str(), of_b.c_str(), second.c_str());
}

std::string name_of_operation(std::uint64_t handle) {
  constexpr std::pair<std::uint64_t, const char*> kNames[] = {
      {abi::kSum, "MPI_SUM"},   {abi::kMin, "MPI_MIN"},         {abi::kMax, "MPI_MAX"},
      {abi::kProd, "MPI_PROD"}, {abi::kBand, "MPI_BAND"},       {abi::kBor, "MPI_BOR"},
      {abi::kBxor, "MPI_BXOR"}, {abi::kLand, "MPI_LAND"},       {abi::kLor, "MPI_LOR"},
      {abi::kLxor, "MPI_LXOR"}, {abi::kMinloc, "MPI_MINLOC"},   {abi::kMaxloc, "MPI_MAXLOC"},
      {1, "the program's own"}, {abi::kReplace, "MPI_REPLACE"}, {abi::kNoOp, "MPI_NO_OP"}};
  for (const auto& [value, name] : kNames) {
    if (value == handle) return name;
  }
  return "an operation";
}

Status do_not_match(const Record& from, const Record& to) {
  const std::string sender = who(from), receiver = who(to);
  return fail(
      Errc::kType,
      "signature: what rank %d sends to rank %d is not what that expects: %s %s, %s %s; count and type must give "
      "the same sequence of basic types",
      from.rank, to.rank, sender.c_str(), from.data, receiver.c_str(), to.data);
}

}  // namespace

Status Comparison::add(Member member) {
  const bool first = members_.empty();
  members_.push_back(std::move(member));
  if (!found_.ok()) {
    set_detail(text_);
    return found_;
  }
  const Record& record = members_.back().record;
  if (!first) found_ = compare(members_.front(), members_.back());
  if (found_.ok() && record.differs != 0) {
    const std::string call_site = who(record);
    found_ =
        fail(Errc::kType,
             "signature: what this process sends to itself is not what it receives: %s (%s); count and type must give "
             "the same sequence of basic types",
             call_site.c_str(), record.data);
  }
  if (found_.ok() && complete()) found_ = compare_parts();
  if (!found_.ok()) {
    text_ = take_detail();
    set_detail(text_);
  }
  return found_;
}

bool Comparison::complete() const noexcept {
  return !members_.empty() && members_.size() == static_cast<std::size_t>(members_.front().record.size);
}

Status Comparison::compare(const Member& first, const Member& other) const {
  const Record& a = first.record;
  const Record& b = other.record;
  if (name_of(a) != name_of(b)) {
    const std::string one = who(a), two = who(b);
    return fail(
        Errc::kOther,
        "collective: members of the communicator call different functions: %s, %s; all must call collectives in the "
        "same order",
        one.c_str(), two.c_str());
  }
  if (a.root != b.root) return differ(Errc::kRoot, "roots", a, std::to_string(a.root), b, std::to_string(b.root));
  // A member for which the operation is not significant (MPI_PROC_NULL) has none.
  if (a.operation != b.operation && a.operation != 0 && b.operation != 0)
    return differ(Errc::kOp, "operations", a, name_of_operation(a.operation), b, name_of_operation(b.operation));
  if (a.agreed_name[0] != 0 && a.agreed != b.agreed) {
    const auto value = [](const Record& record) {
      return record.data[0] != 0 ? std::string(record.data) : std::to_string(record.agreed);
    };
    return differ(Errc::kArg, a.agreed_name, a, value(a), b, value(b));
  }
  if (a.has_same != 0 && b.has_same != 0 && !matches(a.same, b.same))
    return differ(Errc::kType, "signatures", a, a.data, b, b.data);
  return kOk;
}

// Compares the part that each member sends to each other member with the part that the receiver expects.
Status Comparison::compare_parts() const {
  const auto part = [](const std::vector<Signature>& parts, int rank) -> const Signature* {
    if (parts.empty()) return nullptr;
    return parts.size() == 1 ? parts.data() : &parts[static_cast<std::size_t>(rank)];
  };
  for (const Member& from : members_) {
    if (from.sends.empty()) continue;
    for (const Member& to : members_) {
      // A single part is sent to the root, or expected from it.
      const bool rooted = from.record.sends == 1 || to.record.expects == 1;
      const Record& leaf = from.record.sends == 1 ? to.record : from.record;
      if (rooted && from.record.size > 1 && leaf.rank != leaf.root) continue;
      const Signature* const sent = part(from.sends, to.record.rank);
      const Signature* const expected = part(to.expects, from.record.rank);
      if (sent == nullptr || expected == nullptr || matches(*sent, *expected)) continue;
      return do_not_match(from.record, to.record);
    }
  }
  return kOk;
}

}  // namespace hr::check
