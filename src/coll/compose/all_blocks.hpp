// AllBlocks: the blocks of all processes as packed bytes, host after host; for compositions of gathers and scatters.
//
// The blocks are in the program's buffer if that has the same order and no holes. Otherwise they are in separate
// memory: pack() copies them there from the buffer, and unpack() copies them back. Owner: a local of the coroutine.
// Threads: library lock.
#pragma once

#include <utility>
#include <vector>

#include "coll/compose/step.hpp"

namespace hr::coll {

class AllBlocks {
 public:
  // `buffer`: the program's buffer, with a block for each process; if it is none(), memory is allocated only for this
  // host's blocks. `lengths`: bytes of each block, in the order of hosts.ranks() or here().
  AllBlocks(const Hosts& hosts, const Blocks& buffer, std::vector<std::size_t> lengths)
      : hosts_(hosts),
        buffer_(buffer),
        lengths_(std::move(lengths)),
        first_(buffer.none() ? hosts.begin(hosts.own()) : 0) {
    at_.reserve(lengths_.size() + 1);
    at_.push_back(0);
    for (const std::size_t length : lengths_) at_.push_back(at_.back() + length);
    in_buffer_ = !buffer.none() && hosts.in_order() && is_contiguous();
    memory_.emplace(in_buffer_ ? 0 : bytes());
    if (!in_buffer_) whole_ = memory_->view(0, bytes());
    if (buffer.none()) return;
    for (int host = 0; host < hosts.count(); ++host) {
      counts_.push_back(static_cast<Count>(at(hosts.begin(host + 1)) - at(hosts.begin(host))));
      displacements_.push_back(static_cast<Count>(at(hosts.begin(host))));
    }
  }
  AllBlocks(const AllBlocks&) = delete;
  AllBlocks& operator=(const AllBlocks&) = delete;

  // Returns equal lengths for the blocks of all processes, or of this host's processes if the buffer is none().
  [[nodiscard]] static std::vector<std::size_t> equal(const Hosts& hosts, const Blocks& buffer, std::size_t block) {
    return std::vector<std::size_t>(
        buffer.none() ? static_cast<std::size_t>(hosts.here().size()) : hosts.ranks().size(), block);
  }
  // Returns the lengths of the blocks that a buffer describes.
  [[nodiscard]] static std::vector<std::size_t> of_buffer(const Hosts& hosts, const Blocks& buffer) {
    std::vector<std::size_t> lengths;
    lengths.reserve(hosts.ranks().size());
    for (const int rank : hosts.ranks()) lengths.push_back(buffer.bytes(rank));
    return lengths;
  }
  [[nodiscard]] const View& whole() const noexcept { return whole_; }
  // Returns the blocks of this host.
  [[nodiscard]] View here() const noexcept {
    const int begin = hosts_.begin(hosts_.own());
    return part(begin, begin + hosts_.here().size());
  }
  // Returns the block of a process of this host, given its index.
  [[nodiscard]] View here(int index) const noexcept {
    const int process = hosts_.begin(hosts_.own()) + index;
    return part(process, process + 1);
  }
  // Returns this host's blocks as separate blocks, for an operation over here().
  [[nodiscard]] Blocks host_blocks() {
    here_counts_.clear();
    here_displacements_.clear();
    const View all = here();
    Count sum = 0;
    for (int i = 0; i < hosts_.here().size(); ++i) {
      here_displacements_.push_back(sum);
      here_counts_.push_back(static_cast<Count>(here(i).packed));
      sum += here_counts_.back();
    }
    return Blocks::counted_in(all, here_counts_.data(), here_displacements_.data());
  }
  // Returns one block for each host. Only on a process with a buffer.
  [[nodiscard]] Blocks by_host() noexcept { return Blocks::counted_in(whole_, counts_.data(), displacements_.data()); }

  // Copies the blocks from the buffer.
  [[nodiscard]] Status pack() {
    for (std::size_t i = 0; !in_buffer_ && i < lengths_.size(); ++i) {
      View from;
      HR_TRY(buffer_.block(hosts_.ranks()[i], &from));
      HR_TRY(layout::pack(from, 0, lengths_[i], memory_->data() + at_[i]));
    }
    return kOk;
  }
  // Copies the blocks into the buffer.
  [[nodiscard]] Status unpack() {
    for (std::size_t i = 0; !in_buffer_ && i < lengths_.size(); ++i) {
      View to;
      HR_TRY(buffer_.block(hosts_.ranks()[i], &to));
      HR_TRY(layout::unpack(to, 0, lengths_[i], memory_->data() + at_[i]));
    }
    return kOk;
  }

 private:
  [[nodiscard]] std::size_t at(int process) const noexcept { return at_[static_cast<std::size_t>(process - first_)]; }
  [[nodiscard]] std::size_t bytes() const noexcept { return at_.back(); }
  [[nodiscard]] View part(int begin, int end) const noexcept {
    return slice(whole_, static_cast<Count>(at(begin)), static_cast<Count>(at(end) - at(begin)));
  }

  // True if the blocks follow one another in the buffer without holes; sets whole_ to them.
  [[nodiscard]] bool is_contiguous() {
    if (bytes() == 0) return false;
    if (buffer_.shape() == Blocks::Shape::kUniform) {
      const View& all = buffer_.all();
      if (!all.contiguous || all.packed != bytes()) return false;
      whole_ = bytes_view(all.data(), bytes(), all.where);
      return true;
    }
    if (buffer_.shape() != Blocks::Shape::kCounts) return false;
    const layout::Datatype& type = buffer_.type(0);
    if (!type.contiguous(2) || type.extent() != type.size()) return false;
    std::size_t first = 0;
    while (lengths_[first] == 0) ++first;
    const Count begin = buffer_.displacements()[first];
    for (std::size_t i = first + 1; i < lengths_.size(); ++i) {
      const auto before = static_cast<Count>(at_[i]) / type.size();
      if (lengths_[i] != 0 && buffer_.displacements()[i] - begin != before) return false;
    }
    View view;
    if (!buffer_.block(static_cast<int>(first), &view).ok()) return false;
    whole_ = bytes_view(view.data(), bytes(), view.where);
    return true;
  }

  const Hosts& hosts_;
  const Blocks& buffer_;
  std::vector<std::size_t> lengths_;
  std::vector<std::size_t> at_;  // start of each block, and the end
  int first_;                    // process of the first block, in the order of hosts
  bool in_buffer_;
  std::optional<Scratch> memory_;
  View whole_;
  std::vector<Count> counts_;  // by host
  std::vector<Count> displacements_;
  std::vector<Count> here_counts_;
  std::vector<Count> here_displacements_;
};

}  // namespace hr::coll
