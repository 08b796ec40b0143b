// Dropped messages: messages from senders unknown to this process, or malformed ones. Each is counted
// (Statistic::messages_dropped), and the first one that a process drops is reported at HEADRACE_VERBOSE=1, so that a
// flood of them neither fills standard error nor ends the job.
//
// Owner: process-wide; the first report is remembered until the process ends. Threads: library lock.
#pragma once

namespace hr {

// Reports a dropped message. `why`: what is wrong with it. `from`: the process that sent it, or -1 if unknown.
[[gnu::cold, gnu::noinline]] void drop_message(int from, const char* why) noexcept;

}  // namespace hr
