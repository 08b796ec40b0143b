// Results of a run: text for people, JSON for programs. Used on rank 0 only.
#pragma once

#include <string>
#include <vector>

#include "run.hpp"

namespace halo3d {

void print_heading(const Options& options, const Decomposition& decomposition, const std::string& device);
void print_details(const Result& result, const Options& options, const Decomposition& decomposition);
void print_table(const std::vector<Result>& results);
void print_patterns();
[[nodiscard]] bool write_json(const std::string& file, const std::vector<Result>& results, const Options& options,
                              const Decomposition& decomposition, const std::string& device);

}  // namespace halo3d
