// PMIx: a library compatible with the launcher is opened at run time, and communicates with a daemon on the host. PRRTE
// (prterun, Open MPI's mpirun) and Slurm's pmix plugin support it.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "base/await_readers.hpp"
#include "base/flush_output.hpp"
#include "base/knobs.hpp"
#include "boot/pmix_library.hpp"
#include "boot/provider.hpp"

namespace hr::boot {
namespace {

using pmix::Info;
using pmix::Proc;
using pmix::Value;

// Returns the number in `value`, or `otherwise` if it holds none. Accepts more types than the PMIx Standard specifies,
// because launchers use them.
int number_in(const Value& value, int otherwise) noexcept {
  switch (value.type) {
    case pmix::kUint32:
    case pmix::kUint:
      return static_cast<int>(value.data.uint32);
    case pmix::kInt:
    case pmix::kInt32:
      return value.data.integer;
    case pmix::kUint16:
      return value.data.uint16;
    case pmix::kUint64:
    case pmix::kSize:
      return static_cast<int>(value.data.uint64);
    default:
      return otherwise;
  }
}

Info named(const char* key) {
  Info info{};
  std::strncpy(info.key, key, sizeof info.key - 1);
  return info;
}

Info flag(const char* key) {
  Info info = named(key);
  info.value.type = pmix::kBool;
  info.value.data.flag = true;
  return info;
}

Info seconds(const char* key, int count) {
  Info info = named(key);
  info.value.type = pmix::kInt;
  info.value.data.integer = count;
  return info;
}

// Time limit of a request. PRRTE 3.0 distributes all values at a fence, but still queries the process that put a value.
// If that process has left, no answer arrives.
constexpr int kAnswerSeconds = 60;

// A value returned by PMIx_Get, freed by the destructor.
class Got {
 public:
  Got() = default;
  Got(const Got&) = delete;
  Got& operator=(const Got&) = delete;
  ~Got() {
    if (value_ == nullptr) return;
    if (value_->type == pmix::kString) std::free(value_->data.string);
    std::free(value_);
  }
  Value** place() noexcept { return &value_; }
  [[nodiscard]] bool is_text() const noexcept {
    return value_ != nullptr && value_->type == pmix::kString && value_->data.string != nullptr;
  }
  [[nodiscard]] const char* text() const noexcept { return value_->data.string; }
  [[nodiscard]] int number(int otherwise) const noexcept {
    return value_ != nullptr ? number_in(*value_, otherwise) : otherwise;
  }

 private:
  Value* value_ = nullptr;
};

// Not a PMIx status: PMIx statuses are 0 or negative.
constexpr int kUnderWay = 1;
// State of the last fence; a thread of the PMIx library may write it after the wait has ended.
std::atomic<int> fence_state{pmix::kSuccess};

void fenced(pmix::Code status, void* /*data*/) noexcept {
  fence_state.store(status == kUnderWay ? -1 : status, std::memory_order_release);
  fence_state.notify_all();
}

// Exits when the launcher has ended. Processes under Headrace's launcher do the same. Nothing else would end this
// process when the job is over.
void launcher_gone(std::size_t, pmix::Code, const Proc*, Info*, std::size_t, Info*, std::size_t, void*, void*) {
  constexpr std::string_view kText = "[headrace] the launcher (PMIx) has ended, so this process ends\n";
  flush_output();
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kText.data(), kText.size());
  ::_exit(1);
}

class Pmix final : public Provider {
 public:
  Status connect(Identity* identity, std::vector<int>* /*hosts*/) override {
    HR_TRY(pmix::open_library(&library_));
    HR_TRY(check("PMIx_Init", library_->init(&self_, nullptr, 0)));
    connected_ = true;
    pmix::Code gone = pmix::kLostConnection;
    // If this fails, the process outlives its launcher.
    static_cast<void>(library_->register_event(&gone, 1, nullptr, 0, launcher_gone, nullptr, nullptr));
    identity->rank = static_cast<int>(self_.rank);
    identity->size = of_job(pmix::kJobSize, -1);
    if (identity->size < 1 || identity->rank >= identity->size) {
      return fail(Errc::kOther, "boot: the launcher (PMIx) says rank %d of %d", identity->rank, identity->size);
    }
    identity->appnum = std::max(of(self_, pmix::kAppNumber, 0), 0);
    identity->universe_size = of_job(pmix::kUniverseSize, -1);
    identity->has_launcher = true;
    identity->job_id = file_safe(self_.nspace);
    return kOk;
  }

  Status put(std::string_view key, std::string_view value) override {
    const std::string name(key);
    std::string text(value);
    Value held{};
    held.type = pmix::kString;
    held.data.string = text.data();
    return check("PMIx_Put", library_->put(pmix::kGlobal, name.c_str(), &held));  // the library makes a copy
  }

  Status get(int owner, std::string_view key, std::string* value) override {
    Proc proc = self_;
    proc.rank = static_cast<pmix::Rank>(owner);
    const std::string name(key);
    Got got;
    HR_TRY(check(name.c_str(), library_->get(&proc, name.c_str(), &patience_, 1, got.place())));
    if (!got.is_text()) {
      return fail(Errc::kOther, "boot: the launcher (PMIx) has no text as \"%s\" of rank %d", name.c_str(), owner);
    }
    *value = got.text();
    return kOk;
  }

