#include "base/abi.hpp"
#include "check/diagnostic.hpp"
#include "check/objects.hpp"
#include "comm/communicator.hpp"

namespace hr::check {
namespace {

// Returns an error for a receive or probe with a wildcard that the process has asserted not to use on the communicator
// (section 7.4.4).
Status before(Call& call) {
  const Argument* const source = call.find("source");
  const Argument* const both = call.find("recvtag");
  const Argument* const tag = both != nullptr ? both : call.find("tag");
  if (source == nullptr || tag == nullptr || source->amount == abi::kProcNull) return kOk;
  const auto* comm = call.object<comm::Communicator>("comm");
  const std::uint32_t assertions = comm == nullptr ? 0 : comm::assertions_of(*comm);
  if (tag->amount == abi::kAnyTag && (assertions & comm::kNoAnyTag) != 0)
    return fail(Errc::kTag,
                "assertion: the tag is MPI_ANY_TAG, and this process has set mpi_assert_no_any_tag on %s; name the "
                "tag, or do not set the hint",
                name_of(*comm).c_str());
  if (source->amount == abi::kAnySource && (assertions & comm::kNoAnySource) != 0)
    return fail(Errc::kRank,
                "assertion: the source is MPI_ANY_SOURCE, and this process has set mpi_assert_no_any_source on %s; "
                "name the source, or do not set the hint",
                name_of(*comm).c_str());
  return kOk;
}

}  // namespace

extern const Diagnostic kAssertions;
const Diagnostic kAssertions{"assertion", nullptr, nullptr, before, nullptr, nullptr};

}  // namespace hr::check
