#include "boot/process_mapping.hpp"

#include <algorithm>
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

std::string format_process_mapping(const std::vector<int>& node_of_rank) {
  std::vector<Block> blocks;
  const std::size_t ranks = node_of_rank.size();
  for (std::size_t rank = 0; rank < ranks;) {
    const int node = node_of_rank[rank];
    int count = 0;
    while (rank < ranks && node_of_rank[rank] == node) ++rank, ++count;
    Block* const last = blocks.empty() ? nullptr : &blocks.back();
    if (last != nullptr && node == last->start + last->nodes && count == last->ranks_per_node) {
      ++last->nodes;
    } else {
      blocks.push_back({node, 1, count});
    }
  }
  // Blocks are repeated until every rank has its node; the last repetition may end early.
  const auto same = [&](const Block& block) {
    const Block& first = blocks.front();
    return block.start == first.start && block.ranks_per_node == first.ranks_per_node &&
           (block.nodes == first.nodes || (&block == &blocks.back() && block.nodes < first.nodes));
  };
  if (std::all_of(blocks.begin(), blocks.end(), same)) blocks.resize(1);
  std::string text = "(vector";
  for (const Block& block : blocks) {
    text += ",(" + std::to_string(block.start) + "," + std::to_string(block.nodes) + "," +
            std::to_string(block.ranks_per_node) + ")";
  }
  return text + ")";
}

}  // namespace hr::boot
