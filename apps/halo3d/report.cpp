#include "report.hpp"

#include <mpi.h>

#include <cstdio>

namespace halo3d {
namespace {

double sum(const std::array<double, kAxes>& values) { return values[0] + values[1] + values[2]; }

double packing(const Times& times) { return sum(times.pack) + sum(times.unpack); }
double communication(const Times& times) { return packing(times) + sum(times.mpi); }

double percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

// Returns the bytes per second that each rank sends while it communicates.
double halo_bandwidth(const Result& result, int steps) {
  const double seconds = communication(result.times);
  return seconds > 0 ? result.times.bytes * steps / seconds : 0;
}

std::string library() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  std::string line(text, static_cast<std::size_t>(length));
  line.resize(std::min(line.find('\n'), line.size()));
  for (char& c : line) {
    if (c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20) c = ' ';
  }
  return line;
}

}  // namespace

void print_heading(const Options& options, const Decomposition& decomposition, const std::string& device) {
  const auto& procs = decomposition.procs();
  const auto& size = decomposition.size();
  const Shape& shape = decomposition.shape();
  std::printf("halo3d: %d ranks (%d x %d x %d), %d x %d x %d points a rank, %d x %d x %d in all\n",
              decomposition.ranks(), procs[0], procs[1], procs[2], shape.points[0], shape.points[1], shape.points[2],
              size[0], size[1], size[2]);
  std::printf("%d fields in %s precision on %s, %d steps%s\n%s\n", kFields,
              shape.element_bytes == 4 ? "single" : "double", device.c_str(), options.steps,
              options.reverse ? " in reverse" : "", library().c_str());
  for (int axis = 0; axis < kAxes; ++axis) {
    if (procs[axis] == 1) {
      std::printf("one rank along %s: its messages in %s go to itself, there is nothing to overlap\n", kAxisNames[axis],
                  kAxisNames[axis]);
    }
  }
  std::fflush(stdout);
}

void print_details(const Result& result, const Options& options, const Decomposition& decomposition) {
  const Times& t = result.times;
  std::printf("\npattern %s (step %d): %.3f s\n", result.name.c_str(), result.step, result.seconds);
  std::printf("  update        %10.3f s %6.1f %%\n", t.update, percent(t.update, result.seconds));
  std::printf("  communication %10.3f s %6.1f %% (MPI %.1f %%, packing %.1f %%)\n", communication(t),
              percent(communication(t), result.seconds), percent(sum(t.mpi), result.seconds),
              percent(packing(t), result.seconds));
  std::printf("  direction %12s %12s %12s\n", "pack s", "MPI s", "unpack s");
  for (int axis = 0; axis < kAxes; ++axis) {
    std::printf("  %9s %12.4f %12.4f %12.4f\n", kAxisNames[axis], t.pack[axis], t.mpi[axis], t.unpack[axis]);
  }
  const double bandwidth = halo_bandwidth(result, options.steps);
  std::printf("  a step and rank: %.0f messages, %.0f bytes; halo bandwidth %.3f GB/s a rank, %.3f GB/s in all\n",
              t.messages, t.bytes, bandwidth * 1e-9, bandwidth * 1e-9 * decomposition.ranks());
  if (result.alone > 0) {
    std::printf("  without the exchange: %.3f s; a step takes %.3f times that\n", result.alone,
                result.seconds / result.alone);
  }
  std::printf("  validation: %s, profiles md5 %s\n", result.valid ? "ok, every element" : "FAILED", result.md5.c_str());
  std::fflush(stdout);
}

void print_table(const std::vector<Result>& results) {
  std::printf("\n%-4s %-14s %9s %8s %8s %8s %9s %9s %9s %6s %10s %7s  %s\n", "step", "pattern", "total s", "update %",
              "MPI %", "pack %", "x s", "y s", "z s", "msgs", "bytes", "valid", "profiles md5");
  for (const Result& r : results) {
    const Times& t = r.times;
    const auto axis = [&](int a) { return t.pack[a] + t.mpi[a] + t.unpack[a]; };
    std::printf("%-4d %-14s %9.3f %8.1f %8.1f %8.1f %9.3f %9.3f %9.3f %6.0f %10.0f %7s  %s\n", r.step, r.name.c_str(),
                r.seconds, percent(t.update, r.seconds), percent(sum(t.mpi), r.seconds), percent(packing(t), r.seconds),
                axis(0), axis(1), axis(2), t.messages, t.bytes, r.valid ? "ok" : "FAILED", r.md5.c_str());
  }
  for (const Result& r : results) {
    if (r.alone > 0)
      std::printf("%-14s %.3f times the time without the exchange\n", r.name.c_str(), r.seconds / r.alone);
  }
  std::printf("(x, y, z: pack, MPI and unpack by direction; msgs, bytes: sent by a rank in a step)\n");
}

void print_patterns() {
  std::printf("%-14s %-6s %-6s %s\n", "pattern", "host", "cuda", "what it does");
  for (const PatternRecord* record : all_patterns()) {
    const auto step = [](int number) { return number == kNone ? std::string("-") : "step" + std::to_string(number); };
    std::printf("%-14s %-6s %-6s %s\n", record->name, step(record->host_step).c_str(),
                step(record->device_step).c_str(), record->sentence);
  }
}

bool write_json(const std::string& file, const std::vector<Result>& results, const Options& options,
                const Decomposition& decomposition, const std::string& device) {
  std::FILE* out = std::fopen(file.c_str(), "w");
  if (out == nullptr) return false;
  const auto triple = [&](const char* name, const std::array<int, 3>& v) {
    std::fprintf(out, " \"%s\": [%d, %d, %d],", name, v[0], v[1], v[2]);
  };
  const auto seconds = [&](const char* name, const std::array<double, 3>& v) {
    std::fprintf(out, " \"%s\": [%.6g, %.6g, %.6g],", name, v[0], v[1], v[2]);
  };
  std::fprintf(out, "{\"program\": \"halo3d\", \"library\": \"%s\", \"device\": \"%s\", \"ranks\": %d,",
               library().c_str(), device.c_str(), decomposition.ranks());
  triple("procs", decomposition.procs());
  triple("local", decomposition.shape().points);
  triple("size", decomposition.size());
  std::fprintf(out, " \"element_bytes\": %d, \"steps\": %d, \"reverse\": %s,\n \"results\": [",
               decomposition.shape().element_bytes, options.steps, options.reverse ? "true" : "false");
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Result& r = results[i];
    std::fprintf(out, "%s\n  {\"pattern\": \"%s\", \"step\": %d, \"seconds\": %.6g, \"alone\": %.6g, \"update\": %.6g,",
                 i == 0 ? "" : ",", r.name.c_str(), r.step, r.seconds, r.alone, r.times.update);
    seconds("pack", r.times.pack);
    seconds("mpi", r.times.mpi);
    seconds("unpack", r.times.unpack);
    std::fprintf(out,
                 " \"messages_a_step\": %.0f, \"bytes_a_step\": %.0f, \"halo_bytes_a_second\": %.6g, \"valid\": %s, "
                 "\"md5\": \"%s\"}",
                 r.times.messages, r.times.bytes, halo_bandwidth(r, options.steps), r.valid ? "true" : "false",
                 r.md5.c_str());
  }
  std::fprintf(out, "]}\n");
  return std::fclose(out) == 0;
}

}  // namespace halo3d
