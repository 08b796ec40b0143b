// The blocks of all processes as packed bytes, one host's after the other's: what gathers collect.
//
// They lie in the program's buffer where that has the same order and no holes; else in memory of their own, from where
// spread() puts them into the buffer.
// Owner: a local of the coroutine. Threads: library lock.
#pragma once

#include <vector>

#include "coll/compose/step.hpp"

namespace hr::coll {

class AllBlocks {
 public:
  // `recv`: the buffer of blocks; not of this process (none()): there is memory for this host's blocks alone.
  AllBlocks(const Hosts& hosts, const Blocks& recv, std::size_t block)
      : hosts_(hosts),
        recv_(recv),
        block_(block),
        first_(recv.none() ? hosts.begin(hosts.own()) : 0),
        processes_(recv.none() ? hosts.here().size() : static_cast<int>(hosts.ranks().size())),
        in_buffer_(!recv.none() && hosts.in_order() && recv.all().contiguous && recv.all().packed == bytes()),
        memory_(in_buffer_ ? 0 : bytes()) {
    whole_ = in_buffer_ ? bytes_view(recv.all().data(), bytes(), recv.all().where) : memory_.view(0, bytes());
    for (int host = 0; host < hosts.count(); ++host) {
      counts_.push_back(static_cast<Count>(at(hosts.begin(host + 1)) - at(hosts.begin(host))));
      displacements_.push_back(static_cast<Count>(at(hosts.begin(host))));
    }
  }
  AllBlocks(const AllBlocks&) = delete;
  AllBlocks& operator=(const AllBlocks&) = delete;

  [[nodiscard]] const View& whole() const noexcept { return whole_; }
  // Those of this host.
  [[nodiscard]] View here() const noexcept {
    return slice(whole_, static_cast<Count>(at(hosts_.begin(hosts_.own()) - first_)),
                 static_cast<Count>(at(hosts_.here().size())));
  }
  // Of a process of this host, by its index.
  [[nodiscard]] View here(int index) const noexcept {
    return slice(here(), static_cast<Count>(at(index)), static_cast<Count>(block_));
  }
  // One block a host.
  [[nodiscard]] Blocks by_host() noexcept {
    return Blocks::counted(whole_.data(), counts_.data(), displacements_.data(),
                           *const_cast<layout::Datatype*>(whole_.type));
  }
  // They are in the buffer; its own block of this process, where `in_place`, was there all the time.
  [[nodiscard]] Status spread() {
    for (int i = 0; !in_buffer_ && i < processes_; ++i) {
      View to;
      HR_TRY(recv_.block(hosts_.ranks()[static_cast<std::size_t>(i)], &to));
      HR_TRY(layout::unpack(to, 0, block_, memory_.data() + at(i)));
    }
    return kOk;
  }

 private:
  [[nodiscard]] std::size_t at(int blocks) const noexcept { return static_cast<std::size_t>(blocks) * block_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return at(processes_); }

  const Hosts& hosts_;
  const Blocks& recv_;
  std::size_t block_;
  int first_;
  int processes_;
  bool in_buffer_;
  Scratch memory_;
  View whole_;
  std::vector<Count> counts_;
  std::vector<Count> displacements_;
};

}  // namespace hr::coll
