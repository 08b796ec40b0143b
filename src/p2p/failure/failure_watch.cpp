#include "p2p/failure/failure_watch.hpp"

#include <string>

#include "base/knobs.hpp"
#include "boot/boot.hpp"
#include "boot/failure_board.hpp"
#include "p2p/process_failure.hpp"
#include "p2p/wait/watch.hpp"

namespace hr::p2p {
namespace {

class FailureWatch final : public Watch {
 public:
  Status attach(const boot::Identity& identity) {
    const std::string path =
        boot::FailureBoard::path(knobs().shm_dir, identity.failure_board_job, identity.failure_board);
    return board_.attach(path, identity.size);
  }

  bool progress() override {
    if (board_.count() == seen_) [[likely]]
      return false;
    look();
    return true;
  }

  [[nodiscard]] std::string_view name() const noexcept override { return "failure watch"; }

 private:
  [[gnu::cold]] void look() {
    for (const std::uint32_t count = board_.count(); seen_ < count; ++seen_) {
      const int rank = board_.rank(seen_);
      if (rank == boot::identity().rank || has_failed(rank)) continue;
      const std::string_view why = board_.why(seen_);
      mark_failed(rank, fail(Errc::kProcFailed, "%.*s", static_cast<int>(why.size()), why.data()));
    }
  }

  boot::FailureBoard board_;
  std::uint32_t seen_ = 0;
};

}  // namespace

Status make_failure_watch(std::unique_ptr<transport::Transport>* out) {
  const boot::Identity& identity = boot::identity();
  if (identity.failure_board < 0) return kOk;
  auto watch = std::make_unique<FailureWatch>();
  HR_TRY(watch->attach(identity));
  *out = std::move(watch);
  return kOk;
}

}  // namespace hr::p2p
