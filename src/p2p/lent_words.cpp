#include "p2p/lent_words.hpp"

#include <algorithm>
#include <bit>

namespace hr::p2p {
namespace {

std::uint64_t lent = 0;  // by index
std::uint32_t last_generation = 0;

}  // namespace

LentWord lend_word(transport::Transport& transport, int own_rank) noexcept {
  const std::span<transport::SharedWord> words = transport.shared_words(own_rank);
  const auto free = static_cast<std::size_t>(std::countr_one(lent));
  if (free >= std::min<std::size_t>(words.size(), 64)) return {};
  lent |= std::uint64_t{1} << free;
  return {&words[free].value, static_cast<std::uint32_t>(free), ++last_generation};
}

void give_back_word(std::uint32_t index) noexcept { lent &= ~(std::uint64_t{1} << index); }

void give_back_word(LentWord& word) noexcept {
  if (word.value != nullptr) give_back_word(word.index);
  word = {};
}

}  // namespace hr::p2p
