// Lost: tells messages that are late from those that a network has lost. A network library that promises delivery may
// still lose messages, and a wait for one of them would never end.
//
// A sender reports now and then how many messages it has sent. Reports travel as messages do, so those before a report
// have usually arrived; after several reports in a row with messages missing and none delivered in between, they will
// not come. Owner: the peer that sends. Threads: library lock.
#pragma once

#include <cstdint>

namespace hr::transport::network {

class Lost {
 public:
  static constexpr int kReports = 5;

  // Takes a report: the low bits of the numbers of messages sent, and of those delivered here. True: messages are lost.
  [[nodiscard]] bool report(std::uint32_t sent, std::uint32_t delivered) noexcept {
    const bool missing = static_cast<std::int32_t>(sent - delivered) > 0;
    reports_ = !missing ? 0 : reports_ != 0 && delivered == delivered_ ? reports_ + 1 : 1;
    delivered_ = delivered;
    return reports_ >= kReports;
  }

 private:
  std::uint32_t delivered_ = 0;
  int reports_ = 0;  // in a row, with messages missing and none delivered
};

}  // namespace hr::transport::network
