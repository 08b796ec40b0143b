#include "common/report.hpp"

#include <cstdio>

namespace bench {
namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out + '"';
}

}  // namespace

void print_heading(const Report& report) {
  std::printf("# %s, %s; %s\n", report.name.c_str(), report.unit.c_str(), report.library.c_str());
  std::printf("# %d ranks, memory %s -> %s", report.ranks, report.memory[0].c_str(), report.memory[1].c_str());
  if (report.window != 0) std::printf(", window %d", report.window);
  std::printf("%s\n%12s %12s %12s %12s %12s\n", report.validated ? ", validated" : "", "bytes", "median", "best", "p90",
              "p99");
}

void print_row(const Row& row) {
  std::printf("%12zu %12.3f %12.3f %12.3f %12.3f\n", row.bytes, row.value.median, row.value.best, row.value.p90,
              row.value.p99);
  std::fflush(stdout);
}

bool write_json(const Report& report, const std::string& file) {
  std::FILE* out = file == "-" ? stdout : std::fopen(file.c_str(), "w");
  if (out == nullptr) return false;
  std::fprintf(out, "{\"benchmark\": %s, \"unit\": %s, \"less_is_better\": %s, \"library\": %s,\n",
               quoted(report.name).c_str(), quoted(report.unit).c_str(), report.less_is_better ? "true" : "false",
               quoted(report.library).c_str());
  std::fprintf(out, " \"ranks\": %d, \"window\": %d, \"memory\": [%s, %s], \"validated\": %s,\n \"cpus\": [",
               report.ranks, report.window, quoted(report.memory[0]).c_str(), quoted(report.memory[1]).c_str(),
               report.validated ? "true" : "false");
  for (std::size_t i = 0; i < report.cpus.size(); ++i) {
    std::fprintf(out, "%s%s", i == 0 ? "" : ", ", quoted(report.cpus[i]).c_str());
  }
  std::fprintf(out, "],\n \"rows\": [");
  for (std::size_t i = 0; i < report.rows.size(); ++i) {
    const Row& row = report.rows[i];
    std::fprintf(out,
                 "%s\n  {\"bytes\": %zu, \"iterations\": %d, \"best\": %.6g, \"median\": %.6g, \"p90\": %.6g, "
                 "\"p99\": %.6g, \"worst\": %.6g}",
                 i == 0 ? "" : ",", row.bytes, row.iterations, row.value.best, row.value.median, row.value.p90,
                 row.value.p99, row.value.worst);
  }
  std::fprintf(out, "]}\n");
  return out == stdout ? std::fflush(out) == 0 : std::fclose(out) == 0;
}

}  // namespace bench
