// Starting without a launcher: the process is rank 0 of 1, and the key-value exchange is a map.
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <ctime>
#include <map>
#include <span>

#include "base/knobs.hpp"
#include "base/log.hpp"
#include "boot/own_launcher.hpp"
#include "boot/provider.hpp"

namespace hr::boot {
namespace {

// Warns, in one of the processes, that srun without --mpi has started several jobs of one process, which is seldom
// intended.
void note_srun() {
  const char* const tasks = environment("SLURM_STEP_NUM_TASKS");
  const char* const task = environment("SLURM_PROCID");
  if (tasks == nullptr || task == nullptr || std::strcmp(tasks, "1") == 0 || std::strcmp(task, "0") != 0) return;
  log::write(
      log::Level::kError,
      "srun started %s processes, and each is a job of its own: srun --mpi=pmi2 or --mpi=pmix makes them one job",
      tasks);
}

class Singleton final : public Provider {
 public:
  Status connect(Identity* identity, std::vector<int>* hosts) override {
    note_srun();
    timespec time{};
    ::clock_gettime(CLOCK_REALTIME, &time);
    char job[64];
    std::snprintf(job, sizeof job, "single_%d_%llx%09lx", ::getpid(), static_cast<unsigned long long>(time.tv_sec),
                  static_cast<unsigned long>(time.tv_nsec));
    identity->job_id = job;
    identity->universe_size = 1;
    identity->one_host = true;
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
      return fail(Errc::kOther, "boot: no process has put the key \"%.*s\"", static_cast<int>(key.size()), key.data());
    }
    *value = found->second;
    return kOk;
  }

  Status fence() override { return kOk; }

  Status begin_spawn(std::span<const SpawnedProgram> programs, std::string_view parent) override {
    HR_TRY(launcher_.start());
    return launcher_.helper().begin_spawn(programs, parent);
  }
  [[nodiscard]] bool spawn_pending() const override {
    return launcher_.started() && launcher_.helper().spawn_pending();
  }
  Status spawn_done(bool* done, SpawnedJob* job) override { return launcher_.helper().spawn_done(done, job); }
  void end_spawn(const SpawnedJob& job) override { launcher_.helper().end_spawn(job); }
  Status spawned_status(const SpawnedJob& job) override { return launcher_.helper().spawned_status(job); }
  std::vector<int> spawned_failures(const SpawnedJob& job, bool* known) override {
    return launcher_.helper().spawned_failures(job, known);
  }
  Status publish(std::string_view service, std::string_view port) override {
    HR_TRY(launcher_.start());
    return launcher_.helper().publish(service, port);
  }
  Status unpublish(std::string_view service) override {
    HR_TRY(launcher_.start());
    return launcher_.helper().unpublish(service);
  }
  Status look_up(std::string_view service, std::string* port) override {
    HR_TRY(launcher_.start());
    return launcher_.helper().look_up(service, port);
  }

  Status finalize() override { return launcher_.finalize(); }
  void abort(int) noexcept override {}

 private:
  std::map<std::string, std::string, std::less<>> values_;
  OwnLauncher launcher_;  // started when first needed
};

}  // namespace

extern const ProviderRecord kSingletonProvider;
const ProviderRecord kSingletonProvider = {"singleton", []() noexcept { return true; },
                                           []() -> std::unique_ptr<Provider> { return std::make_unique<Singleton>(); }};

}  // namespace hr::boot
