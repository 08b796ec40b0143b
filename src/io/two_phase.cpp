#include "io/two_phase.hpp"

#include <algorithm>
#include <utility>

#include "boot/boot.hpp"
#include "io/independent.hpp"
#include "p2p/progress.hpp"

namespace hr::io {

using p2p::Task;

namespace {

constexpr Count kPage = 4096;
// Mean segment length at and above which one system call per segment is as fast as two-phase rounds.
constexpr Count kLongSegment = Count{256} << 10;
// Number of aggregators per host. The system serializes writes to one file, but not reads.
constexpr int kWriters = 4;
constexpr int kReaders = 8;
constexpr int kOnFewCores = 2;

AccessReport own_report(const Operation& operation) {
  const FileView& view = operation.view();
  const Hints& hints = operation.file().hints_;
  AccessReport report;
  report.bytes = operation.bytes();
  if (view.empty()) report.bytes = 0;
  if (report.bytes != 0) {
    report.first = view.offset_of(operation.position());
    report.last = view.offset_of(operation.position() + report.bytes - 1) + 1;
    report.segments = report.bytes / std::max<Count>(1, view.contiguous() ? report.bytes : view.mean_segment()) + 1;
  }
  if (!operation.writes() && !operation.place().disk->size(&report.file_size).ok()) report.file_size = 0;
  report.chunk = static_cast<Count>(hints.collective_buffer);
  report.unit = std::max<Count>(kPage, static_cast<Count>(hints.striping_unit));
  report.aggregators = hints.aggregators;
  report.choice = operation.writes() ? hints.collective_write : hints.collective_read;
  report.ordered = view.ordered();
  report.crowded = p2p::node_oversubscribed();
  return report;
}

bool are_disjoint(const std::vector<AccessReport>& reports) {
  std::vector<Interval> ranges;
  for (const AccessReport& each : reports) {
    if (each.bytes != 0) ranges.push_back({each.first, each.last});
  }
  std::ranges::sort(ranges, {}, &Interval::first);
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i].first < ranges[i - 1].last) return false;
  }
  return true;
}

bool is_worth_it(const std::vector<AccessReport>& reports) {
  const Choice choice = reports[0].choice;
  if (choice == Choice::kDisable || !std::ranges::all_of(reports, &AccessReport::ordered)) return false;
  if (choice == Choice::kEnable) return true;
  Count bytes = 0, segments = 0;
  for (const AccessReport& each : reports) {
    bytes += each.bytes;
    segments += each.segments;
  }
  return bytes / std::max<Count>(segments, 1) < kLongSegment && !are_disjoint(reports);
}

int count_hosts(const comm::Members& members) {
  std::vector<int> hosts;
  for (const int proc : members.procs) hosts.push_back(boot::processes().host_of(proc));
  std::ranges::sort(hosts);
  const auto repeated = std::ranges::unique(hosts);
  return static_cast<int>(hosts.size() - repeated.size());
}

int wanted_aggregators(const Plan& plan, bool writes) {
  const AccessReport& first = plan.reports[0];
  if (first.aggregators > 0) return first.aggregators;
  const int of_a_host = first.crowded ? kOnFewCores : writes ? kWriters : kReaders;
  return count_hosts(plan.members) * of_a_host;
}

// Divides the range into chunks, and assigns them to processes.
void divide(Plan* plan, bool writes) {
  const AccessReport& first = plan->reports[0];
  plan->chunk = first.chunk >= first.unit ? first.chunk / first.unit * first.unit : first.chunk;
  Count low = 0, high = 0;
  bool any = false;
  for (const AccessReport& each : plan->reports) {
    if (each.bytes == 0) continue;
    low = any ? std::min(low, each.first) : each.first;
    high = any ? std::max(high, each.last) : each.last;
    any = true;
  }
  plan->origin = plan->chunk >= first.unit ? low / first.unit * first.unit : low;
  plan->end = high;
  const Count chunks = (high - plan->origin + plan->chunk - 1) / plan->chunk;
  const int wanted = wanted_aggregators(*plan, writes);
  const int count =
      static_cast<int>(std::clamp<Count>(wanted, 1, std::min<Count>(plan->members.size, std::max<Count>(chunks, 1))));
  for (int i = 0; i < count; ++i) {
    const int member = static_cast<int>(static_cast<Count>(i) * plan->members.size / count);
    if (member == plan->members.me) plan->own_place = i;
    plan->aggregators.push_back(member);
  }
  plan->rounds = (chunks + count - 1) / count;
}

// Limits reads to the end of the file.
void clip(const Operation& operation, Plan* plan) {
  plan->bytes = plan->reports[static_cast<std::size_t>(plan->members.me)].bytes;
  if (operation.writes()) return;
  Count size = 0;
  for (const AccessReport& each : plan->reports) size = std::max(size, each.file_size);
  for (AccessReport& each : plan->reports) {
    each.last = std::min(each.last, size);
    if (each.first >= each.last) each.first = each.last = each.bytes = 0;
  }
  const Count there = operation.view().position_at(size) - operation.position();
  plan->bytes = std::clamp<Count>(there, 0, plan->bytes);
}

}  // namespace

void Plan::note(Status failed) {
  if (failed.ok() || !status.ok()) return;
  status = failed;
  detail = take_detail();
}

Interval Plan::chunk_of(Count round, int aggregator) const noexcept {
  const Count number = round * static_cast<Count>(aggregators.size()) + aggregator;
  const Count first = std::min(origin + number * chunk, end);
  return {first, std::min(first + chunk, end)};
}

bool Plan::has_data_in(int member, const Interval& range) const noexcept {
  const AccessReport& report = reports[static_cast<std::size_t>(member)];
  return report.bytes != 0 && report.first < range.last && report.last > range.first;
}

