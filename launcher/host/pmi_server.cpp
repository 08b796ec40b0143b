#include "host/pmi_server.hpp"

#include <cstdint>
#include <utility>

#include "boot/key_values.hpp"
#include "wire/message.hpp"

namespace hr::launcher {
namespace {

constexpr std::size_t kLongestAnswer = std::size_t{64} << 10;
constexpr int kMostNumbered = 1024;
constexpr std::size_t kMostPut = std::size_t{16} << 20;  // maximum total size of the keys and values that a rank puts
constexpr std::string_view kMappingKey = "PMI_process_mapping";
constexpr char kEndOfRun = '|';  // ends the number that precedes keys of a rank's second and later programs

// Returns the prefix of a key with the number of the program that put it; empty for a rank's first program.
std::string_view run_of(std::string_view key) {
  const auto end = key.find(kEndOfRun);
  return key.substr(0, end == std::string_view::npos ? 0 : end + 1);
}

}  // namespace

PmiServer::PmiServer(std::string space, std::vector<int> appnums, const RankMap& map, const std::vector<int>& ranks,
                     int machine_ranks, int failure_board, bool one_host, Callbacks callbacks)
    : space_(std::move(space)),
      appnums_(std::move(appnums)),
      universe_(static_cast<int>(appnums_.size())),
      machine_ranks_(machine_ranks),
      failure_board_(failure_board),
      one_host_(one_host),
      callbacks_(std::move(callbacks)),
      left_(ranks.size()) {
  for (const int rank : ranks) ranks_[rank] = {};
  // A line that a socket does not accept immediately cannot be sent; without the mapping, the ranks determine their
  // hosts themselves.
  if (std::string mapping = map.mapping(); mapping.size() <= kLongestAnswer) {
    values_[std::string(kMappingKey)] = {std::move(mapping), -1};
  }
}

void PmiServer::give(const std::vector<KeyValue>& pairs) {
  for (const auto& [key, value] : pairs) values_.insert_or_assign(key, Value{value, -1});
}

// Handles one line of a spawn request; false if the line is not part of one.
bool PmiServer::handle_spawn(int rank, std::string_view line) {
  SpawnLines& lines = ranks_.at(rank).spawn;
  if (line == "mcmd=spawn") {
    lines.begin();
  } else if (!lines.open()) {
    return false;
  } else if (line != "endcmd") {
    lines.add(line);
  } else if (const auto request = lines.end(); request && !request->programs.empty()) {
    callbacks_.spawn(rank, *request);
  } else if (request) {
    callbacks_.send(rank, "cmd=spawn_result rc=-1 msg=" + boot::escape(lines.problem()));
  }
  return true;
}

bool PmiServer::handle_name(int rank, const boot::WireMessage& message) {
  const std::string_view command = message.command();
  const int what = command == "publish_name"     ? Message::kPublish
                   : command == "unpublish_name" ? Message::kUnpublish
                   : command == "lookup_name"    ? Message::kLookUp
                                                 : -1;
  if (what < 0) return false;
  const std::string_view service = message.field("service");
  if (!service.empty()) {
    callbacks_.name(rank, what, service, message.field("port"));
  } else {
    callbacks_.send(rank, "cmd=" + std::string(command.substr(0, command.find('_'))) + "_result rc=-1 msg=no_name");
  }
  return true;
}

void PmiServer::handle_line(int rank, std::string_view line) {
  if (handle_spawn(rank, line)) return;
  const boot::WireMessage message(line);
  const std::string_view command = message.command();
  RankState& own = ranks_.at(rank);

  if (command == "init") {
    if (own.initialised && !own.finalized) {
      return callbacks_.send(rank, "cmd=response_to_init rc=-1 busy=" + std::to_string(own.client));
    }
    if (own.finalized) begin_next_run(own);
    own.initialised = true;
    own.client = message.number("pid", 0);
    const bool spoken = message.number("pmi_version", 0) == 1;
    // Headrace's own fields follow (boot/pmi1.cpp). keeps_files: keep_file() is supported. machine_ranks: number of
    // ranks that share the cores, if the mapping does not show it; otherwise views: the launcher compares host views.
    // one_host, failure_board, first_space: see Identity in boot.hpp (failure_board_job there is first_space).
    callbacks_.send(rank, std::string("cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=") +
                              (spoken ? "0" : "-1") + " keeps_files=1" +
                              (machine_ranks_ != 0 ? " machine_ranks=" + std::to_string(machine_ranks_) : " views=1") +
                              (one_host_ ? " one_host=1" : "") +
                              (failure_board_ >= 0 ? " failure_board=" + std::to_string(failure_board_) : "") +
                              (own.run != 0 ? " first_space=" + space_ : ""));
  } else if (command == "get_maxes") {
    callbacks_.send(rank, "cmd=maxes rc=0 kvsname_max=256 keylen_max=64 vallen_max=1024");
  } else if (command == "get_appnum") {
    callbacks_.send(rank, "cmd=appnum rc=0 appnum=" + std::to_string(appnums_[static_cast<std::size_t>(rank)]));
  } else if (command == "get_my_kvsname") {
    const std::string run = own.run != 0 ? "_" + std::to_string(own.run + 1) : "";
    callbacks_.send(rank, "cmd=my_kvsname rc=0 kvsname=" + space_ + run);
  } else if (command == "get_universe_size") {
    callbacks_.send(rank, "cmd=universe_size rc=0 size=" + std::to_string(universe_));
  } else if (command == "put") {
    put(rank, key_in(own, message.field("key")), message.field("value"));
  } else if (command == "get") {
    const std::string_view view = message.field("seen");
    if (view.empty()) return get(rank, key_in(own, message.field("key")), message.field("wait") == "1");
    look(rank, view);
  } else if (command == "get_numbered") {
    get_numbered(rank, key_in(own, message.field("key")), message.number("first", -1), message.number("count", -1));
  } else if (command == "barrier_in") {
    enter_barrier(rank);
  } else if (command == "finalize") {
    own.finalized = true;
    own.used_world = own.used_world || message.number("sessions", 0) == 0;  // the field is Headrace's
    callbacks_.send(rank, "cmd=finalize_ack rc=0");
  } else if (command == "abort") {
    callbacks_.abort(rank, message.number("exitcode", 1));
  } else if (command == "keep_file") {
    // Headrace's own request (boot/pmi1.cpp), which is not answered.
    callbacks_.keep_file(rank, message.number("pid", 0), message.number("file", -1));
  } else if (command == "crashed") {
    // Headrace's own request (boot/pmi1.cpp): the rank waits for the answer before it ends.
    callbacks_.crashed(rank, message.number("signal", 0));
  } else if (!command.empty() && !handle_name(rank, message)) {
    callbacks_.send(rank, "cmd=" + std::string(command) + "_result rc=-1 msg=not_supported");
  }
}

// Begins the next program of a rank. Successive programs (in a shell script) are separate jobs: none sees the values of
// an earlier one. All ranks of a run have left the exchanges of the previous one, so barriers need no run number.
void PmiServer::begin_next_run(RankState& state) {
  const int run = state.run + 1;
  const bool failed = state.failed;
  state = {};
  state.run = run;
  state.failed = failed;
}

std::string PmiServer::key_in(const RankState& state, std::string_view key) {
  if (state.run == 0 || key.empty() || key == kMappingKey) return std::string(key);
  return std::to_string(state.run) + kEndOfRun + std::string(key);
}

void PmiServer::answer_crash(int rank, bool shown) {
  callbacks_.send(rank, std::string("cmd=crashed_result rc=") + (shown ? "0" : "-1"));
}

void PmiServer::put(int rank, std::string_view key, std::string_view value) {
  std::size_t& bytes = ranks_.at(rank).put;
  if (bytes + key.size() + value.size() > kMostPut) {
    return callbacks_.send(rank, "cmd=put_result rc=-1 msg=too_much_was_put");
  }
  bytes += key.size() + value.size();
  const bool fresh = !key.empty() && add(key, {std::string(value), rank});
  callbacks_.send(rank, fresh ? "cmd=put_result rc=0 msg=success" : "cmd=put_result rc=-1 msg=duplicate_key");
  if (!fresh) return;
  unfenced_.emplace_back(key, value);
  answer_waiting(key);
  const auto wanted = wanted_.find(key);
  if (wanted == wanted_.end()) return;
  wanted_.erase(wanted);
  callbacks_.answer(put_with(key));
}

// Adds a value. Returns false if the key already has one.
bool PmiServer::add(std::string_view key, Value value) {
  last_numbered_.clear();
  return values_.emplace(key, std::move(value)).second;
}

void PmiServer::answer_waiting(std::string_view key) {
  const auto asked = asked_for_.find(key);
  if (asked == asked_for_.end()) return;
  const std::vector<int> waiting = std::move(asked->second);
  asked_for_.erase(asked);
  for (const int each : waiting) get(each, key, false);
}

std::vector<KeyValue> PmiServer::put_with(std::string_view key) const {
  const auto found = values_.find(key);
  if (found == values_.end()) return {};
  std::vector<KeyValue> pairs;
  // The requested key comes last: a rank that waits for it may request the other keys as soon as it has this one.
  for (const auto& [other, value] : values_) {
    const bool belongs = value.rank == found->second.rank && run_of(other) == run_of(key);
    if (found->second.rank >= 0 && belongs && other != key) pairs.emplace_back(other, value.text);
  }
  pairs.emplace_back(found->first, found->second.text);
  return pairs;
}

void PmiServer::want(const std::string& key) {
  if (knows(key)) return callbacks_.answer(put_with(key));
  wanted_.insert(key);
}

void PmiServer::publish(const std::vector<KeyValue>& values) {
  for (const auto& [key, value] : values) {
    add(key, {value, -1});
  }
  for (const auto& [key, value] : values) answer_waiting(key);
}

void PmiServer::get(int rank, std::string_view key, bool wait) {
  const auto found = values_.find(key);
  if (found == values_.end() && wait) {
    // Headrace's own request (boot/pmi1.cpp): the rank waits until the key is put.
    std::vector<int>& waiting = asked_for_[std::string(key)];
    waiting.push_back(rank);
    if (waiting.size() == 1) callbacks_.ask(std::string(key));
    return;
  }
  callbacks_.send(rank, found == values_.end() ? "cmd=get_result rc=-1 msg=key_not_found value=unknown"
                                               : "cmd=get_result rc=0 msg=success value=" + found->second.text);
}

// Handles Headrace's own request (boot/pmi1.cpp) for the values of keys that differ only in a number. All ranks on a
// host request the same values, so the last answer is kept.
void PmiServer::get_numbered(int rank, std::string_view key, int first, int count) {
  const auto star = key.find('*');
  if (star == std::string_view::npos || first < 0 || count < 1 || count > kMostNumbered) {
    return callbacks_.send(rank, "cmd=get_numbered_result rc=-1 msg=bad_request");
  }
  std::string request = std::to_string(first) + " " + std::to_string(count) + " " + std::string(key);
  if (request != last_numbered_) {
    last_answer_ = "cmd=get_numbered_result rc=0 values=";
    for (int each = 0; each < count; ++each) {
      if (each != 0) last_answer_ += boot::kBetweenValues;
      const auto number = std::to_string(std::int64_t{first} + each);
      const auto found = values_.find(std::string(key).replace(star, 1, number));
      if (found == values_.end() || found->second.text.find(boot::kBetweenValues) != std::string::npos) continue;
      if (last_answer_.size() + found->second.text.size() + static_cast<std::size_t>(count) > kLongestAnswer) continue;
      last_answer_ += found->second.text;
    }
    last_numbered_ = std::move(request);
  }
  callbacks_.send(rank, last_answer_);
}

// Handles Headrace's own request for the hosts (boot/pmi1.cpp): all ranks are answered when all ranks of the job have
// reported.
void PmiServer::look(int rank, std::string_view view) {
  views_[rank] = view;
  check_views();
}

void PmiServer::check_views() {
  if (views_.empty() || views_.size() < left_ || std::exchange(views_told_, true)) return;
  std::map<std::string, std::string> ranks_with;
  for (const auto& [each, seen] : views_) ranks_with[seen] += std::to_string(each) + " ";
  callbacks_.views({ranks_with.begin(), ranks_with.end()});
}

void PmiServer::tell_hosts(std::string_view hosts) {
  for (const auto& [rank, view] : std::exchange(views_, {})) {
    callbacks_.send(rank, "cmd=get_result rc=0 msg=success value=" + std::string(hosts));
  }
  views_told_ = false;
}

void PmiServer::enter_barrier(int rank) {
  RankState& own = ranks_.at(rank);
  if (own.in_barrier) return;
  own.in_barrier = true;
  ++waiting_;
  check_barrier();
}

// Reports the barrier once all remaining ranks have entered it, which is always true if no ranks remain.
void PmiServer::check_barrier() {
  if (waiting_ != left_ || std::exchange(fencing_, true)) return;
  callbacks_.fence(std::exchange(unfenced_, {}));
}

void PmiServer::leave_fence() {
  waiting_ = 0;
  fencing_ = false;
  for (auto& [rank, each] : ranks_) {
    if (std::exchange(each.in_barrier, false)) callbacks_.send(rank, "cmd=barrier_out rc=0");
  }
  if (left_ == 0 && !ranks_.empty()) check_barrier();
}

void PmiServer::mark_failed(int rank) {
  // Requested keys that this rank should have put will never be put.
  for (const auto& [key, waiting] : std::exchange(asked_for_, {})) {
    for (const int each : waiting) get(each, key, false);
  }
  const auto found = ranks_.find(rank);
  if (found == ranks_.end() || std::exchange(found->second.failed, true)) return;
  --left_;
  if (std::exchange(found->second.in_barrier, false)) --waiting_;
  if (views_.erase(rank) != 0 || !views_.empty()) check_views();
  check_barrier();
}

}  // namespace hr::launcher
