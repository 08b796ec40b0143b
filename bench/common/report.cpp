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

void print_columns(const Row& row) {
  if (!row.label.empty()) std::printf("%-20s ", "");
  std::printf("%12s %12s %12s %12s %12s", "bytes", "median", "best", "p90", "p99");
  for (const auto& [name, value] : row.more) std::printf(" %12s", name.c_str());
  std::printf("\n");
}

void write_row(std::FILE* out, const Row& row) {
  std::fprintf(out, "{");
  if (!row.label.empty()) std::fprintf(out, "\"label\": %s, ", quoted(row.label).c_str());
  std::fprintf(out,
               "\"bytes\": %zu, \"iterations\": %d, \"samples\": %zu, \"best\": %.6g, \"median\": %.6g, \"p90\": %.6g, "
               "\"p99\": %.6g, \"worst\": %.6g",
               row.bytes, row.iterations, row.value.samples, row.value.best, row.value.median, row.value.p90,
               row.value.p99, row.value.worst);
  for (const auto& [name, value] : row.more) std::fprintf(out, ", %s: %.6g", quoted(name).c_str(), value);
  if (!row.note.empty()) std::fprintf(out, ", \"note\": %s", quoted(row.note).c_str());
  std::fprintf(out, "}");
}

}  // namespace

void print_heading(const Report& report) {
  std::printf("# %s, %s; %s\n", report.name.c_str(), report.unit.c_str(), report.library.c_str());
  std::printf("# %d ranks, memory %s -> %s", report.ranks, report.memory[0].c_str(), report.memory[1].c_str());
  if (report.window != 0) std::printf(", window %d", report.window);
  for (const auto& [name, value] : report.settings) std::printf(", %s %s", name.c_str(), value.c_str());
  std::printf("%s\n", report.validated ? ", validated" : "");
  std::fflush(stdout);
}

void print_row(const Row& row, bool first) {
  if (first) print_columns(row);
  if (!row.label.empty()) std::printf("%-20s ", row.label.c_str());
  std::printf("%12zu %12.3f %12.3f %12.3f %12.3f", row.bytes, row.value.median, row.value.best, row.value.p90,
              row.value.p99);
  for (const auto& [name, value] : row.more) std::printf(" %12.3f", value);
  std::printf("%s%s\n", row.note.empty() ? "" : "  ", row.note.c_str());
  std::fflush(stdout);
}

bool write_json(const Report& report, const std::string& file) {
  std::FILE* out = file == "-" ? stdout : std::fopen(file.c_str(), "w");
  if (out == nullptr) return false;
  std::fprintf(out, "{\"benchmark\": %s, \"unit\": %s, \"less_is_better\": %s, \"library\": %s,\n",
               quoted(report.name).c_str(), quoted(report.unit).c_str(), report.less_is_better ? "true" : "false",
               quoted(report.library).c_str());
  std::fprintf(out, " \"ranks\": %d, \"window\": %d, \"memory\": [%s, %s], \"validated\": %s,", report.ranks,
               report.window, quoted(report.memory[0]).c_str(), quoted(report.memory[1]).c_str(),
               report.validated ? "true" : "false");
  for (const auto& [name, value] : report.settings) {
    std::fprintf(out, " %s: %s,", quoted(name).c_str(), quoted(value).c_str());
  }
  std::fprintf(out, "\n \"cpus\": [");
  for (std::size_t i = 0; i < report.cpus.size(); ++i) {
    std::fprintf(out, "%s%s", i == 0 ? "" : ", ", quoted(report.cpus[i]).c_str());
  }
  std::fprintf(out, "],\n \"rows\": [");
  for (std::size_t i = 0; i < report.rows.size(); ++i) {
    std::fprintf(out, "%s\n  ", i == 0 ? "" : ",");
    write_row(out, report.rows[i]);
  }
  std::fprintf(out, "]}\n");
  return out == stdout ? std::fflush(out) == 0 : std::fclose(out) == 0;
}

}  // namespace bench
