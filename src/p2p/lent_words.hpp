// Lent words: this process's words in memory that the processes of a node share, lent to one copy at a time, for the
// claims of those who share it (claims.hpp).
//
// Owner: the table of lent words is process-wide; who lends one gives it back when nobody may claim with it any more
// but such as come too late: they find another generation. Threads: library lock.
#pragma once

#include <atomic>
#include <cstdint>

#include "transport/transport.hpp"

namespace hr::p2p {

struct LentWord {
  std::atomic<std::uint64_t>* value = nullptr;  // null: there was none
  std::uint32_t index = 0;                      // as others name it
  std::uint32_t generation = 0;
};

LentWord lend_word(transport::Transport& transport, int own_rank) noexcept;
void give_back_word(std::uint32_t index) noexcept;
// Which then is none.
void give_back_word(LentWord& word) noexcept;

}  // namespace hr::p2p
