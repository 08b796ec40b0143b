// Groups (MPI 5.0 section 7.3).
#include "comm/group.hpp"

#include "bind/impl.hpp"
#include "comm/session.hpp"

namespace hr::bind::impl {

namespace {

Status list_of(int n, const int* ranks, std::span<const int>* list) {
  if (n < 0) return fail(Errc::kArg, "the number of ranks is %d: must not be negative", n);
  *list = {ranks, static_cast<std::size_t>(n)};
  return kOk;
}

}  // namespace

Status group_size(comm::Group& group, int& size) {
  size = group.size();
  return kOk;
}

Status group_rank(comm::Group& group, int& rank) {
  rank = group.rank();
  return kOk;
}

Status group_translate_ranks(comm::Group& group1, int n, const int* ranks1, comm::Group& group2, int* ranks2) {
  std::span<const int> list;
  HR_TRY(list_of(n, ranks1, &list));
  return comm::translate(group1, list, group2, ranks2);
}

Status group_compare(comm::Group& group1, comm::Group& group2, int& result) {
  result = comm::compare(group1, group2);
  return kOk;
}

Status group_union(comm::Group& group1, comm::Group& group2, Ref<comm::Group>& newgroup) {
  newgroup = comm::unite(group1, group2);
  return kOk;
}

Status group_intersection(comm::Group& group1, comm::Group& group2, Ref<comm::Group>& newgroup) {
  newgroup = comm::intersect(group1, group2);
  return kOk;
}

Status group_difference(comm::Group& group1, comm::Group& group2, Ref<comm::Group>& newgroup) {
  newgroup = comm::subtract(group1, group2);
  return kOk;
}

Status group_incl(comm::Group& group, int n, const int* ranks, Ref<comm::Group>& newgroup) {
  std::span<const int> list;
  HR_TRY(list_of(n, ranks, &list));
  return comm::include(group, list, &newgroup);
}

Status group_excl(comm::Group& group, int n, const int* ranks, Ref<comm::Group>& newgroup) {
  std::span<const int> list;
  HR_TRY(list_of(n, ranks, &list));
  return comm::exclude(group, list, &newgroup);
}

Status group_range_incl(comm::Group& group, int n, int (*ranges)[3], Ref<comm::Group>& newgroup) {
  return comm::include_ranges(group, n, ranges, &newgroup);
}

Status group_range_excl(comm::Group& group, int n, int (*ranges)[3], Ref<comm::Group>& newgroup) {
  return comm::exclude_ranges(group, n, ranges, &newgroup);
}

Status group_from_session_pset(comm::Session& session, const char* pset_name, Ref<comm::Group>& newgroup) {
  return comm::pset_group(session, pset_name, &newgroup);
}

Status group_free(comm::Group& group) {
  // An operation with an empty result returns MPI_GROUP_EMPTY, so a program may free that handle.
  if (!group.is_predefined()) release(&group);
  return kOk;
}

}  // namespace hr::bind::impl
