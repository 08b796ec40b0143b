// A network transport that this process cannot provide: open() returns the reason, after the exchange for which the
// other processes wait.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/machine.hpp"
#include "transport/network/address.hpp"
#include "transport/transport.hpp"

namespace hr::transport::network {

class Unavailable final : public Transport {
 public:
  Unavailable(std::string_view name, std::string why) : name_(name), why_(std::move(why)) {}
  Status open() override { return fail(Errc::kOther, "%s", why_.c_str()); }
  [[nodiscard]] std::string_view name() const noexcept override { return name_; }
  [[nodiscard]] bool reaches(int /*proc*/) const noexcept override { return false; }
  [[nodiscard]] Caps caps(int /*proc*/) const noexcept override { return {}; }
  Status connect(int /*proc*/) override { return open(); }
  Status send(int /*proc*/, const Header&, const void*, std::size_t) override { return open(); }
  std::byte* reserve(int /*proc*/, std::size_t) override { return nullptr; }
  void commit(int /*proc*/, const Header&) override {}
  bool progress() override { return false; }
  Status finalize() override { return kOk; }

 private:
  std::string_view name_;  // a literal
  std::string why_;
};

// Returns the transport, and lets other processes of the job know why it cannot send.
[[nodiscard]] inline std::unique_ptr<Transport> make_unavailable(const Job& job, std::string_view name,
                                                                 std::string why) {
  // Other ranks would otherwise report the launcher's answer that there is no address.
  if (!job.late && !publish_absence(job.rank, host_name(), why).ok()) static_cast<void>(take_detail());
  return std::make_unique<Unavailable>(name, std::move(why));
}

}  // namespace hr::transport::network
