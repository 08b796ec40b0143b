#include "topo/mapping_text.hpp"

#include <charconv>

#include "base/ranges.hpp"

namespace hr::topo {
namespace {

constexpr long kMostCount = 65536;  // ranks, cores
constexpr unsigned kMostCpus = 65536;
constexpr std::size_t kMostListed = 1 << 20;  // maximum number of CPUs in all entries of a list; limits the memory that
                                              // a string can claim

class Writer {
 public:
  void number(long value) { text_ += (text_.empty() ? "" : " ") + std::to_string(value); }
  template <class Enum>
  void choice(Enum value) {
    number(static_cast<long>(value));
  }
  // Writes "0-3,8", or "-" for none.
  void cpus(const CpuSet& cpus) { text_ += " " + (cpus.empty() ? "-" : as_ranges(cpus)); }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  template <class Number>
  bool number(long least, long most, Number* value) {
    const std::string_view word = next();
    long read = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), read);
    if (error != std::errc() || end != word.data() + word.size() || read < least || read > most) return false;
    *value = static_cast<Number>(read);
    return true;
  }

  template <class Enum>
  bool choice(Enum last, Enum* value) {
    return number(0, static_cast<long>(last), value);
  }

  bool cpus(CpuSet* cpus) {
    std::string_view word = next();
    cpus->clear();
    if (word == "-") return true;
    while (!word.empty()) {
      const std::string_view part = word.substr(0, word.find(','));
      word.remove_prefix(std::min(word.size(), part.size() + 1));
      const auto dash = part.find('-');
      unsigned first = 0, last = 0;
      if (!cpu(part.substr(0, dash), &first)) return false;
      if (!cpu(dash == std::string_view::npos ? part : part.substr(dash + 1), &last)) return false;
      if (last < first || (!cpus->empty() && first <= cpus->back())) return false;
      for (unsigned each = first; each <= last; ++each) cpus->push_back(each);
    }
    return !cpus->empty();
  }

  [[nodiscard]] bool is_at_end() const { return rest_.empty(); }

 private:
  std::string_view next() {
    const std::string_view word = rest_.substr(0, rest_.find(' '));
    rest_.remove_prefix(std::min(rest_.size(), word.size() + 1));
    return word;
  }

  static bool cpu(std::string_view text, unsigned* value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
    return error == std::errc() && end == text.data() + text.size() && *value < kMostCpus;
  }

  std::string_view rest_;
};

bool read(Reader& from, Mapping* to) {
  int bind = 0;
  long entries = 0;
  const bool good =
      from.choice(Mapping::Hosts::kSpan, &to->hosts) && from.number(0, kMostCount, &to->per_host) &&
      from.choice(Mapping::Policy::kList, &to->policy) && from.number(0, 1, &to->bound) &&
      from.choice(Level::kMachine, &to->level) && from.number(1, kMostCount, &to->group) &&
      from.number(0, kMostCount, &to->per_part) && from.choice(Level::kMachine, &to->unit) &&
      from.number(1, kMostCount, &to->count) && from.number(-1, static_cast<long>(Level::kMachine), &bind) &&
      from.choice(Mapping::Numbering::kParts, &to->numbering) && from.choice(Level::kMachine, &to->number_level) &&
      from.number(0, 1, &to->allow_oversubscription) && from.cpus(&to->only) && from.number(0, kMostCount, &entries);
  if (!good) return false;
  if (bind >= 0) to->bind = static_cast<Level>(bind);
  if (to->policy == Mapping::Policy::kList && entries == 0) return false;
  std::size_t listed = 0;
  for (long at = 0; at < entries; ++at) {
    CpuSet cpus;
    if (!from.cpus(&cpus) || cpus.empty()) return false;
    listed += cpus.size();
    if (listed > kMostListed) return false;
    to->list.push_back(std::move(cpus));
  }
  return from.is_at_end();
}

}  // namespace

std::string to_text(const Mapping& mapping) {
  Writer to;
  to.choice(mapping.hosts);
  to.number(mapping.per_host);
  to.choice(mapping.policy);
  to.number(mapping.bound ? 1 : 0);
  to.choice(mapping.level);
  to.number(mapping.group);
  to.number(mapping.per_part);
  to.choice(mapping.unit);
  to.number(mapping.count);
  to.number(mapping.bind ? static_cast<long>(*mapping.bind) : -1);
  to.choice(mapping.numbering);
  to.choice(mapping.number_level);
  to.number(mapping.allow_oversubscription ? 1 : 0);
  to.cpus(mapping.only);
  to.number(static_cast<long>(mapping.list.size()));
  for (const CpuSet& cpus : mapping.list) to.cpus(cpus);
  return to.take();
}

Status from_text(std::string_view text, Mapping* mapping) {
  Mapping found;
  Reader from(text);
  if (!read(from, &found))
    return fail(Errc::kOther, "the mapping sent by mpiexec cannot be read; are both of the same version?");
  *mapping = std::move(found);
  return kOk;
}

}  // namespace hr::topo
