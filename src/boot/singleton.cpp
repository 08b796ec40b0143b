// Started without a launcher: rank 0 of 1, and the key-value exchange is a map.
#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <map>

#include "base/knobs.hpp"
#include "boot/provider.hpp"

namespace hr::boot {
namespace {

class Singleton final : public Provider {
 public:
  Status connect(Identity* identity) override {
    // A launcher that we do not speak with would otherwise give N jobs of one rank, silently.
    if (environment("PMIX_RANK") != nullptr && environment("PMIX_NAMESPACE") != nullptr) {
      return fail(Errc::kOther,
                  "boot: this process was started by a PMIx launcher, which Headrace does not speak yet; start it with "
                  "Headrace's mpiexec, with MPICH's, or with srun --mpi=pmi2 (alone: unset PMIX_RANK)");
    }
    timespec time{};
    ::clock_gettime(CLOCK_REALTIME, &time);
    char job[64];
    std::snprintf(job, sizeof job, "single_%d_%llx%09lx", ::getpid(), static_cast<unsigned long long>(time.tv_sec),
                  static_cast<unsigned long>(time.tv_nsec));
    identity->job_id = job;
    identity->universe_size = 1;
    identity->node_of_rank = {0};
    return kOk;
  }

  Status put(std::string_view key, std::string_view value) override {
    values_.insert_or_assign(std::string(key), std::string(value));
    return kOk;
  }

  Status get(std::string_view key, std::string* value) override {
    const auto found = values_.find(key);
    if (found == values_.end()) {
      return fail(Errc::kOther, "boot: nobody has put the key \"%.*s\"", static_cast<int>(key.size()), key.data());
    }
    *value = found->second;
    return kOk;
  }

  Status fence() override { return kOk; }
  Status begin_fence() override { return kOk; }
  Status fence_done(bool* done) override {
    *done = true;
    return kOk;
  }
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
