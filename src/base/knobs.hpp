// Knobs: every setting of the library, read once.
//
// struct Knobs is generated from api/knobs.yaml (base/knob_table.hpp: one member a knob, initialised with
// its default). Values come, later ones winning, from: the default, what was tuned (tuned_knobs.hpp), the configuration
// file (HEADRACE_CONFIG_FILE, else $XDG_CONFIG_HOME/headrace.conf or ~/.config/headrace.conf: `name = value` lines),
// the environment (HEADRACE_<NAME>). A value that does not parse or is out of range is named on standard error and the
// default stays. This file's .cpp is the only place that calls getenv. Threads: filled on first use (thread-safe),
// read-only after, except through set() at initialisation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/knob_table.hpp"
#include "base/tuned_knobs.hpp"

namespace hr {

const Knobs& knobs() noexcept;

// Where a knob's value came from, for `headrace config` and MPI_T.
enum class KnobOrigin { kDefault, kTuned, kFile, kEnvironment, kTool, kJob };  // kJob: process 0 of the job

struct KnobRecord {
  const char* name;   // "shm_dir"
  const char* type;   // "int" | "size" | "bool" | "string" | "enum" | "double"
  const char* scope;  // "process" | "job"
  const char* default_text;
  const char* sentence;
};

std::span<const KnobRecord> knob_records() noexcept;
// Returns the file of tuned knobs, and whether it is used.
std::string knob_text(std::size_t index);
std::string knob_text(std::string_view name);  // "" for no knob
KnobOrigin knob_origin(std::size_t index) noexcept;
// The file of tuned knobs, and whether it is used.
const TunedKnobs& tuned_knobs() noexcept;
// What was tuned of a knob of bytes for some peers alone, in the words of tuned_knobs.hpp: "same-host", "a,b". Nothing
// where that was not, or the knob has been set by somebody.
std::optional<std::size_t> tuned_for_peers(std::string_view name, std::string_view peers);
// Parses and stores; false when the text is not a value of that knob. For MPI_T before initialisation and tests.
bool set_knob(std::string_view name, std::string_view text);

// The knobs of scope job that do not have their defaults, for process 0 to tell.
struct JobKnob {
  std::string name;
  std::string text;
};
std::vector<JobKnob> job_knobs();
// Returns the directory of this user's configuration files: $XDG_CONFIG_HOME, else ~/.config; empty if neither is
// known.
std::vector<JobKnob> take_job_knobs(std::span<const JobKnob> told);

// Where this user's configuration files are: $XDG_CONFIG_HOME, else ~/.config; empty when neither is known.
std::string config_directory();

// An environment variable that is not a knob of ours (PMI_RANK, HOME): nullptr when unset.
const char* environment(const char* name) noexcept;

}  // namespace hr
