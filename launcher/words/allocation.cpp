#include "words/allocation.hpp"

#include <charconv>
#include <cstdio>

#include "base/knobs.hpp"
#include "words/values.hpp"

namespace hr::launcher {
namespace {

constexpr std::size_t kMostHosts = 65536;

bool take_digits(std::string_view* from, int* value, std::size_t* digits) {
  const auto [end, error] = std::from_chars(from->data(), from->data() + from->size(), *value);
  *digits = static_cast<std::size_t>(end - from->data());
  if (error != std::errc() || *value < 0) return false;
  from->remove_prefix(*digits);
  return true;
}

bool skip(std::string_view* from, char sign) {
  if (!from->starts_with(sign)) return false;
  from->remove_prefix(1);
  return true;
}

// Parses "1-3,07]", which follows a bracket, into its numbers, each with its written width. False if the string does
// not have that form.
bool take_numbers(std::string_view* from, std::vector<std::string>* numbers) {
  do {
    int first = 0;
    std::size_t digits = 0;
    if (!take_digits(from, &first, &digits)) return false;
    int last = first;
    std::size_t ignored = 0;
    if (skip(from, '-') && !take_digits(from, &last, &ignored)) return false;
    if (last < first || static_cast<std::size_t>(last - first) >= kMostHosts) return false;
    for (int number = first; number <= last; ++number) {
      char text[32];
      std::snprintf(text, sizeof text, "%0*d", static_cast<int>(std::min<std::size_t>(digits, 20)), number);
      numbers->emplace_back(text);
    }
  } while (skip(from, ','));
  return skip(from, ']');
}

// Parses one name with its brackets, and combines each prefix with each number. False if it is malformed, or stands for
// too many hosts.
bool take_names(std::string_view* from, std::vector<std::string>* names) {
  std::vector<std::string> begun = {""};
  while (!from->empty() && from->front() != ',') {
    std::vector<std::string> parts;
    if (skip(from, '[')) {
      if (!take_numbers(from, &parts)) return false;
    } else {
      parts.emplace_back(from->substr(0, from->find_first_of(",[")));
      from->remove_prefix(parts.back().size());
    }
    if (begun.size() * parts.size() > kMostHosts) return false;
    std::vector<std::string> longer;
    for (const std::string& front : begun) {
      for (const std::string& part : parts) longer.push_back(front + part);
    }
    begun = std::move(longer);
  }
  if (begun.front().empty() || names->size() + begun.size() > kMostHosts) return false;
  names->insert(names->end(), begun.begin(), begun.end());
  return true;
}

const char* first_of(const char* one, const char* other) {
  const char* value = hr::environment(one);
  return value != nullptr ? value : hr::environment(other);
}

Status read_slurm(const char* list, Allocation* allocation) {
  allocation->is_slurm = true;
  const char* job = first_of("SLURM_JOB_ID", "SLURM_JOBID");
  allocation->origin = std::string("Slurm job ") + (job != nullptr ? job : "?");
  std::vector<std::string> names;
  std::vector<int> counts;
  if (!expand_node_list(list, &names)) {
    return fail(Errc::kOther, "SLURM_JOB_NODELIST=%s is not a list of hosts", list);
  }
  const char* tasks = first_of("SLURM_TASKS_PER_NODE", "SLURM_JOB_CPUS_PER_NODE");
  if (tasks != nullptr && !expand_counts(tasks, &counts)) {
    return fail(Errc::kOther, "SLURM_TASKS_PER_NODE=%s is not a list of numbers of ranks", tasks);
  }
  for (std::size_t at = 0; at < names.size(); ++at) {
    HR_TRY(check_host_name("SLURM_JOB_NODELIST=" + std::string(list), names[at]));
    allocation->hosts.push_back({names[at], at < counts.size() ? counts[at] : 1, true});
  }
  return kOk;
}

}  // namespace

bool expand_node_list(std::string_view list, std::vector<std::string>* names) {
  names->clear();
  do {
    if (!take_names(&list, names)) return false;
  } while (skip(&list, ','));
  return list.empty();
}

bool expand_counts(std::string_view list, std::vector<int>* counts) {
  counts->clear();
  do {
    int count = 0;
    int times = 1;
    std::size_t ignored = 0;
    if (!take_digits(&list, &count, &ignored) || count < 1 || count > kMostRanks) return false;
    if (skip(&list, '(') && !(skip(&list, 'x') && take_digits(&list, &times, &ignored) && skip(&list, ')'))) {
      return false;
    }
    if (times < 1 || counts->size() + static_cast<std::size_t>(times) > kMostHosts) return false;
    counts->insert(counts->end(), static_cast<std::size_t>(times), count);
  } while (skip(&list, ','));
  return list.empty();
}

Status read_allocation(Allocation* allocation) {
  const char* slurm = first_of("SLURM_JOB_NODELIST", "SLURM_NODELIST");
  if (slurm != nullptr && *slurm != '\0') return read_slurm(slurm, allocation);
  const char* pbs = hr::environment("PBS_NODEFILE");
  if (pbs == nullptr || *pbs == '\0') return kOk;
  allocation->origin = std::string("PBS_NODEFILE=") + pbs;
  HR_TRY(read_host_file("PBS_NODEFILE", pbs, &allocation->hosts));
  // The file lists a host once per slot.
  for (HostSlots& each : allocation->hosts) each.slots_given = true;
  return kOk;
}

}  // namespace hr::launcher
