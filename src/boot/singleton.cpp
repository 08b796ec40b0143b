// Started without a launcher: rank 0 of 1, and the key-value exchange is a map.
#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <map>

#include "boot/provider.hpp"

namespace hr::boot {
namespace {

class Singleton final : public Provider {
 public:
  Status connect(Identity* identity, std::vector<int>* hosts) override {
    timespec time{};
    ::clock_gettime(CLOCK_REALTIME, &time);
    char job[64];
    std::snprintf(job, sizeof job, "single_%d_%llx%09lx", ::getpid(), static_cast<unsigned long long>(time.tv_sec),
                  static_cast<unsigned long>(time.tv_nsec));
    identity->job_id = job;
    identity->universe_size = 1;
    *hosts = {0};
    return kOk;
  }

  [[nodiscard]] bool names_jobs() const noexcept override { return true; }

  Status put(std::string_view key, std::string_view value) override {
    values_.insert_or_assign(std::string(key), std::string(value));
    return kOk;
  }

  Status get(int /*owner*/, std::string_view key, std::string* value) override {
    const auto found = values_.find(key);
    if (found == values_.end()) {
      return fail(Errc::kOther, "boot: nobody has put the key \"%.*s\"", static_cast<int>(key.size()), key.data());
    }
    *value = found->second;
    return kOk;
  }

  Status fence() override { return kOk; }
  Status finalize() override { return kOk; }
  void abort(int) noexcept override {}

 private:
  std::map<std::string, std::string, std::less<>> values_;
};

}  // namespace

extern const ProviderRecord kSingletonProvider;
const ProviderRecord kSingletonProvider = {"singleton", []() noexcept { return true; },
                                           []() -> std::unique_ptr<Provider> { return std::make_unique<Singleton>(); }};

}  // namespace hr::boot
