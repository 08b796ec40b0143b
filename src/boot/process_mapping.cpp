#include "boot/process_mapping.hpp"

#include <charconv>

namespace hr::boot {
namespace {

struct Block {
  int start = 0;
  int nodes = 0;
  int ranks_per_node = 0;
};

bool skip(std::string_view& text, std::string_view expected) noexcept {
  if (!text.starts_with(expected)) return false;
  text.remove_prefix(expected.size());
  return true;
}

bool take_number(std::string_view& text, int* value) noexcept {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  if (error != std::errc() || *value < 0) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

}  // namespace

std::optional<std::vector<int>> parse_process_mapping(std::string_view text, int ranks) {
  if (!skip(text, "(vector")) return std::nullopt;
  std::vector<Block> blocks;
  while (skip(text, ",(")) {
    Block block;
    if (!take_number(text, &block.start) || !skip(text, ",") || !take_number(text, &block.nodes) || !skip(text, ",") ||
        !take_number(text, &block.ranks_per_node) || !skip(text, ")")) {
      return std::nullopt;
    }
    if (block.nodes == 0 || block.ranks_per_node == 0) return std::nullopt;
    blocks.push_back(block);
  }
  if (blocks.empty() || text != ")") return std::nullopt;

  std::vector<int> node_of_rank;
  node_of_rank.reserve(static_cast<std::size_t>(ranks));
  const auto full = [&] { return static_cast<int>(node_of_rank.size()) >= ranks; };
  while (!full()) {
    for (const Block& block : blocks) {
      for (int node = 0; node < block.nodes && !full(); ++node) {
        for (int rank = 0; rank < block.ranks_per_node && !full(); ++rank) node_of_rank.push_back(block.start + node);
      }
    }
  }
  return node_of_rank;
}

}  // namespace hr::boot
