// Prints the output of --do-not-launch.
#include <array>
#include <cstdio>

#include "base/json_writer.hpp"
#include "base/ranges.hpp"
#include "plan/rank_layout.hpp"
#include "topo/picture.hpp"

namespace hr::launcher {
namespace {

using Row = std::array<std::string, 6>;

// Returns the numbers of the machine's cores to which these CPUs belong.
std::string cores_text(const topo::Machine& machine, const topo::CpuSet& cpus) {
  std::vector<std::size_t> cores;
  const std::vector<topo::CpuSet>& all =
      machine.all(topo::Level::kCore).empty() ? machine.all(topo::Level::kThread) : machine.all(topo::Level::kCore);
  for (std::size_t core = 0; core < all.size(); ++core) {
    if (!topo::common(all[core], cpus).empty()) cores.push_back(core);
  }
  return as_ranges(cores);
}

std::string device_text(const topo::Device* device, topo::Distance distance) {
  return device == nullptr ? "-" : device->name + " (" + topo::text_of(distance) + ")";
}

void print_table(const RankLayout& layout) {
  std::vector<Row> rows = {{"rank", "host", "cores", "CPUs", "GPU", "NIC"}};
  for (std::size_t rank = 0; rank < layout.host_of.size(); ++rank) {
    const topo::Host& host = layout.hosts[static_cast<std::size_t>(layout.host_of[rank])];
    const topo::CpuSet& cpus = layout.cpus[rank];
    const topo::Nearest& nearest = layout.nearest[rank];
    rows.push_back({std::to_string(rank), host.name, cpus.empty() ? "not bound" : cores_text(*host.machine, cpus),
                    cpus.empty() ? "-" : as_ranges(cpus), device_text(nearest.gpu, nearest.gpu_distance),
                    device_text(nearest.nic, nearest.nic_distance)});
  }
  std::array<std::size_t, std::tuple_size_v<Row>> widths{};
  for (const Row& row : rows) {
    for (std::size_t at = 0; at < row.size(); ++at) widths[at] = std::max(widths[at], row[at].size());
  }
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t at = 0; at < row.size(); ++at) {
      // Ranks are right-aligned, everything else is left-aligned.
      const std::string fill(widths[at] - row[at].size(), ' ');
      line += (at == 0 ? fill + row[at] : "  " + row[at] + fill);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    std::printf("%s\n", line.c_str());
  }
}

void print_pictures(const RankLayout& layout) {
  for (int at = 0; at < static_cast<int>(layout.hosts.size()); ++at) {
    const std::vector<int> ranks = layout.ranks_on(at);
    if (ranks.empty()) continue;
    const topo::Host& host = layout.hosts[static_cast<std::size_t>(at)];
    std::vector<topo::CpuSet> cpus;
    for (const int rank : ranks) cpus.push_back(layout.cpus[static_cast<std::size_t>(rank)]);
    topo::Machine machine = *host.machine;
    machine.name = host.name;
    std::printf("\n%s", topo::picture(machine, ranks, cpus).c_str());
  }
}

void write_device(JsonWriter* json, const char* kind, const topo::Device* device, topo::Distance distance) {
  json->key(kind);
  if (device == nullptr) {
    json->null();
    return;
  }
  json->begin_object().member("name", device->name).member("address", device->address);
  json->member("distance", topo::text_of(distance)).end_object();
}

void print_json(const RankLayout& layout) {
  JsonWriter json;
  json.begin_object().key("hosts").begin_array();
  for (int at = 0; at < static_cast<int>(layout.hosts.size()); ++at) {
    const topo::Host& host = layout.hosts[static_cast<std::size_t>(at)];
    json.begin_object().member("name", host.name).member("slots", host.slots);
    json.member("cores", host.machine->parts(topo::Level::kCore).size()).member("cpus", host.machine->allowed);
    json.member("ranks", layout.ranks_on(at)).end_object();
  }
  json.end_array().key("ranks").begin_array();
  for (std::size_t rank = 0; rank < layout.host_of.size(); ++rank) {
    json.begin_object().member("rank", rank);
    json.member("host", layout.hosts[static_cast<std::size_t>(layout.host_of[rank])].name);
    json.member("cpus", layout.cpus[rank]);
    const topo::Nearest& nearest = layout.nearest[rank];
    write_device(&json, "gpu", nearest.gpu, nearest.gpu_distance);
    write_device(&json, "nic", nearest.nic, nearest.nic_distance);
    json.end_object();
  }
  json.end_array().member("note", layout.note).end_object();
  std::printf("%s\n", json.text().c_str());
}

}  // namespace

void print_layout(const RankLayout& layout, bool as_json) {
  if (as_json) {
    print_json(layout);
  } else {
    print_table(layout);
    print_pictures(layout);
  }
}

}  // namespace hr::launcher
