#include "coll/select.hpp"

#include <array>
#include <limits>
#include <memory>
#include <vector>

#include "base/knobs.hpp"
#include "base/log.hpp"
#include "coll/select/default_table.hpp"

namespace hr::coll {
namespace {

struct Choice {
  std::size_t max_bytes;
  int max_ranks;
  SelectionRow::Memory memory;
  const Algorithm* algorithm;
  bool crowded = false;

  [[nodiscard]] bool covers(const Query& query) const noexcept {
    if (query.bytes > max_bytes || query.ranks > max_ranks || (crowded && !query.crowded)) return false;
    if (memory == SelectionRow::Memory::kAny) return true;
    return (memory == SelectionRow::Memory::kDevice) == (query.memory == mem::Kind::kDevice);
  }
};

using Choices = std::array<std::vector<Choice>, kOperations>;

struct Selection {
  Choices forced;
  Choices tuned;
  Choices standard;
};

std::size_t index(Operation operation) noexcept { return static_cast<std::size_t>(operation); }

Status add_rows(std::span<const SelectionRow> rows, Choices& choices) {
  for (const SelectionRow& row : rows) {
    const Algorithm* algorithm = find_algorithm(row.operation, row.algorithm);
    if (algorithm == nullptr) {
      return fail(Errc::kArg, "the selection table names \"%.*s\", which is no algorithm of %s",
                  static_cast<int>(row.algorithm.size()), row.algorithm.data(), name(row.operation));
    }
    choices[index(row.operation)].push_back({row.max_bytes, row.max_ranks, row.memory, algorithm, row.crowded});
  }
  return kOk;
}

// "allreduce:ring,bcast:binomial"
void add_forced(std::string_view text, Choices& choices) {
  while (!text.empty()) {
    const std::string_view entry = text.substr(0, text.find(','));
    text.remove_prefix(entry.size() == text.size() ? entry.size() : entry.size() + 1);
    const std::size_t colon = entry.find(':');
    const Algorithm* algorithm = nullptr;
    for (int i = 0; i < kOperations && colon != std::string_view::npos; ++i) {
      const auto operation = static_cast<Operation>(i);
      if (entry.substr(0, colon) != name(operation)) continue;
      algorithm = find_algorithm(operation, entry.substr(colon + 1));
      if (algorithm == nullptr) break;
      choices[index(operation)].push_back({std::numeric_limits<std::size_t>::max(), std::numeric_limits<int>::max(),
                                           SelectionRow::Memory::kAny, algorithm});
    }
    if (algorithm == nullptr) {
      log::write(log::Level::kError, "coll_force: \"%.*s\" is not operation:algorithm; it has no effect",
                 static_cast<int>(entry.size()), entry.data());
    }
  }
}

std::unique_ptr<Selection> current;

Selection& selection() {
  if (current == nullptr) [[unlikely]] {
    current = std::make_unique<Selection>();
    add_forced(knobs().coll_force, current->forced);
    if (!add_rows(default_rows(), current->standard).ok()) {
      log::write(log::Level::kError, "built-in selection of collectives: %s", take_detail().c_str());
    }
  }
  return *current;
}

const Algorithm* first_match(const std::vector<Choice>& choices, const Query& query) noexcept {
  for (const Choice& choice : choices) {
    if (choice.covers(query) && choice.algorithm->probe(query)) return choice.algorithm;
  }
  return nullptr;
}

}  // namespace

std::span<const SelectionRow> default_rows() noexcept { return kDefaultRows; }

const Algorithm* select(const Query& query) {
  const Selection& table = selection();
  const std::size_t operation = index(query.operation);
  for (const Choices* choices : {&table.forced, &table.tuned, &table.standard}) {
    if (const Algorithm* algorithm = first_match((*choices)[operation], query)) return algorithm;
  }
  for (const Algorithm* algorithm : algorithms()) {
    if ((algorithm->operations & serves(query.operation)) != 0 && algorithm->probe(query)) return algorithm;
  }
  return nullptr;
}

Status use_rows(std::span<const SelectionRow> rows) {
  Choices tuned;
  HR_TRY(add_rows(rows, tuned));
  selection().tuned = std::move(tuned);
  return kOk;
}

void reset_selection() { current.reset(); }

}  // namespace hr::coll