  Status fence() override {
    HR_TRY(begin_fence());
    fence_state.wait(kUnderWay, std::memory_order_acquire);
    bool done = false;
    return fence_done(&done);
  }
  Status begin_fence() override {
    HR_TRY(check("PMIx_Commit", library_->commit()));
    fence_state.store(kUnderWay, std::memory_order_relaxed);
    const pmix::Code begun = library_->begin_fence(nullptr, 0, &collect_, 1, fenced, nullptr);
    // If the fence is complete already, the callback is not called.
    if (begun == pmix::kDoneAtOnce) fenced(pmix::kSuccess, nullptr);
    return begun == pmix::kDoneAtOnce ? kOk : check("PMIx_Fence_nb", begun);
  }
  Status fence_done(bool* done) override {
    const int state = fence_state.load(std::memory_order_acquire);
    *done = state != kUnderWay;
    return *done ? check("PMIx_Fence_nb", state) : kOk;
  }

  // Publishes under a prefix, because other programs publish data too. publish() and unpublish() look the name up
  // first: PRRTE accepts a name that is published already, and the withdrawal of a name that was never published.
  Status publish(std::string_view service, std::string_view port) override {
    std::string other;
    if (look_up(service, &other).ok()) {
      return fail(Errc::kService, "\"%.*s\" is published already", static_cast<int>(service.size()), service.data());
    }
    static_cast<void>(take_detail());
    Info info;
    HR_TRY(named_for(service, &info));
    std::string text(port);
    info.value.type = pmix::kString;
    info.value.data.string = text.data();
    return refused(library_->publish(&info, 1), Errc::kService, service, "published");
  }
  Status unpublish(std::string_view service) override {
    std::string port;
    if (!look_up(service, &port).ok()) {
      return fail(Errc::kService, "\"%.*s\" cannot be taken back: %s", static_cast<int>(service.size()), service.data(),
                  take_detail().c_str());
    }
    Info info;
    HR_TRY(named_for(service, &info));
    char* keys[] = {info.key, nullptr};
    return refused(library_->unpublish(keys, nullptr, 0), Errc::kService, service, "taken back");
  }
  Status look_up(std::string_view service, std::string* port) override {
    Info info;
    HR_TRY(named_for(service, &info));
    pmix::Published found{};
    std::memcpy(found.key, info.key, sizeof found.key);
    HR_TRY(refused(library_->look_up(&found, 1, nullptr, 0), Errc::kName, service, "found"));
    if (found.value.type != pmix::kString || found.value.data.string == nullptr) {
      return fail(Errc::kName, "\"%.*s\" is not published", static_cast<int>(service.size()), service.data());
    }
    *port = found.value.data.string;
    std::free(found.value.data.string);
    return kOk;
  }

  Status finalize() override {
    connected_ = false;
    return check("PMIx_Finalize", library_->finalize(nullptr, 0));
  }

  void abort(int exit_code) noexcept override {
    if (!connected_) return;
    // The launcher may end this process without reading the rest of its output.
    await_readers(kOutputSeconds);
    // No list of processes means the whole job.
    static_cast<void>(library_->abort(exit_code == 0 ? 1 : exit_code, "MPI_Abort", nullptr, 0));
  }

 private:
  Status check(const char* what, pmix::Code status) const {
    if (status == pmix::kSuccess) return kOk;
    return fail(Errc::kOther, "boot: the launcher (PMIx): %s: %s (%d)", what, text_of(status), status);
  }
  [[nodiscard]] const char* text_of(pmix::Code status) const {
    const char* text = library_->error_string(status);
    return text != nullptr ? text : "unknown";
  }

  static Status named_for(std::string_view service, Info* info) {
    const std::string key = "headrace.service." + std::string(service);
    if (key.size() >= sizeof info->key)
      return fail(Errc::kService, "the name has %zu characters: too many", service.size());
    *info = named(key.c_str());
    return kOk;
  }
  Status refused(pmix::Code status, Errc error, std::string_view service, const char* what) const {
    if (status == pmix::kSuccess) return kOk;
    return fail(error, "\"%.*s\" cannot be %s: the launcher (PMIx) says %s (%d)", static_cast<int>(service.size()),
                service.data(), what, text_of(status), status);
  }

  int of(const Proc& proc, const char* key, int otherwise) const {
    Got got;
    return library_->get(&proc, key, nullptr, 0, got.place()) == pmix::kSuccess ? got.number(otherwise) : otherwise;
  }
  int of_job(const char* key, int otherwise) const {
    Proc job = self_;
    job.rank = pmix::kJob;
    return of(job, key, otherwise);
  }

  const pmix::Library* library_ = nullptr;
  Proc self_{};
  bool connected_ = false;
  const Info patience_ = seconds(pmix::kTimeout, kAnswerSeconds);
  const Info collect_ = flag(pmix::kCollect);  // argument of a fence, which reads it until the fence is complete
};

bool detect() noexcept { return environment("PMIX_NAMESPACE") != nullptr && environment("PMIX_RANK") != nullptr; }

}  // namespace

extern const ProviderRecord kPmixProvider;
const ProviderRecord kPmixProvider = {"PMIx", detect,
                                      []() -> std::unique_ptr<Provider> { return std::make_unique<Pmix>(); }};

}  // namespace hr::boot
