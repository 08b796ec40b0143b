// Window: a pattern of a few blocks that fits into one vector of 64 bytes, represented by masks and a permutation of
// bytes. A structure is moved with one load, one permutation and one store, however many members it has; several short
// structures are moved at once.
//
// Created at commit, if the machine's set of moves has loops for it. Owner: the Layout. Threads: immutable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "layout/canonical.hpp"

namespace hr::layout::host {

struct alignas(64) Window {
  std::uint8_t gather[64] = {};   // for each packed byte: its byte of the window
  std::uint8_t scatter[64] = {};  // for each byte of the window: its packed byte
  std::uint64_t bytes = 0;        // mask of the window's bytes that are data, for one pattern
  Count lowest = 0;               // offset of the window's first byte from the pattern's origin
  Count pattern = 0;              // packed bytes of one pattern
  Count stride = 0;               // distance between patterns
  Count patterns = 0;             // number of patterns in one window, at least 1
};

// False if the blocks do not fit into a window, or a byte occurs twice.
bool make_window(std::span<const Block> blocks, Count stride, Window* window);

}  // namespace hr::layout::host
