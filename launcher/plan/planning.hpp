// Turns the command line into the plan that each host needs.
#pragma once

#include <vector>

#include "base/status.hpp"
#include "plan/job_plan.hpp"
#include "plan/rank_layout.hpp"
#include "plan/spawn_request.hpp"
#include "words/allocation.hpp"
#include "words/options.hpp"

namespace hr::launcher {

// Fills in what the command line leaves open (numbers of ranks, hosts), and creates the plan of the job. Prints notes
// for the user on standard error.
Status make_plan(Options* options, JobPlan* plan);

// Creates the plan for the processes that a rank spawns, on the hosts that the request's info names, else on those of
// the job. `options`: those of the job. Returns an error, which the caller reports to that rank, if the request cannot
// be met.
Status plan_spawn(const Options& options, const SpawnRequest& request, JobPlan* plan);

// Decides only the placement of ranks (--do-not-launch), on all hosts.
Status make_layout(Options* options, RankLayout* layout);

}  // namespace hr::launcher
