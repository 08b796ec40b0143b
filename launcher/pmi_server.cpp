#include "pmi_server.hpp"

#include <utility>

#include "boot/host_view.hpp"

namespace hr::launcher {

PmiServer::PmiServer(std::string space, std::vector<int> appnums, const HostSplit& hosts, Callbacks callbacks)
    : space_(std::move(space)),
      appnums_(std::move(appnums)),
      callbacks_(std::move(callbacks)),
      ranks_(appnums_.size()),
      several_hosts_(hosts.hosts() > 1) {
  values_["PMI_process_mapping"] = hosts.mapping();
}

void PmiServer::handle_line(int rank, std::string_view line) {
  const boot::WireMessage message(line);
  const std::string_view command = message.command();
  RankState& own = ranks_[static_cast<std::size_t>(rank)];
  const std::string size = std::to_string(ranks_.size());

  if (command == "init") {
    own.initialised = true;
    const bool spoken = message.number("pmi_version", 0) == 1;
    // Ours only (boot/pmi1.cpp): how many share the cores, where the mapping does not say it; else that views are
    // compared here.
    callbacks_.send(rank, std::string("cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=") +
                              (spoken ? "0" : "-1") + (several_hosts_ ? " machine_ranks=" + size : " views=1"));
  } else if (command == "get_maxes") {
    callbacks_.send(rank, "cmd=maxes rc=0 kvsname_max=256 keylen_max=64 vallen_max=1024");
  } else if (command == "get_appnum") {
    callbacks_.send(rank, "cmd=appnum rc=0 appnum=" + std::to_string(appnums_[static_cast<std::size_t>(rank)]));
  } else if (command == "get_my_kvsname") {
    callbacks_.send(rank, "cmd=my_kvsname rc=0 kvsname=" + space_);
  } else if (command == "get_universe_size") {
    callbacks_.send(rank, "cmd=universe_size rc=0 size=" + size);
  } else if (command == "put") {
    put(rank, message.field("key"), message.field("value"));
  } else if (command == "get") {
    const std::string_view view = message.field("seen");
    if (view.empty()) return get(rank, message.field("key"), message.field("wait") == "1");
    compare(rank, view);
  } else if (command == "barrier_in") {
    enter_barrier(rank);
  } else if (command == "finalize") {
    own.finalized = true;
    callbacks_.send(rank, "cmd=finalize_ack rc=0");
  } else if (command == "abort") {
    callbacks_.abort(rank, message.number("exitcode", 1));
  } else if (command == "crashed") {
    // Ours only (boot/pmi1.cpp): the rank waits for the answer before it ends.
    callbacks_.crashed(rank, message.number("signal", 0));
  } else if (line.starts_with("mcmd=")) {
    // The lines that follow, up to "endcmd", belong to it; the answer goes out with the last.
  } else if (line == "endcmd") {
    callbacks_.send(rank, "cmd=spawn_result rc=-1 msg=not_supported");
  } else if (!command.empty()) {
    callbacks_.send(rank, "cmd=" + std::string(command) + "_result rc=-1 msg=not_supported");
  }
}

void PmiServer::answer_crash(int rank, bool shown) {
  callbacks_.send(rank, std::string("cmd=crashed_result rc=") + (shown ? "0" : "-1"));
}

void PmiServer::put(int rank, std::string_view key, std::string_view value) {
  const bool fresh = !key.empty() && values_.emplace(key, value).second;
  callbacks_.send(rank, fresh ? "cmd=put_result rc=0 msg=success" : "cmd=put_result rc=-1 msg=duplicate_key");
  const auto asked = asked_for_.find(key);
  if (asked == asked_for_.end()) return;
  for (const int each : std::exchange(asked->second, {})) get(each, key, false);
  asked_for_.erase(asked);
}

void PmiServer::get(int rank, std::string_view key, bool wait) {
  const auto found = values_.find(key);
  if (found == values_.end() && wait) {
    // Ours only (boot/pmi1.cpp): the rank waits until somebody puts it.
    asked_for_[std::string(key)].push_back(rank);
    return;
  }
  callbacks_.send(rank, found == values_.end() ? "cmd=get_result rc=-1 msg=key_not_found value=unknown"
                                               : "cmd=get_result rc=0 msg=success value=" + found->second);
}

// Ours only (boot/pmi1.cpp): the answer goes to all when the last has come.
void PmiServer::compare(int rank, std::string_view view) {
  views_.resize(ranks_.size());
  std::string& own = views_[static_cast<std::size_t>(rank)];
  if (own.empty()) ++looked_;
  own = view;
  if (looked_ < ranks_.size()) return;
  const std::string hosts = boot::format_hosts(boot::compare_views(std::exchange(views_, {})));
  looked_ = 0;
  for (std::size_t each = 0; each < ranks_.size(); ++each) {
    callbacks_.send(static_cast<int>(each), "cmd=get_result rc=0 msg=success value=" + hosts);
  }
}

void PmiServer::enter_barrier(int rank) {
  RankState& own = ranks_[static_cast<std::size_t>(rank)];
  if (own.in_barrier) return;
  own.in_barrier = true;
  if (++waiting_ < ranks_.size()) return;
  waiting_ = 0;
  for (RankState& each : ranks_) each.in_barrier = false;
  for (std::size_t each = 0; each < ranks_.size(); ++each) {
    callbacks_.send(static_cast<int>(each), "cmd=barrier_out rc=0");
  }
}

}  // namespace hr::launcher
