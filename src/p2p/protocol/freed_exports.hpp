// Freed exports: device memory of this process that it has freed while other processes still have it mapped. It stays
// in use until they unmap it, so this process asks them to do so (wire::Kind::kRevoke): from time to time while
// messages are sent, and before it exports other memory, which may be at the same address. Owner: process-wide, from
// p2p::init() to the start of p2p::finalize(). Threads: library lock.
#pragma once

#include <span>

#include "p2p/protocol/rendezvous.hpp"

namespace hr::p2p::freed_exports {

std::span<const Arrival> arrivals() noexcept;
void init();
void finalize();

}  // namespace hr::p2p::freed_exports
