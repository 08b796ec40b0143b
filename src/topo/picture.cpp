#include "topo/picture.hpp"

#include <algorithm>
#include <map>

#include "base/ranges.hpp"
#include "topo/devices.hpp"

namespace hr::topo {
namespace {

constexpr std::size_t kWidth = 100;

std::string counted(std::size_t number, const char* what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::uint64_t kKiB = 1024, kMiB = kKiB * 1024;
  if (bytes == 0) return "";
  return bytes % kMiB == 0 ? " of " + std::to_string(bytes / kMiB) + " MiB"
                           : " of " + std::to_string(bytes / kKiB) + " KiB";
}

// Text cells that are padded to the same width.
class Cells {
 public:
  Cells(const Machine& machine, std::span<const int> ranks, const std::vector<CpuSet>& placement)
      : allowed_(machine.allowed) {
    for (std::size_t at = 0; at < placement.size(); ++at) {
      for (const unsigned cpu : placement[at]) ranks_on_[cpu].push_back(ranks[at]);
    }
    for (const CpuSet& core : cores_of(machine)) width_ = std::max(width_, text(core).size());
  }

  static const std::vector<CpuSet>& cores_of(const Machine& machine) {
    return machine.all(Level::kCore).empty() ? machine.all(Level::kThread) : machine.all(Level::kCore);
  }

  [[nodiscard]] std::string padded(const CpuSet& core) const {
    const std::string cell = text(core);
    return std::string(width_ - cell.size(), ' ') + cell;
  }
  [[nodiscard]] bool has_more() const { return has_more_; }
  [[nodiscard]] bool any_forbidden() const { return any_forbidden_; }

 private:
  // Returns a core's cell: "3": rank 3 has the core; "3/4": one rank on each hardware thread; "3,5": two ranks on the
  // same threads; ".": no rank.
  std::string text(const CpuSet& core) const {
    std::vector<std::string> of_thread;
    for (const unsigned cpu : core) {
      const auto found = ranks_on_.find(cpu);
      if (!std::binary_search(allowed_.begin(), allowed_.end(), cpu)) {
        of_thread.emplace_back("-");
        any_forbidden_ = true;
      } else if (found == ranks_on_.end()) {
        of_thread.emplace_back(".");
      } else {
        of_thread.push_back(numbers(found->second));
      }
    }
    if (std::equal(of_thread.begin() + 1, of_thread.end(), of_thread.begin())) return of_thread[0];
    std::string all = of_thread[0];
    for (std::size_t at = 1; at < of_thread.size(); ++at) all += "/" + of_thread[at];
    return all;
  }

  // Returns "0,2" or "4-7" if that is short, else "0+".
  std::string numbers(const std::vector<int>& ranks) const {
    constexpr std::size_t kLongest = 5;
    const std::string all = as_ranges(ranks);
    if (all.size() <= kLongest) return all;
    has_more_ = true;
    return std::to_string(ranks[0]) + "+";
  }

