// Knobs: every setting of the library, read once.
//
// struct Knobs is generated from api/knobs.yaml (base/knob_table.hpp: one member per knob, initialised with its
// default). Values come from these sources, and later ones take precedence: the default, the tuned value
// (tuned_knobs.hpp), the configuration file (HEADRACE_CONFIG_FILE, else $XDG_CONFIG_HOME/headrace.conf or
// ~/.config/headrace.conf: `name = value` lines), the environment (HEADRACE_<NAME>). A value that cannot be parsed or
// is out of range is reported on standard error, and the default stays. Only knobs.cpp and counters_text.cpp call
// getenv. Threads: filled on first use (thread-safe), and read-only afterwards, except for set_knob() and
// take_job_knobs() at initialisation.
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

// Origin of a knob's value, for `headrace config` and MPI_T.
enum class KnobOrigin { kDefault, kTuned, kFile, kEnvironment, kTool, kJob };  // kJob: process 0 of the job

struct KnobRecord {
  const char* name;   // "shm_dir"
  const char* type;   // "int" | "size" | "bool" | "string" | "enum" | "double"
  const char* scope;  // "process" | "job"
  const char* default_text;
  const char* sentence;
};

std::span<const KnobRecord> knob_records() noexcept;
// Return a knob's current value as a string, and its origin. `index`: into knob_records().
std::string knob_text(std::size_t index);
std::string knob_text(std::string_view name);  // "": no such knob
KnobOrigin knob_origin(std::size_t index) noexcept;
// Returns the tuned knobs: their file, and whether it is used.
const TunedKnobs& tuned_knobs() noexcept;
// Returns the value of a size knob that was tuned for some peers only, given as in tuned_knobs.hpp: "same-host",
// "a,b". None if there is no such value, or the knob has been set explicitly.
std::optional<std::size_t> tuned_for_peers(std::string_view name, std::string_view peers);
// Parses and stores a value; false if `text` is not a valid value of the knob. For MPI_T before initialisation, and
// tests.
bool set_knob(std::string_view name, std::string_view text);

// A knob of scope job whose value is not the default; process 0 sends these to the others.
struct JobKnob {
  std::string name;
  std::string text;
};
std::vector<JobKnob> job_knobs();
// Sets every knob of scope job to the value of process 0, or to the default if `told` does not name it. Called at
// initialisation. Returns the knobs that were set explicitly in this process (environment, configuration file, MPI_T)
// to another value. Unknown names (of another version) are ignored.
std::vector<JobKnob> take_job_knobs(std::span<const JobKnob> told);

// Returns the directory of this user's configuration files: $XDG_CONFIG_HOME, else ~/.config; empty if neither is
// known.
std::string config_directory();

// Returns an environment variable that is not a knob (PMI_RANK, HOME); nullptr if unset.
const char* environment(const char* name) noexcept;

}  // namespace hr
