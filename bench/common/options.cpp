#include "common/options.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <string_view>

namespace bench {
namespace {

// "8", "4K", "16M", "1G"; powers of 1024. False when it is not a size.
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

bool parse_size_list(const std::string& text, std::vector<std::size_t>& sizes) {
  sizes.clear();
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t comma = std::min(text.find(',', from), text.size());
    std::size_t value = 0;
    if (!parse_size(text.substr(from, comma - from), value)) return false;
    sizes.push_back(value);
    from = comma + 1;
  }
  return true;
}

bool parse_memory(const std::string& text, MemoryKind (&kinds)[2]) {
  const std::size_t comma = text.find(',');
  const std::string lower = text.substr(0, comma);
  const std::string upper = comma == std::string::npos ? lower : text.substr(comma + 1);
  return memory_kind(lower, kinds[0]) && memory_kind(upper, kinds[1]);
}

}  // namespace

ParseResult parse(int argc, char** argv, Options& options, std::string& message) {
  std::size_t min = 1, max = std::size_t{4} << 20, factor = 2;
  for (int i = 1; i < argc; ++i) {
    std::string name = argv[i], value;
    if (name == "--help" || name == "-h") return ParseResult::kHelp;
    if (name == "--validate") {
      options.validate = true;
      continue;
    }
    if (const std::size_t equals = name.find('='); equals != std::string::npos) {
      value = name.substr(equals + 1);
      name.resize(equals);
    } else if (i + 1 < argc) {
      value = argv[++i];
    } else {
      message = "option '" + name + "' is unknown or lacks its value";
      return ParseResult::kError;
    }
    bool good = false;
    if (name == "--min")
      good = parse_size(value, min);
    else if (name == "--max")
      good = parse_size(value, max);
    else if (name == "--factor")
      good = parse_size(value, factor) && factor >= 2;
    else if (name == "--sizes")
      good = parse_size_list(value, options.sizes);
    else if (name == "--iters")
      good = parse_positive(value, options.iterations);
    else if (name == "--warmup")
      good = parse_positive(value, options.warmup);
    else if (name == "--reps")
      good = parse_positive(value, options.repetitions);
    else if (name == "--window")
      good = parse_positive(value, options.window);
    else if (name == "--mem")
      good = parse_memory(value, options.memory);
    else if (name == "--json")
      good = !(options.json = value).empty();
    else {
      message = "unknown option '" + name + "'";
      return ParseResult::kError;
    }
    if (!good) {
      message = "option " + name + ": '" + value + "' is not a value it takes";
      return ParseResult::kError;
    }
  }
  if (options.sizes.empty()) {
    if (min > max) {
      message = "--min is larger than --max";
      return ParseResult::kError;
    }
    for (std::size_t size = min; size <= max; size = size == 0 ? 1 : size * factor) options.sizes.push_back(size);
  }
  return ParseResult::kRun;
}

std::string usage(const char* program) {
  return std::string("usage: mpiexec -n 2 ") + program + " [options]\n" +
         "  --min SIZE --max SIZE  message sizes, doubled from min to max (1 to 4M); K, M, G are powers of 1024\n"
         "  --factor N             grow by N instead of 2\n"
         "  --sizes A,B,...        just these sizes\n"
         "  --iters N              iterations a repetition (as many as take about 10 ms)\n"
         "  --warmup N             iterations before the first repetition (a tenth of --iters)\n"
         "  --reps N               repetitions, the samples of every statistic (20)\n"
         "  --window N             messages in flight where the program streams (64)\n"
         "  --mem KIND[,KIND]      host, cuda or managed buffers; of the two sides, or of the lower,upper rank\n"
         "  --validate             first check every byte of every size\n"
         "  --json FILE            write the results as JSON, too; '-': to standard output instead of the table\n"
         "An even number of ranks makes size/2 pairs, rank r with r + size/2.\n";
}

int iterations_for(const Options& options, double seconds) {
  if (options.iterations > 0) return options.iterations;
  constexpr double kRepetition = 0.010;
  return static_cast<int>(std::clamp(kRepetition / std::max(seconds, 1e-9), 2.0, 20000.0));
}

}  // namespace bench
