#include "endpoint.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "../common/check.hpp"

namespace random_exchange {
namespace {

constexpr unsigned char kSenderGap = 0x5a, kReceiverGap = 0xc3;

// Returns the message of an exchange: random bytes, the same on both sides.
std::vector<unsigned char> message_of(const Settings& settings, const Exchange& exchange) {
  Generator random = generator(settings.seed, static_cast<std::uint64_t>(exchange.index), 2);
  std::vector<unsigned char> message(exchange.bytes());
  for (std::size_t at = 0; at < message.size(); at += 8) {
    const std::uint64_t word = random();
    std::memcpy(message.data() + at, &word, std::min<std::size_t>(8, message.size() - at));
  }
  return message;
}

Layout make_layout(const Settings& settings, const Exchange& exchange, Endpoint::Side side) {
  const bool receive = side == Endpoint::Side::kReceive;
  Generator random = generator(settings.seed, static_cast<std::uint64_t>(exchange.index), receive ? 4 : 3);
  return Layout(exchange, random, receive);
}

int device_of(const Exchange& exchange, Endpoint::Side side) {
  const int planned = side == Endpoint::Side::kSend ? exchange.send_device : exchange.receive_device;
  return planned >= 0 ? planned : std::max(gpu::device(), 0);
}

std::span<const std::byte> bytes_of(const std::vector<unsigned char>& buffer) {
  return std::as_bytes(std::span(buffer));
}

}  // namespace

Endpoint::Endpoint(const Settings& settings, const Exchange& exchange, Side side)
    : exchange_(exchange),
      side_(side),
      layout_(make_layout(settings, exchange, side)),
      memory_(layout_.span(), side == Side::kSend ? exchange.send_memory : exchange.receive_memory,
              device_of(exchange, side)),
      expected_(layout_.span(), side == Side::kSend ? kSenderGap : kReceiverGap) {
  const std::vector<unsigned char> message = message_of(settings, exchange);
  if (side == Side::kReceive) memory_.write(bytes_of(expected_));
  layout_.place(message, expected_);
  if (side == Side::kSend) memory_.write(bytes_of(expected_));
}

void Endpoint::start(MPI_Comm comm) {
  if (side_ == Side::kSend) {
    start_send(comm);
  } else {
    start_receive(comm);
  }
}

void Endpoint::start_send(MPI_Comm comm) {
  const auto blocking = [&](auto send) {
    CHECK_OK(send(address(), layout_.count(), layout_.type(), exchange_.target, exchange_.tag, comm));
  };
  const auto non_blocking = [&](auto send) {
    CHECK_OK(send(address(), layout_.count(), layout_.type(), exchange_.target, exchange_.tag, comm, &request_));
  };
  switch (exchange_.send) {
    case SendHow::kSend:
      return blocking(MPI_Send);
    case SendHow::kSsend:
      return blocking(MPI_Ssend);
    case SendHow::kIsend:
      return non_blocking(MPI_Isend);
    case SendHow::kIssend:
      return non_blocking(MPI_Issend);
    case SendHow::kIbsend:
      return non_blocking(MPI_Ibsend);
    case SendHow::kPersistent:
      non_blocking(MPI_Send_init);
      break;
    case SendHow::kPersistentSsend:
      non_blocking(MPI_Ssend_init);
      break;
  }
  persistent_ = true;
  CHECK_OK(MPI_Start(&request_));
}

void Endpoint::start_receive(MPI_Comm comm) {
  const int source = exchange_.any_source ? MPI_ANY_SOURCE : exchange_.source;
  const int tag = exchange_.any_tag ? MPI_ANY_TAG : exchange_.tag;
  MPI_Message message = MPI_MESSAGE_NULL;
  switch (exchange_.receive) {
    case ReceiveHow::kRecv:
      CHECK_OK(MPI_Recv(address(), layout_.count(), layout_.type(), source, tag, comm, &status_));
      break;
    case ReceiveHow::kIrecv:
      CHECK_OK(MPI_Irecv(address(), layout_.count(), layout_.type(), source, tag, comm, &request_));
      break;
    case ReceiveHow::kPersistent:
      CHECK_OK(MPI_Recv_init(address(), layout_.count(), layout_.type(), source, tag, comm, &request_));
      persistent_ = true;
      CHECK_OK(MPI_Start(&request_));
      break;
    case ReceiveHow::kProbe:
      CHECK_OK(MPI_Probe(source, tag, comm, &status_));
      check_status();
      CHECK_OK(
          MPI_Recv(address(), layout_.count(), layout_.type(), status_.MPI_SOURCE, status_.MPI_TAG, comm, &status_));
      break;
    case ReceiveHow::kMprobe:
      CHECK_OK(MPI_Mprobe(source, tag, comm, &message, &status_));
      check_status();
      CHECK_OK(MPI_Mrecv(address(), layout_.count(), layout_.type(), &message, &status_));
      break;
    case ReceiveHow::kImprobe:
      for (int found = 0; found == 0;) CHECK_OK(MPI_Improbe(source, tag, comm, &found, &message, &status_));
      check_status();
      CHECK_OK(MPI_Imrecv(address(), layout_.count(), layout_.type(), &message, &request_));
      break;
    case ReceiveHow::kAnyMprobe:
      break;  // receive_matched()
  }
}

void Endpoint::receive_matched(MPI_Message* message, MPI_Status* status) {
  status_ = *status;
  check_status();
  CHECK_OK(MPI_Imrecv(address(), layout_.count(), layout_.type(), message, &request_));
}

void Endpoint::check_status() const {
  CHECK_EQ(status_.MPI_SOURCE, exchange_.source);
  CHECK_EQ(status_.MPI_TAG, exchange_.tag);
  MPI_Count found = -1;
  if (check::headrace()) {
    CHECK_OK(MPI_Get_elements_x(&status_, layout_.type(), &found));
    CHECK_EQ(found, exchange_.units() * exchange_.unit.size());
  } else {  // for MPICH 5.0.2, which divides by zero in this case
    CHECK_OK(MPI_Get_count_c(&status_, MPI_BYTE, &found));
    CHECK_EQ(found, exchange_.bytes());
  }
}

void Endpoint::check_buffer() const {
  const std::vector<std::byte> found = memory_.read();
  if (std::memcmp(found.data(), expected_.data(), found.size()) == 0) return;
  std::size_t at = 0, wrong = 0;
  for (std::size_t i = found.size(); i-- > 0;) {
    if (std::to_integer<unsigned char>(found[i]) != expected_[i]) {
      at = i;
      ++wrong;
    }
  }
  const auto hex = [](unsigned value) {
    char text[8];
    std::snprintf(text, sizeof text, "0x%02x", value);
    return std::string(text);
  };
  check::fail(__FILE__, __LINE__,
              "exchange " + std::to_string(exchange_.index) + ", " +
                  (side_ == Side::kSend ? "send buffer" : "receive buffer") + " of " +
                  hr::test::name_of(memory_.kind()) + " memory of device " + std::to_string(memory_.device()) +
                  ", layout " + layout_.name() + ": " + std::to_string(wrong) + " of " + std::to_string(found.size()) +
                  " bytes are wrong, the first at " +
                  std::to_string(static_cast<std::ptrdiff_t>(at) - static_cast<std::ptrdiff_t>(layout_.origin())) +
                  " is " + hex(std::to_integer<unsigned>(found[at])) + ", not " + hex(expected_[at]) + " (gaps are " +
                  hex(side_ == Side::kSend ? kSenderGap : kReceiverGap) + "); message of " +
                  std::to_string(exchange_.bytes()) + " bytes from " + std::to_string(exchange_.source) + " (" +
                  name_of(exchange_.send) + ", " + hr::test::name_of(exchange_.send_memory) + ") to " +
                  std::to_string(exchange_.target) + " (" + name_of(exchange_.receive) + ", " +
                  hr::test::name_of(exchange_.receive_memory) + "), tag " + std::to_string(exchange_.tag));
}

void Endpoint::finish() {
  if (side_ == Side::kReceive) check_status();
  check_buffer();
  if (persistent_) CHECK_OK(MPI_Request_free(&request_));
}

}  // namespace random_exchange
