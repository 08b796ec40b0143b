// From what the command line says to what each host must know.
#pragma once

#include <vector>

#include "allocation.hpp"
#include "base/status.hpp"
#include "job_plan.hpp"
#include "options.hpp"
#include "rank_layout.hpp"

namespace hr::launcher {

// Fills in what the command line left open (numbers of ranks, hosts) and makes the plan of the job. Says on standard
// error what a user should know of it.
Status make_plan(Options* options, JobPlan* plan);

// Only where the ranks would go (--do-not-launch), on all hosts.
Status make_layout(Options* options, RankLayout* layout);

}  // namespace hr::launcher
