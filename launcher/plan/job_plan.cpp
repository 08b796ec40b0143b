#include "plan/job_plan.hpp"

#include <climits>

#include "plan/packing.hpp"
#include "topo/mapping_text.hpp"
#include "words/values.hpp"

namespace hr::launcher {
namespace {

// True if all numbers and names refer to existing entries.
bool fits_together(const JobPlan& plan) {
  const int hosts = static_cast<int>(plan.hosts.size());
  int ranks = 0;
  for (const PlannedProgram& program : plan.programs) {
    if (program.arguments.empty() || program.ranks > kMostRanks - ranks) return false;
    ranks += program.ranks;
  }
  for (const int host : plan.host_of) {
    if (host >= hosts) return false;
  }
  // The id becomes part of file names.
  for (const char letter : plan.id) {
    if (letter == '/' || letter == '\0') return false;
  }
  return ranks == plan.ranks() && plan.root_host < hosts && !plan.id.empty() && !plan.shell.words.empty();
}

}  // namespace

std::vector<int> JobPlan::appnums() const {
  std::vector<int> numbers;
  for (std::size_t program = 0; program < programs.size(); ++program) {
    numbers.insert(numbers.end(), static_cast<std::size_t>(programs[program].ranks), static_cast<int>(program));
  }
  return numbers;
}

RankMap JobPlan::visible_map() const {
  return declared_hosts > 1 ? RankMap::in_blocks(ranks(), declared_hosts) : RankMap(host_of);
}

std::string encode(const JobPlan& plan) {
  Writer writer;
  writer.text(plan.id);
  writer.number(static_cast<std::int64_t>(plan.programs.size()));
  for (const PlannedProgram& program : plan.programs) {
    writer.number(program.ranks);
    writer.texts(program.arguments);
    writer.texts(program.environment);
    writer.text(program.directory);
  }
  writer.texts(plan.hosts);
  writer.number(plan.root_host);
  writer.number(plan.ranks());
  for (const int host : plan.host_of) writer.number(host);
  writer.number(plan.declared_hosts);
  writer.number(plan.universe);
  writer.text(plan.directory);
  writer.text(plan.search_path);
  writer.number(plan.creation_mask);
  writer.text(topo::to_text(plan.mapping));
  for (const bool flag : {plan.report_bindings, plan.prompts, plan.keep_going, plan.save_counters, plan.one_host,
                          plan.spawned, plan.foreign_variables})
    writer.number(flag ? 1 : 0);
  writer.number(static_cast<std::int64_t>(plan.given.size()));
  for (const auto& [key, value] : plan.given) {
    writer.text(key);
    writer.text(value);
  }
  writer.texts({plan.shm_directories.begin(), plan.shm_directories.end()});
  writer.number(plan.silence.count());
  writer.number(plan.degree);
  writer.number(static_cast<int>(plan.shell.kind));
  writer.texts(plan.shell.words);
  writer.text(plan.mpiexec);
  return writer.take();
}

std::optional<JobPlan> decode_plan(std::string_view bytes) {
  Reader reader(bytes);
  JobPlan plan;
  plan.id = reader.text();
  plan.programs.resize(reader.count(8));
  for (PlannedProgram& program : plan.programs) {
    program.ranks = static_cast<int>(reader.number(0, kMostRanks));
    program.arguments = reader.texts();
    program.environment = reader.texts();
    program.directory = reader.text();
  }
  plan.hosts = reader.texts();
  plan.root_host = static_cast<int>(reader.number(-1, INT_MAX));
  plan.host_of.resize(reader.count(8));
  for (int& host : plan.host_of) host = static_cast<int>(reader.number(0, INT_MAX));
  plan.declared_hosts = static_cast<int>(reader.number(1, kMostRanks));
  plan.universe = static_cast<int>(reader.number(1, INT_MAX));
  plan.directory = reader.text();
  plan.search_path = reader.text();
  plan.creation_mask = static_cast<int>(reader.number(0, 07777));
  if (!topo::from_text(reader.text(), &plan.mapping).ok()) return std::nullopt;
  plan.report_bindings = reader.number(0, 1) != 0;
  plan.prompts = reader.number(0, 1) != 0;
  plan.keep_going = reader.number(0, 1) != 0;
  plan.save_counters = reader.number(0, 1) != 0;
  plan.one_host = reader.number(0, 1) != 0;
  plan.spawned = reader.number(0, 1) != 0;
  plan.foreign_variables = reader.number(0, 1) != 0;
  plan.given.resize(reader.count(16));
  for (auto& [key, value] : plan.given) {
    key = reader.text();
    value = reader.text();
  }
  for (std::string& each : reader.texts()) plan.shm_directories.insert(std::move(each));
  plan.silence = std::chrono::milliseconds(reader.number(1, INT_MAX));
  plan.degree = static_cast<int>(reader.number(1, kMostRanks));
  plan.shell.kind = static_cast<RemoteShell::Kind>(reader.number(0, static_cast<int>(RemoteShell::Kind::kLast)));
  plan.shell.words = reader.texts();
  plan.mpiexec = reader.text();
  if (!reader.done() || !fits_together(plan)) return std::nullopt;
  return plan;
}

}  // namespace hr::launcher
