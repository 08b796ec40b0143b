#include "boot/failure_board.hpp"

#include <algorithm>
#include <cstring>

namespace hr::boot {

std::string FailureBoard::path(const std::string& directory, std::string_view job, int number) {
  return directory + "/headrace." + std::string(job) + ".failures." + std::to_string(number);
}

Status FailureBoard::create(const std::string& path, int ranks) {
  ranks_ = ranks;
  return file_.create(path, bytes_for(ranks), sizeof(Head));
}

Status FailureBoard::attach(const std::string& path, int ranks) {
  ranks_ = ranks;
  return file_.attach(path, bytes_for(ranks));
}

bool FailureBoard::post(int rank, std::string_view why) {
  const std::uint32_t count = head().count.load(std::memory_order_relaxed);
  if (count >= static_cast<std::uint32_t>(ranks_)) return true;  // all ranks have died
  if (!file_.reserve(sizeof(Head) + count * sizeof(Entry), sizeof(Entry)).ok()) return false;
  Entry& entry = entries()[count];
  entry.rank = rank;
  const std::size_t length = std::min(why.size(), sizeof entry.why - 1);
  std::memcpy(entry.why, why.data(), length);
  entry.why[length] = 0;
  head().count.store(count + 1, std::memory_order_release);
  return true;
}

}  // namespace hr::boot
