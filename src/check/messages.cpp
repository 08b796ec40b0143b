#include "check/messages.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "boot/boot.hpp"
#include "check/state.hpp"
#include "p2p/active_message.hpp"
#include "p2p/process_failure.hpp"

namespace hr::check {
namespace {

struct Handlers final : FileState {
  WordHandler of[kWords] = {};
};

// Precedes the data; its size keeps the data aligned.
struct Head {
  std::uint64_t word;
};

void dispatch(int from, std::uint64_t subject, Word word, std::span<const std::byte> data) {
  const auto index = static_cast<std::size_t>(word);
  if (state == nullptr || index >= kWords) return;
  if (const WordHandler handler = own<Handlers>().of[index]; handler != nullptr) handler({from, subject, data});
}

void on_active_message(const p2p::ActiveMessage& message) {
  Head head{};
  if (message.sender_failed || message.bytes < sizeof head) return;
  std::memcpy(&head, message.payload, sizeof head);
  // Copied, as the payload may not be aligned for its contents.
  const std::vector<std::byte> data(message.payload + sizeof head, message.payload + message.bytes);
  dispatch(message.from, message.subject, static_cast<Word>(head.word), data);
}

}  // namespace

void begin_messages() { p2p::set_active_message_handler(p2p::ActiveMessageId::kCheck, on_active_message); }
void end_messages() { p2p::set_active_message_handler(p2p::ActiveMessageId::kCheck, nullptr); }

void on_word(Word word, WordHandler handler) { own<Handlers>().of[static_cast<std::size_t>(word)] = handler; }

void tell(int proc, Word word, std::uint64_t subject, std::span<const std::byte> data) {
  if (proc == boot::processes().self()) return dispatch(proc, subject, word, data);
  if (p2p::has_failed(proc)) return;
  const Head head{static_cast<std::uint64_t>(word)};
  std::vector<std::byte> message(sizeof head + data.size());
  std::memcpy(message.data(), &head, sizeof head);
  std::ranges::copy(data, message.begin() + sizeof head);
  p2p::send_active_message(proc, p2p::ActiveMessageId::kCheck, subject, message.data(), message.size());
}

std::size_t longest(int proc) {
  std::size_t bytes = 0;
  if (!p2p::longest_active_message(proc, &bytes).ok()) {
    static_cast<void>(take_detail());
    return 0;
  }
  return bytes < sizeof(Head) ? 0 : bytes - sizeof(Head);
}

}  // namespace hr::check
