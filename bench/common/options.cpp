#include "common/options.hpp"

#include <cctype>
#include <cerrno>
#include <cstdlib>

namespace bench {
namespace {

bool parse_memory(const std::string& text, MemoryKind (&kinds)[2]) {
  const std::vector<std::string> names = split(text);
  return names.size() <= 2 && memory_kind(names.front(), kinds[0]) && memory_kind(names.back(), kinds[1]);
}

}  // namespace

bool parse_size(const std::string& text, std::size_t& value) {
  if (text.empty() || !std::isdigit(static_cast<unsigned char>(text[0]))) return false;
  char* end = nullptr;
  errno = 0;
  const unsigned long long number = std::strtoull(text.c_str(), &end, 10);
  int shift = 0;
  switch (std::toupper(static_cast<unsigned char>(*end))) {
    case 'K':
      shift = 10;
      break;
    case 'M':
      shift = 20;
      break;
    case 'G':
      shift = 30;
      break;
    case '\0':
      break;
    default:
      return false;
  }
  if (shift != 0 && *++end == 'B') ++end;
  if (errno != 0 || *end != '\0' || number > (~0ULL >> 1) >> shift) return false;
  value = static_cast<std::size_t>(number << shift);
  return true;
}

bool parse_positive(const std::string& text, int& value) {
  std::size_t wide = 0;
  if (!parse_size(text, wide) || wide == 0 || wide > 1000000000) return false;
  value = static_cast<int>(wide);
  return true;
}

bool parse_core_distance(const std::string& text, CoreDistance& apart) {
  int least = 0, most = 0;
  const std::size_t dash = text.find('-');
  if (dash == std::string::npos || !parse_positive(text.substr(0, dash), least) ||
      !parse_positive(text.substr(dash + 1), most) || most < least) {
    return false;
  }
  apart = {static_cast<double>(least), static_cast<double>(most)};
  return true;
}

bool parse_size_list(const std::string& text, std::vector<std::size_t>& sizes) {
  sizes.clear();
  for (const std::string& part : split(text)) {
    std::size_t value = 0;
    if (!parse_size(part, value)) return false;
    sizes.push_back(value);
  }
  return true;
}

OptionTable common_options(Options& options) {
  OptionTable table;
  const auto size = [&](std::size_t& into) { return [&into](const std::string& v) { return parse_size(v, into); }; };
  const auto positive = [&](int& into) { return [&into](const std::string& v) { return parse_positive(v, into); }; };
  table.add("--min", "SIZE", "smallest message (1); K, M, G are powers of 1024", size(options.min));
  table.add("--max", "SIZE", "largest message (4M)", size(options.max));
  table.add("--factor", "N", "grow by N (2)",
            [&options](const std::string& v) { return parse_size(v, options.factor) && options.factor >= 2; });
  table.add("--sizes", "A,B,...", "just these sizes",
            [&options](const std::string& v) { return parse_size_list(v, options.sizes); });
  table.add("--iters", "N", "iterations a repetition (as many as take about 10 ms)", positive(options.iterations));
  table.add("--warmup", "N", "iterations before the first repetition (a tenth of --iters)", positive(options.warmup));
  table.add("--reps", "N", "repetitions, the samples of every statistic (20)", positive(options.repetitions));
  table.add("--seconds", "N", "a size that takes longer gets fewer repetitions, but five (2)",
            positive(options.seconds));
  table.add("--window", "N", "messages in flight where the program streams (64)", positive(options.window));
  table.add("--mem", "KIND[,KIND]", std::string(kMemoryKinds) + " buffers; of all ranks, or of the two halves",
            [&options](const std::string& v) { return parse_memory(v, options.memory); });
  table.add_flag("--cuda-in-use", "make a CUDA context and send one device message first", options.cuda_in_use);
  table.add_flag("--validate", "check every byte of every size, outside the time", options.validate);
  table.add("--cores-apart", "NS-NS",
            "two ranks: only repetitions count before and after which a bare cache line took so long from core to core",
            [&options](const std::string& v) { return parse_core_distance(v, options.cores_apart); });
  table.add_text("--json", "FILE", "write the results as JSON, too; '-': to standard output instead of the table",
                 options.json);
  return table;
}

void add_touch(OptionTable& table, Options& options) {
  table.add_flag("--touch", "host memory: write each line that is sent and read what came, within the time",
                 options.touch);
}

bool uses_devices(const Options& options) {
  return options.memory[0] != MemoryKind::kHost || options.memory[1] != MemoryKind::kHost;
}

bool complete(Options& options, std::string& message) {
  if (options.touch && uses_devices(options)) {
    message = "--touch is for host memory";
    return false;
  }
  if (!options.sizes.empty()) return true;
  if (options.min > options.max) {
    message = "--min is larger than --max";
    return false;
  }
  for (std::size_t size = options.min; size <= options.max; size = size == 0 ? 1 : size * options.factor) {
    options.sizes.push_back(size);
  }
  return true;
}

}  // namespace bench
