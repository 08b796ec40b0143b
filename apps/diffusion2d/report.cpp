#include "report.hpp"

#include <cinttypes>
#include <cstdio>
#include <cstring>

namespace diffusion2d {
namespace {

std::string library() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  return std::string(text, static_cast<std::size_t>(length)).substr(0, std::string(text).find('\n'));
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) out += c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  return out + '"';
}

// Returns the speedup over one rank, scaled by the work; 0 if no run with one rank was measured.
double speedup(const Result& result, const std::vector<Result>& results) {
  for (const Result& one : results) {
    if (one.what.ranks == 1 && one.variant == result.variant &&
        std::strcmp(one.what.scaling, result.what.scaling) == 0) {
      return one.seconds / result.seconds * result.what.ny / one.what.ny;
    }
  }
  return 0;
}

double points_a_second(const Result& result, int steps) {
  return static_cast<double>(result.what.nx) * result.what.ny * steps / result.seconds;
}

// Returns the number of messages per step of the rank with the most neighbours; at most two.
int messages(const Result& result) { return result.what.ranks > 2 ? 2 : result.what.ranks - 1; }

}  // namespace

void print_heading(const Options& options, int ranks, const std::string& device) {
  std::printf("diffusion2d: %d rank%s on %s, %d x %d points, %d steps\n%s\n\n", ranks, ranks == 1 ? "" : "s",
              device.c_str(), options.nx, options.ny, options.steps, library().c_str());
  std::fflush(stdout);
}

void print_table(const std::vector<Result>& results, int steps) {
  std::printf("%-7s %-8s %5s %16s %10s %9s %11s %9s %10s %9s %7s  %s\n", "scaling", "variant", "ranks", "grid",
              "seconds", "ms/step", "Mpoints/s", "speed-up", "exchange %", "error", "valid", "checksum");
  for (const Result& r : results) {
    const std::string grid = std::to_string(r.what.nx) + " x " + std::to_string(r.what.ny);
    char times[16] = "-";
    if (const double factor = speedup(r, results); factor > 0) std::snprintf(times, sizeof times, "%.2f", factor);
    std::printf("%-7s %-8s %5d %16s %10.4f %9.4f %11.1f %9s %10.1f %9.1e %7s  %016" PRIx64 "\n",
                r.what.scaling[0] != '\0' ? r.what.scaling : "-", r.variant->name, r.what.ranks, grid.c_str(),
                r.seconds, 1e3 * r.seconds / steps, 1e-6 * points_a_second(r, steps), times,
                100 * r.times.exchange / r.seconds, r.verdict.error, r.verdict.valid ? "ok" : "FAILED",
                r.verdict.checksum);
  }
  if (!results.empty()) {
    const Verdict& verdict = results.front().verdict;
    std::printf(
        "(error: of every point to the exact solution, at most %.1e; the mesh itself costs %.1e; speed-up: to "
        "one rank of the same scaling)\n",
        verdict.tolerance, verdict.equation);
  }
}

void print_variants() {
  for (const VariantRecord* record : all_variants()) std::printf("%-8s %s\n", record->name, record->sentence);
}

bool write_json(const Options& options, int ranks, const std::string& device, const std::vector<Result>& results) {
  std::FILE* out = std::fopen(options.json.c_str(), "w");
  if (out == nullptr) return false;
  std::fprintf(
      out,
      "{\"program\": \"diffusion2d\", \"library\": %s, \"device\": \"%s\", \"device_name\": %s, \"ranks\": %d, "
      "\"steps\": %d,\n \"results\": [",
      quoted(library()).c_str(), device == "host" ? "host" : "cuda", quoted(device).c_str(), ranks, options.steps);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Result& r = results[i];
    std::fprintf(out,
                 "%s\n  {\"variant\": \"%s\", \"scaling\": \"%s\", \"ranks\": %d, \"grid\": [%d, %d], "
                 "\"seconds\": %.6g, \"exchange\": %.6g, \"update\": %.6g, \"speedup\": %.6g, "
                 "\"points_a_second\": %.6g, \"messages_a_step\": %d, \"bytes_a_step\": %zu, "
                 "\"error\": %.6g, \"tolerance\": %.6g, \"equation_error\": %.6g, \"valid\": %s, "
                 "\"checksum\": \"%016" PRIx64 "\"}",
                 i == 0 ? "" : ",", r.variant->name, r.what.scaling, r.what.ranks, r.what.nx, r.what.ny, r.seconds,
                 r.times.exchange, r.times.update, speedup(r, results), points_a_second(r, options.steps), messages(r),
                 static_cast<std::size_t>(messages(r)) * static_cast<std::size_t>(r.what.nx) * sizeof(double),
                 // JSON has no infinity.
                 r.verdict.error < 1e300 ? r.verdict.error : 1e300, r.verdict.tolerance,
                 r.verdict.equation < 1e300 ? r.verdict.equation : 1e300, r.verdict.valid ? "true" : "false",
                 r.verdict.checksum);
  }
  std::fprintf(out, "]}\n");
  return std::fclose(out) == 0;
}

}  // namespace diffusion2d
