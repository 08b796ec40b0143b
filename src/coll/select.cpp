#include "coll/select.hpp"

#include <array>
#include <limits>
#include <vector>

#include "base/knobs.hpp"
#include "base/log.hpp"
#include "coll/select/default_table.hpp"
#include "coll/select/tuning.hpp"
#include "coll/state.hpp"

namespace hr::coll {
namespace {

struct Choice {
  std::size_t max_bytes;
  int max_ranks;
  SelectionRow::Memory memory;
  const Algorithm* algorithm;  // nullptr: use the built-in rows
  SelectionRow::Oversubscribed oversubscribed = SelectionRow::Oversubscribed::kAny;
  int max_hosts = SelectionRow::kAnyNumber;
  int max_ranks_per_host = SelectionRow::kAnyNumber;

  [[nodiscard]] bool covers(const Query& query) const noexcept {
    using Row = SelectionRow;
    return query.bytes <= max_bytes && query.ranks <= max_ranks && query.hosts <= max_hosts &&
           query.ranks_per_host <= max_ranks_per_host &&
           (memory == Row::Memory::kAny || (memory == Row::Memory::kDevice) == query.devices) &&
           (oversubscribed == Row::Oversubscribed::kAny ||
            (oversubscribed == Row::Oversubscribed::kYes) == query.oversubscribed);
  }
};

using Choices = std::array<std::vector<Choice>, kOperations>;

}  // namespace

struct Selection {
  Choices forced;
  Choices tuned;
  Choices standard;
};

void DeleteSelection::operator()(Selection* selection) const noexcept { delete selection; }

namespace {

std::size_t index(Operation operation) noexcept { return static_cast<std::size_t>(operation); }

Status add_rows(std::span<const SelectionRow> rows, Choices& choices) {
  for (const SelectionRow& row : rows) {
    const Named algorithm = named(row.operation, row.algorithm);
    if (!algorithm.known) {
      return fail(Errc::kArg, "the selection table names \"%.*s\", which is not an algorithm of %s",
                  static_cast<int>(row.algorithm.size()), row.algorithm.data(), name(row.operation));
    }
    choices[index(row.operation)].push_back({row.max_bytes, row.max_ranks, row.memory, algorithm.algorithm,
                                             row.oversubscribed, row.max_hosts, row.max_ranks_per_host});
  }
  return kOk;
}

// Adds choices from a string such as "allreduce:ring,bcast:binomial".
void add_forced(std::string_view text, Choices& choices) {
  while (!text.empty()) {
    const std::string_view entry = text.substr(0, text.find(','));
    text.remove_prefix(entry.size() == text.size() ? entry.size() : entry.size() + 1);
    const std::size_t colon = entry.find(':');
    const std::optional<Operation> operation = find_operation(entry.substr(0, colon));
    const Algorithm* algorithm =
        operation && colon != std::string_view::npos ? find_algorithm(*operation, entry.substr(colon + 1)) : nullptr;
    if (algorithm != nullptr) {
      choices[index(*operation)].push_back({std::numeric_limits<std::size_t>::max(), std::numeric_limits<int>::max(),
                                            SelectionRow::Memory::kAny, algorithm});
    } else {
      log::write(log::Level::kError, "coll_force: \"%.*s\" is not operation:algorithm; it has no effect",
                 static_cast<int>(entry.size()), entry.data());
    }
  }
}

Selection& selection() {
  State& here = state();
  if (here.selection == nullptr) [[unlikely]] {
    here.selection.reset(new Selection());
    add_forced(knobs().coll_force, here.selection->forced);
    if (!add_rows(default_rows(), here.selection->standard).ok()) {
      log::write(log::Level::kError, "built-in selection of collectives: %s", take_detail().c_str());
    }
    if (!add_rows(tuning::job_rows(), here.selection->tuned).ok()) here.selection->tuned = Choices();
  }
  return *here.selection;
}

const Algorithm* of_covering(const std::vector<Choice>& choices, const Query& query) noexcept {
  for (const Choice& choice : choices) {
    if (!choice.covers(query)) continue;
    return choice.algorithm != nullptr && choice.algorithm->probe(query) ? choice.algorithm : nullptr;
  }
  return nullptr;
}

const Algorithm* first_match(const std::vector<Choice>& choices, const Query& query) noexcept {
  for (const Choice& choice : choices) {
    if (choice.covers(query) && choice.algorithm->probe(query)) return choice.algorithm;
  }
  return nullptr;
}

}  // namespace

std::span<const SelectionRow> default_rows() noexcept { return kDefaultRows; }

Named named(Operation operation, std::string_view word) noexcept {
  const Algorithm* algorithm = find_algorithm(operation, word);
  return {algorithm != nullptr || word == kBuiltIn, algorithm};
}

namespace {

const Algorithm* look_up(const Selection& table, const Query& query) {
  const std::size_t operation = index(query.operation);
  if (query.alike) {
    if (const Algorithm* algorithm = first_match(table.forced[operation], query)) return algorithm;
    if (const Algorithm* algorithm = of_covering(table.tuned[operation], query)) return algorithm;
  }
  if (const Algorithm* algorithm = first_match(table.standard[operation], query)) return algorithm;
  for (const Algorithm* algorithm : algorithms()) {
    if ((algorithm->operations & serves(query.operation)) != 0 && algorithm->probe(query)) return algorithm;
  }
  return nullptr;
}

}  // namespace

const Algorithm* select(const Query& query) { return look_up(selection(), query); }

}  // namespace hr::coll
