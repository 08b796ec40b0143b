// Freed exports: asks other processes to unmap device memory that this process has freed. The memory stays in use until
// they have unmapped it. The requests (wire::Kind::kRevoke) are sent from time to time in rounds of progress, and
// before this process exports other memory, which may be at the same address. Owner: process-wide, from p2p::init() to
// the start of p2p::finalize(). Threads: library lock.
#pragma once

#include <span>

#include "p2p/protocol/rendezvous.hpp"

namespace hr::p2p::freed_exports {

std::span<const Arrival> arrivals() noexcept;
void init();
void finalize();

}  // namespace hr::p2p::freed_exports
