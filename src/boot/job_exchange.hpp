// What all processes of a job must know before the transports describe themselves: its name, where its processes are,
// and what process 0 says for all.
//
// Process 0 says it as one value. With a launcher that lets a process wait for a value (ours), that takes no fence;
// with others one, and one more where the launcher does not say where the processes are: then process 0 reads every
// process's host, and no other reads more than that one value.
// Internal to boot/. Threads: library lock.
#pragma once

#include <string_view>
#include <vector>

#include "boot/boot.hpp"
#include "boot/key_values.hpp"
#include "boot/provider.hpp"

namespace hr::boot {

// Collective over the job. `host`: a text that this process's host has alone. *hosts: a number for each rank's host,
// found out where it comes empty. *settings: in process 0 what it says, afterwards that everywhere.
Status exchange_job(Provider& provider, std::string_view host, Identity* identity, std::vector<int>* hosts,
                    KeyValues* settings);

}  // namespace hr::boot
