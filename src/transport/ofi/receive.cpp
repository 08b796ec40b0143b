// Receiving, and rounds of progress.
#include <rdma/fi_eq.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <utility>

#include "base/dropped.hpp"
#include "base/log.hpp"
#include "transport/ofi/endpoint.hpp"

namespace hr::transport::ofi {
namespace {

// Number of rounds with events after which the time is looked at, as in every round without any.
constexpr unsigned kRoundsPerTick = 64;

}  // namespace

Status Ofi::make_landing() {
  Landing& made = landings_.emplace_back();
  made.memory.reset(new (std::nothrow) std::byte[kLandingBytes]);
  Status status = made.memory != nullptr ? Status(kOk) : fail(Errc::kOther, "ofi: no memory to receive messages");
  if (status.ok() && fabric_.registers_local())
    status = fabric_.add(made.memory.get(), kLandingBytes, FI_RECV, &made.registration);
  if (!status.ok()) {
    landings_.pop_back();
    return status;
  }
  buffered_.take(kLandingBytes);
  unposted_.push_back(&made);
  return kOk;
}

void Ofi::post_landings() {
  while (!unposted_.empty()) {
    Landing& each = *unposted_.back();
    const iovec room{each.memory.get(), kLandingBytes};
    void* descriptors[] = {each.registration.descriptor};
    fi_msg message{};
    message.msg_iov = &room;
    message.desc = descriptors;
    message.iov_count = 1;
    message.addr = FI_ADDR_UNSPEC;
    message.context = &each.room;
    const ssize_t answer = ::fi_recvmsg(fabric_.endpoint(), &message, FI_MULTI_RECV);
    if (answer != 0) return say_deaf(answer);
    each.posted = true;
    unposted_.pop_back();
  }
}

void Ofi::release(Landing& landing) {
  if (std::exchange(landing.posted, false)) unposted_.push_back(&landing);
}

// The buffers are offered again in every round of progress.
void Ofi::say_deaf(ssize_t error) {
  if (error == -FI_EAGAIN || unposted_.size() < kLandings || std::exchange(said_deaf_, true)) return;
  log::write(log::Level::kError,
             "ofi: provider %s on %s accepts no buffers for messages, so this process receives none: %s "
             "(FI_LOG_LEVEL=warn says more)",
             fabric_.provider().c_str(), fabric_.device().c_str(), library_.text(error).c_str());
}

void Ofi::arrive(const std::byte* message, std::size_t bytes) {
  if (bytes < kFront || bytes > kFront + kMaxPayload) [[unlikely]] {
    drop_message(-1, "it is shorter than its head, or longer than any message");
    return;
  }
  Front front;
  std::memcpy(&front, message, sizeof front);
  message += sizeof front;
  bytes -= sizeof front;
  if (front == Front::kMessage) [[likely]] {
    static_cast<void>(inbox_.take(message, bytes, 0));
    return;
  }
  if (front == Front::kReadyToSend) return arrive_rts(message, bytes);
  Head head;
  std::memcpy(&head, message, sizeof head);
  const int from = names_.proc_of(head.from, head.secret);
  if (from < 0) return drop_message(-1, network::kUnknownSender);
  switch (front) {
    case Front::kEnd:
      return end_source(from, head.header.words[0]);
    case Front::kDisconnect:
      farewells_[from] = head.sequence;
      return;
    case Front::kPing:
      return;
    case Front::kAsk:
      return arrive_ask(from);
    case Front::kAnswer:
      return hear_of(from);
    default:
      return drop_message(from, "its first word is none of this library's");
  }
}

// The first query from a process that this one has also queried needs no answer: both queries count as answers.
void Ofi::arrive_ask(int from) {
  Peer& asker = peer(from);
  const bool answered = asker.greeting.begun() && !asker.has_asked;
  asker.has_asked = true;
  hear_of(from);
  if (answered) return;
  if (connect(from).ok()) {
    post_word(asker, Front::kAnswer, 0, 0);
  } else {
    static_cast<void>(take_detail());
  }
}

void Ofi::arrive_rts(const std::byte* message, std::size_t bytes) {
  if (bytes < sizeof(Head) + sizeof(Tail)) return drop_message(-1, "a ready-to-send message without its end");
  Head head;
  Kept kept;
  bytes -= sizeof(Tail);
  std::memcpy(&head, message, sizeof head);
  std::memcpy(&kept.tail, message + bytes, sizeof kept.tail);
  kept.proc = names_.proc_of(head.from, head.secret);
  if (kept.proc < 0) return drop_message(-1, network::kUnknownSender);
  const std::uint64_t token = next_token_++;
  kept_.emplace(token, kept);
  if (!inbox_.take(message, bytes, token)) kept_.erase(token);
}

void Ofi::read_error() {
  fi_cq_err_entry error{};
  if (::fi_cq_readerr(fabric_.queue(), &error, 0) <= 0) return;
  const auto landing =
      std::ranges::find_if(landings_, [&](const Landing& each) { return &each.room == error.op_context; });
  if (landing != landings_.end()) return receive_failed(*landing, error.err, error.flags);
  if (error.op_context != nullptr) Requests::end(*static_cast<Request*>(error.op_context), error.err);
}

// A connection that ends within a message makes its receive fail. If the provider does not say that it has released the
// buffer, parts of the message may still arrive there, and another error may follow: another buffer takes its place.
void Ofi::receive_failed(Landing& landing, int error, std::uint64_t flags) {
  // While processes close their endpoints, receives are cancelled.
  if (error != FI_ECANCELED || !closing_) {
    drop_message(-1, error == FI_ETRUNC ? "it is longer than any message"
                                        : "its connection ended before all of it had arrived, or libfabric could not "
                                          "receive it (FI_LOG_LEVEL=warn says more)");
  }
  if ((flags & FI_MULTI_RECV) != 0) return release(landing);
  if (!fabric_.releases_failed() || !std::exchange(landing.posted, false)) return;
  retired_.push_back(&landing);
  if (retired_.size() <= kMostRetired && make_landing().ok()) return;
  if (retired_.size() <= kMostRetired) static_cast<void>(take_detail());
  unposted_.push_back(retired_.front());
  retired_.pop_front();
}

bool Ofi::progress() {
  unpolled_ = 0;
  std::array<fi_cq_data_entry, 16> entries;
  const ssize_t count = ::fi_cq_read(fabric_.queue(), entries.data(), entries.size());
  for (ssize_t i = 0; i < count; ++i) {
    const fi_cq_data_entry& entry = entries[static_cast<std::size_t>(i)];
    // The end of a buffer may be reported separately, without a receive.
    if ((entry.flags & (FI_RECV | FI_MULTI_RECV)) != 0) {
      if ((entry.flags & FI_RECV) != 0 && entry.len != 0) arrive(static_cast<const std::byte*>(entry.buf), entry.len);
      if ((entry.flags & FI_MULTI_RECV) != 0) release(*static_cast<Landing*>(entry.op_context));
    } else if (entry.op_context != nullptr) {
      Requests::end(*static_cast<Request*>(entry.op_context), 0);
    }
  }
  if (count == -FI_EAVAIL) [[unlikely]]
    read_error();
  if (!unposted_.empty()) [[unlikely]]
    post_landings();
  if (!requests_.idle()) [[unlikely]]
    requests_.retry();
  if (!unwatched_.empty()) [[unlikely]]
    watch_some();
  if (count <= 0 || ++rounds_ % kRoundsPerTick == 0) tick();
  if (!broken_.empty()) [[unlikely]]
    end_broken();
  if (!failed_.empty()) [[unlikely]]
    tell_failed();
  return count > 0 || count == -FI_EAVAIL;
}

bool Ofi::arm_arrivals() { return has_settled() && requests_.idle() && unposted_.empty() && fabric_.arm(); }

}  // namespace hr::transport::ofi