Status receive_from(const Plan& plan, int member, const layout::View& data, p2p::RequestList* requests,
                    Direction direction) {
  const comm::Members& members = plan.members;
  const int tag = members.tag | static_cast<int>(direction);
  return p2p::ireceive(data, {members.context, members.procs[member], tag}, requests->next());
}

Status send_to(const Plan& plan, int member, const layout::View& data, p2p::RequestList* requests,
               Direction direction) {
  const comm::Members& members = plan.members;
  const int tag = members.tag | static_cast<int>(direction);
  return p2p::isend(data, members.procs[member], {members.context, members.procs[members.me], tag},
                    p2p::Mode::kStandard, requests->next());
}

Status announce(const Operation& operation, const Plan& plan, Count round, std::vector<Part>* parts,
                p2p::RequestList* requests) {
  parts->clear();
  parts->reserve(plan.aggregators.size());
  for (int place = 0; place < static_cast<int>(plan.aggregators.size()); ++place) {
    const Interval chunk = plan.chunk_of(round, place);
    if (!plan.has_data_in(plan.members.me, chunk)) continue;
    Part& part = parts->emplace_back();
    part.aggregator = plan.aggregators[static_cast<std::size_t>(place)];
    const Count behind = operation.position() + plan.bytes;
    const Count first = std::clamp(operation.view().position_at(chunk.first), operation.position(), behind);
    const Count last = std::clamp(operation.view().position_at(chunk.last), first, behind);
    part.offset = static_cast<std::size_t>(first - operation.position());
    part.bytes = static_cast<std::size_t>(last - first);
    part.groups = groups_of(operation.view(), first, last - first);
    part.header.bytes = last - first;
    part.header.groups = static_cast<Count>(part.groups.size());
    const Count here = std::min(part.header.groups, Header::kInline);
    std::copy_n(part.groups.begin(), here, part.header.first);
    HR_TRY(send_to(plan, part.aggregator, bytes_view(&part.header, sizeof part.header), requests));
    if (here == part.header.groups) continue;
    const std::span<const SegmentGroup> rest = std::span(part.groups).subspan(static_cast<std::size_t>(here));
    HR_TRY(send_to(plan, part.aggregator, bytes_view(rest.data(), rest.size_bytes()), requests));
  }
  return kOk;
}

Task receive_announcements(const Plan* plan, Count round, Announced* announced) {
  announced->chunk = plan->chunk_of(round, plan->own_place);
  announced->members.clear();
  for (int member = 0; member < plan->members.size; ++member) {
    if (plan->has_data_in(member, announced->chunk)) announced->members.push_back(member);
  }
  const std::size_t count = announced->members.size();
  announced->headers.assign(count, Header{});
  announced->lists.assign(count, {});
  p2p::RequestList requests(count);
  for (std::size_t i = 0; i < count; ++i) {
    HR_CO_TRY(
        receive_from(*plan, announced->members[i], bytes_view(&announced->headers[i], sizeof(Header)), &requests));
  }
  HR_CO_TRY(co_await requests.all());
  for (std::size_t i = 0; i < count; ++i) {
    const Header& header = announced->headers[i];
    const Count here = std::min(header.groups, Header::kInline);
    std::vector<SegmentGroup>& list = announced->lists[i];
    list.resize(static_cast<std::size_t>(header.groups));
    std::copy_n(header.first, here, list.begin());
    if (here == header.groups) continue;
    const std::span<SegmentGroup> rest = std::span(list).subspan(static_cast<std::size_t>(here));
    HR_CO_TRY(receive_from(*plan, announced->members[i], bytes_view(rest.data(), rest.size_bytes()), &requests));
  }
  HR_CO_TRY(co_await requests.all());
  co_return kOk;
}

Status view_of(const Announced& announced, std::size_t index, std::byte* buffer, Ref<layout::Datatype>* type,
               layout::View* view) {
  const std::vector<SegmentGroup>& groups = announced.lists[index];
  const auto bytes = static_cast<std::size_t>(announced.headers[index].bytes);
  if (groups.size() == 1 && groups[0].count == 1) {
    *view = bytes_view(buffer + (groups[0].offset - announced.chunk.first), bytes);
    return kOk;
  }
  HR_TRY(type_of(groups, announced.chunk.first, type));
  view->address = buffer;
  view->count = 1;
  view->type = type->get();
  view->packed = bytes;
  view->contiguous = (*type)->contiguous(1);
  return kOk;
}

Task two_phase(Operation* operation) {
  Plan plan;
  plan.members = operation->file().members(operation->tag());
  const AccessReport own = own_report(*operation);
  plan.reports.resize(static_cast<std::size_t>(plan.members.size));
  Task telling = comm::allgather(plan.members, &own, sizeof own, reinterpret_cast<std::byte*>(plan.reports.data()));
  HR_CO_TRY(co_await telling);
  if (!is_worth_it(plan.reports)) {
    Job job;
    Task alone = independent(operation, &job);
    HR_CO_TRY(co_await alone);
    co_return kOk;
  }
  clip(*operation, &plan);
  divide(&plan, operation->writes());
  Task moving = operation->writes() ? write_together(operation, &plan) : read_together(operation, &plan);
  HR_CO_TRY(co_await moving);
  operation->set_done(plan.status.ok() ? static_cast<std::size_t>(plan.bytes) : 0);
  if (!plan.detail.empty()) set_detail(std::move(plan.detail));
  Status all = plan.status;
  Task agreeing = agree(plan.members, &all);
  HR_CO_TRY(co_await agreeing);
  co_return all;
}

}  // namespace hr::io
