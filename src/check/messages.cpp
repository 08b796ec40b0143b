#include "check/messages.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "boot/boot.hpp"
#include "check/state.hpp"
#include "p2p/layer_message.hpp"
#include "p2p/loss.hpp"
#include "p2p/notices.hpp"

namespace hr::check {
namespace {

struct Handlers final : FileState {
  WordHandler of[kWords] = {};
};

// Precedes the data, which stays aligned.
struct Head {
  std::uint64_t word;
};

void dispatch(int from, std::uint64_t subject, Word word, std::span<const std::byte> data) {
  const auto index = static_cast<std::size_t>(word);
  if (state == nullptr || index >= kWords) return;
  if (const WordHandler handler = own<Handlers>().of[index]; handler != nullptr) handler({from, subject, data});
}

void take_notice(const p2p::ArrivedNotice& notice) {
  Head head{};
  if (notice.lost || notice.bytes < sizeof head) return;
  std::memcpy(&head, notice.payload, sizeof head);
  // A separate copy: the payload need not be aligned for its contents.
  const std::vector<std::byte> data(notice.payload + sizeof head, notice.payload + notice.bytes);
  dispatch(notice.from, notice.subject, static_cast<Word>(head.word), data);
}

}  // namespace

void begin_messages() { p2p::set_notice_handler(p2p::Notice::kCheck, take_notice); }
void end_messages() { p2p::set_notice_handler(p2p::Notice::kCheck, nullptr); }

void on_word(Word word, WordHandler handler) { own<Handlers>().of[static_cast<std::size_t>(word)] = handler; }

void tell(int proc, Word word, std::uint64_t subject, std::span<const std::byte> data) {
  if (proc == boot::processes().self()) return dispatch(proc, subject, word, data);
  if (p2p::is_lost(proc)) return;
  const Head head{static_cast<std::uint64_t>(word)};
  std::vector<std::byte> message(sizeof head + data.size());
  std::memcpy(message.data(), &head, sizeof head);
  std::ranges::copy(data, message.begin() + sizeof head);
  p2p::send_notice(proc, p2p::Notice::kCheck, subject, message.data(), message.size());
}

std::size_t longest(int proc) {
  std::size_t bytes = 0;
  if (!p2p::longest_message(proc, &bytes).ok()) {
    static_cast<void>(take_detail());
    return 0;
  }
  return bytes < sizeof(Head) ? 0 : bytes - sizeof(Head);
}

}  // namespace hr::check
