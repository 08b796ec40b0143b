// The tuning file: measurements of `headrace tune` on a machine, as rows of the selection table. JSON:
//
//   {"format": 1, "version": "0.1.0", "date": "...", "command": "headrace tune ...",
//    "machine": {"cpu": "...", "cpus": 2, "gpus": ["NVIDIA H200"]},
//    "rows": [{"operation": "allreduce", "max_bytes": 1024, "max_ranks": 2, "memory": "host", "oversubscribed": false,
//              "algorithm": "cells"}]}
//
// A row is as in default.json; its algorithm may also be "default", if the built-in rows were best. "why" is a sentence
// for human readers. Unknown keys are errors: a misspelt key would silently make collectives slow. Owner: plain values;
// the names in rows are those of static records. Threads: any.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/machine.hpp"
#include "coll/select.hpp"

namespace hr::coll::tuning {

// Parses a tuning file. Errors: MPI_ERR_ARG with the line or the row and the reason: not JSON, a key that is missing,
// unknown or of the wrong type, an unknown operation or algorithm, a file of another version or machine.
Status parse(std::string_view text, const Machine& machine, std::vector<SelectionRow>* rows);

// Returns this library's version, as written in the file.
[[nodiscard]] const char* version() noexcept;

}  // namespace hr::coll::tuning
