// Printed table and JSON file; used on rank 0 only.
#pragma once

#include <string>
#include <vector>

#include "options.hpp"
#include "run.hpp"

namespace diffusion2d {

void print_heading(const Options& options, int ranks, const std::string& device);
void print_table(const std::vector<Result>& results, int steps);
void print_variants();
[[nodiscard]] bool write_json(const Options& options, int ranks, const std::string& device,
                              const std::vector<Result>& results);

}  // namespace diffusion2d
