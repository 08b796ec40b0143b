// Messages that come to nothing: from nobody that this process knows, or not as they have to be. Each is counted
// (Statistic::messages_dropped), and the first of a process is told at HEADRACE_VERBOSE=1, so that a flood of them
// neither fills standard error nor ends the job.
//
// Owner: process-wide; that the first was told is known until the process ends. Threads: library lock.
#pragma once

namespace hr {

// `why`: what was wrong with it. `from`: the process that sent it, or -1 where that is not known.
[[gnu::cold, gnu::noinline]] void drop_message(int from, const char* why) noexcept;

}  // namespace hr
