// Facts that all processes of a job must know before the transports describe themselves: its name, the placement of its
// processes, and process 0's settings.
//
// Process 0 publishes them as one value. With a launcher that lets a process wait for a value (ours), this takes no
// fence; with any other, it takes one. The placement follows from each process's view of its host (host_view.hpp).
// Headrace's launcher compares the views itself. With any other launcher, this takes one more fence: process 0 then
// reads every process's view and publishes the result, and the other processes read only that value. Such launchers'
// own data about hosts is not used, as it would have to be checked anyway. Internal to boot/. Threads: library lock.
#pragma once

#include <string_view>

#include "boot/boot.hpp"
#include "boot/host_view.hpp"
#include "boot/key_values.hpp"
#include "boot/provider.hpp"

namespace hr::boot {

// Name of a setting that process 0 adds: random digits (base/secret.hpp) that only the processes of this job know.
inline constexpr std::string_view kJobSecret = "job secret";

// Exchanges the facts; collective over the job. `view`: this process's view of its host. *hosts: filled in if empty on
// entry. *settings: process 0's values; on entry only in process 0, on return in all.
Status exchange_job(Provider& provider, std::string_view view, Identity* identity, Hosts* hosts, KeyValues* settings);

}  // namespace hr::boot
