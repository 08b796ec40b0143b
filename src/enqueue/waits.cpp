// Reports what streams are waiting for, when the user asks where a job is (mpiexec --timeout).
#include <algorithm>
#include <atomic>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "enqueue/matched.hpp"
#include "enqueue/operation.hpp"

namespace hr::enqueue {
namespace {

constexpr std::size_t kMostNamed = 8;
// Minimum time between two reports: every thread of the process is asked, and each calls ask_for_waits().
constexpr double kPauseSeconds = 1;

std::atomic<std::uint32_t> asked{0};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

std::string listed(const std::vector<std::string>& all) {
  std::string text;
  for (std::size_t i = 0; i < std::min(all.size(), kMostNamed); ++i) text += (i == 0 ? "" : "; ") + all[i];
  if (all.size() > kMostNamed) text += "; and " + std::to_string(all.size() - kMostNamed) + " more";
  return text;
}

}  // namespace

// Asks the driver nothing about the stream: a round of progress calls this at any time, and the program may have
// destroyed the stream.
void report_waits_of(const Attached& attached, const char* more) {
  std::vector<std::string> waits, later, matched;
  for (const OperationPointer& each : state->running) {
    if (each->comm_ == &attached.comm_) waits.push_back(each->what());
  }
  for (const OperationPointer& each : attached.stream_->queue_) {
    if (each->comm_ == &attached.comm_) later.push_back(each->what());
  }
  for (const Matched* const each : state->matched) {
    const auto is_this = [&](const Ref<Stream>& stream) { return stream.get() == attached.stream_.get(); };
    if ((attached.matched_ && is_this(each->stream_)) || std::ranges::any_of(each->graphs_, is_this))
      matched.push_back(each->text());
  }
  if (waits.empty() && later.empty() && matched.empty()) return;
  std::string text = "the stream of a communicator of " + std::to_string(attached.comm_.size()) + " processes";
  if (!attached.comm_.name_.empty()) text += " (" + attached.comm_.name_ + ")";
  if (!waits.empty()) text += ", waits for: " + listed(waits);
  if (!later.empty()) text += ", has not come to: " + listed(later);
  if (!matched.empty()) text += ", may have work to do: it was given these matched operations: " + listed(matched);
  log::write(log::Level::kError, "%s%s", text.c_str(), more);
}

void ask_for_waits() noexcept { asked.fetch_add(1, std::memory_order_relaxed); }

void report_waits() {
  if (asked.load(std::memory_order_relaxed) == state->asked_seen) [[likely]]
    return;
  state->asked_seen = asked.load(std::memory_order_relaxed);
  if (now_seconds() - state->reported_at < kPauseSeconds) return;
  state->reported_at = now_seconds();
  // Requests may keep a communicator that the program has freed.
  for (const Attached* const each : state->communicators) {
    if (!each->freed_) report_waits_of(*each, "");
  }
}

}  // namespace hr::enqueue
