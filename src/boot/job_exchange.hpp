// What all processes of a job must know before the transports describe themselves: its name, where its processes are,
// and what process 0 says for all.
//
// Process 0 says it as one value. With a launcher that lets a process wait for a value (ours), that takes no fence;
// with others one. Where the processes are follows from what each sees of its host (host_view.hpp). Our launcher
// compares that itself; with others it takes one fence more: then process 0 reads every process's view and says what
// follows, and no other reads more than that one value. What such launchers say of hosts is not asked for: it would
// have to be checked all the same.
// Internal to boot/. Threads: library lock.
#pragma once

#include <string_view>

#include "boot/boot.hpp"
#include "boot/host_view.hpp"
#include "boot/key_values.hpp"
#include "boot/provider.hpp"

namespace hr::boot {

// A setting that process 0 adds: random digits (base/secret.hpp) that the processes of this job alone know.
inline constexpr std::string_view kJobSecret = "job secret";

// Collective over the job. `view`: what this process sees of its host. *hosts: found out where it comes empty.
// *settings: in process 0 what it says, afterwards that everywhere.
Status exchange_job(Provider& provider, std::string_view view, Identity* identity, Hosts* hosts, KeyValues* settings);

}  // namespace hr::boot
