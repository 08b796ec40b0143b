// From what the command line says to what each host must know.
#pragma once

#include <vector>

#include "allocation.hpp"
#include "base/status.hpp"
#include "job_plan.hpp"
#include "options.hpp"
#include "rank_layout.hpp"
#include "spawn_request.hpp"

namespace hr::launcher {

// Fills in what the command line left open (numbers of ranks, hosts) and makes the plan of the job. Says on standard
// error what a user should know of it.
Status make_plan(Options* options, JobPlan* plan);

// The plan of what a rank has asked for, on the hosts of the job or those that its info names; the options are those of
// the job. Errors: what cannot be, for who asked.
Status plan_spawn(const Options& options, const SpawnRequest& request, JobPlan* plan);

// Only where the ranks would go (--do-not-launch), on all hosts.
Status make_layout(Options* options, RankLayout* layout);

}  // namespace hr::launcher