  const CpuSet& allowed_;
  std::map<unsigned, std::vector<int>> ranks_on_;
  std::size_t width_ = 1;
  mutable bool has_more_ = false;
  mutable bool any_forbidden_ = false;
};

// Returns the index of the part that contains these CPUs; the number of parts if none does.
std::size_t index_of(const std::vector<CpuSet>& parts, const CpuSet& cpus) {
  return static_cast<std::size_t>(
      std::find_if(parts.begin(), parts.end(), [&](const CpuSet& part) { return holds(part, cpus); }) - parts.begin());
}

const std::vector<CpuSet>& or_whole(const std::vector<CpuSet>& parts, const std::vector<CpuSet>& whole) {
  return parts.empty() ? whole : parts;
}

std::string title(const Machine& machine) {
  const std::size_t sockets = std::max<std::size_t>(machine.all(Level::kSocket).size(), 1);
  const std::size_t domains = std::max<std::size_t>(machine.all(Level::kNuma).size(), 1);
  const std::size_t cores = Cells::cores_of(machine).size();
  const std::size_t threads = machine.all(Level::kThread).size();
  std::string text = machine.name + ": " + counted(sockets, "socket") + ", " + counted(domains, "NUMA domain") + ", " +
                     counted(cores, "core");
  if (threads != cores) text += ", " + counted(threads, "hardware thread");
  return text + "\n";
}

// Returns the caches that several cores share, outermost first.
std::vector<Level> shared_caches(const Machine& machine) {
  std::vector<Level> shared;
  for (const Level level : {Level::kL3, Level::kL2}) {
    const std::vector<CpuSet>& caches = machine.all(level);
    if (!caches.empty() && caches.size() < Cells::cores_of(machine).size() &&
        (shared.empty() || machine.all(shared[0]) != caches)) {
      shared.push_back(level);
    }
  }
  return shared;
}

// Draws the cores of one domain: "[(0 0) (1 1)] [(. .) (. .)]", broken between outer caches if it is long.
void draw_cores(const Machine& machine, const CpuSet& domain, const Cells& cells, const std::vector<Level>& caches,
                std::size_t indent, std::string* text) {
  constexpr const char* kOpen[] = {"[", "("};
  constexpr const char* kClose[] = {"]", ")"};
  std::string line;
  const auto flush = [&](std::string& group) {
    if (!line.empty() && indent + line.size() + 1 + group.size() > kWidth) {
      *text += line + "\n" + std::string(indent, ' ');
      line.clear();
    }
    line += (line.empty() ? "" : " ") + group;
    group.clear();
  };
  std::string group;
  std::vector<std::size_t> open(caches.size(), static_cast<std::size_t>(-1));
  bool is_first = true;
  for (const CpuSet& core : Cells::cores_of(machine)) {
    if (!holds(domain, core)) continue;
    std::size_t changed = caches.size();  // the outermost cache that differs from the last core's
    std::vector<std::size_t> now;
    for (std::size_t at = 0; at < caches.size(); ++at) {
      now.push_back(index_of(machine.all(caches[at]), core));
      if (now[at] != open[at]) changed = std::min(changed, at);
    }
    if (!is_first) {
      for (std::size_t at = caches.size(); at-- > changed;) group += kClose[at];
      if (changed == 0 || caches.empty()) {
        flush(group);
      } else {
        group += " ";
      }
    }
    for (std::size_t at = changed; at < caches.size(); ++at) group += kOpen[at];
    group += cells.padded(core);
    open = now;
    is_first = false;
  }
  for (std::size_t at = caches.size(); at-- > 0;) group += kClose[at];
  flush(group);
  *text += line + "\n";
}

const char* kind_of(const Device& device) { return device.kind == Device::Kind::kGpu ? "GPU" : "NIC"; }

std::string label_of(const Device& device) {
  return std::string(kind_of(device)) + " " + device.name +
         (device.name == device.address ? "" : " (" + device.address + ")");
}

// Draws devices that are attached to this domain; if `domain` is the number of domains, those attached to none of them.
void draw_devices(const Machine& machine, const std::vector<CpuSet>& domains, std::size_t domain, std::size_t indent,
                  std::string* text) {
  std::string line;
  for (const Device& device : machine.devices) {
    if (index_of(domains, device.cpus) != domain) continue;
    const std::string label = label_of(device);
    if (!line.empty() && indent + line.size() + label.size() + 2 > kWidth) {
      *text += std::string(indent, ' ') + line + ",\n";
      line.clear();
    }
    line += (line.empty() ? "" : ", ") + label;
  }
  if (!line.empty()) *text += std::string(indent, ' ') + line + "\n";
}

void draw_distances(const Machine& machine, std::string* text) {
  std::vector<const Device*> gpus, cards;
  for (const Device& device : machine.devices) (device.kind == Device::Kind::kGpu ? gpus : cards).push_back(&device);
  for (const Device* gpu : gpus) {
    std::map<Distance, std::string> near;
    for (const Device* card : cards) {
      std::string& names = near[distance(machine, *gpu, *card)];
      names += (names.empty() ? "" : ", ") + card->name;
    }
    if (near.empty()) continue;
    *text += "  " + label_of(*gpu) + " to NICs:";
    bool is_first = true;
    for (const auto& [how, names] : near) {
      *text += std::string(is_first ? " " : "; ") + text_of(how) + ": " + names;
      is_first = false;
    }
    *text += "\n";
  }
}

std::string legend(const Machine& machine, const Cells& cells, const std::vector<Level>& caches) {
  std::string text = "  numbers are ranks on cores; . no rank";
  if (cells.has_more()) text += "; + and others";
  if (cells.any_forbidden()) text += "; - not to be used";
  constexpr const char* kBrackets[] = {"[ ]", "( )"};
  for (std::size_t at = 0; at < caches.size(); ++at) {
    text += std::string("; ") + kBrackets[at] + " one " + name_of(caches[at]) +
            bytes_text(machine.cache_bytes[static_cast<std::size_t>(caches[at])]);
  }
  return text + "\n";
}

}  // namespace

std::string picture(const Machine& machine, std::span<const int> ranks, const std::vector<CpuSet>& placement) {
  const std::vector<CpuSet> whole = {united(machine.all(Level::kThread))};
  const std::vector<CpuSet>& domains = or_whole(machine.all(Level::kNuma), whole);
  const std::vector<CpuSet>& sockets = or_whole(machine.all(Level::kSocket), whole);
  const Cells cells(machine, ranks, placement);
  const std::vector<Level> caches = shared_caches(machine);
  std::string text = title(machine);
  for (std::size_t domain = 0; domain < domains.size(); ++domain) {
    const std::size_t socket = index_of(sockets, domains[domain]);
    std::string head = "  ";
    if (socket < sockets.size()) head += "socket " + std::to_string(socket) + " ";
    head += "NUMA " + std::to_string(domain) + "  ";
    text += head;
    draw_cores(machine, domains[domain], cells, caches, head.size(), &text);
    draw_devices(machine, domains, domain, head.size(), &text);
  }
  // Devices attached to a socket or to the machine, not to one domain.
  draw_devices(machine, domains, domains.size(), 2, &text);
  draw_distances(machine, &text);
  return text + legend(machine, cells, caches);
}

}  // namespace hr::topo
