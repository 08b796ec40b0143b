// Requests: operations submitted to libfabric, and those that it could not accept yet.
//
// A provider refuses an operation while it connects or has no space; the operation then waits here and is retried in
// every round of progress, and does not hold up operations to other processes. Operations to a process that has not
// answered the greeting yet wait in Line::held (greeting.hpp). Owner: the transport owns this; the code that starts a
// request owns it until done() is called. Threads: library lock.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_errno.h>
#include <sys/types.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <deque>
#include <utility>
#include <vector>

#include "base/clock.hpp"

namespace hr::transport::ofi {

struct Request;

// The path to one process, as requests see it.
struct Line {
  fi_addr_t address = FI_ADDR_UNSPEC;
  int in_flight = 0;       // requests begun and not done
  bool worked = false;     // the provider has accepted something
  double stuck_since = 0;  // time since which it has accepted nothing; 0 if it accepts requests
  double next_try = 0;     // time of the next attempt while it accepts nothing
  double pause = 0;        // time between attempts, which grows
  int failure = 0;         // an error of libfabric (positive); 0: none
  bool in_doubt = false;   // operations wait in `held` until the process has been heard from
  std::vector<Request*> held;

  void accepted() noexcept {
    worked = true;
    stuck_since = 0;
    pause = 0;
  }
  void refused() noexcept {
    const double now = now_seconds();
    if (stuck_since == 0) stuck_since = now;
    pause = std::clamp(pause * kGrowth, kShortestPause, kLongestPause);
    next_try = now + pause;
  }
  // True if an operation should be attempted. While a process cannot be connected, a provider opens a connection at
  // every attempt, and would use up the host's ports.
  [[nodiscard]] bool is_due() const noexcept { return pause == 0 || now_seconds() >= next_try; }

 private:
  static constexpr double kGrowth = 1.125;  // delays an operation by at most an eighth of the time that it is refused
  static constexpr double kShortestPause = 1e-6;
  static constexpr double kLongestPause = 0.05;
};

struct Request {
  fi_context2 room{};  // the provider's, while the request is pending; must be first
  Line* line = nullptr;
  // Submits the operation to the provider; returns 0, kAtOnce, or a negative error.
  ssize_t (*start)(Request& self) = nullptr;
  // Called once, within begin() if the operation completed immediately, else within progress. `error`: positive; 0:
  // none.
  void (*done)(Request& self, int error) = nullptr;
  bool is_greeting = false;  // may be sent even to a process in doubt
};

// Returned by Request::start if the operation is complete, and its memory may be reused.
inline constexpr ssize_t kAtOnce = 1;

class Requests {
 public:
  void begin(Request& request) {
    ++request.line->in_flight;
    if (request.line->failure != 0) {
      failed_.emplace_back(&request, request.line->failure);
    } else if (request.line->in_doubt && !request.is_greeting) {
      request.line->held.push_back(&request);
    } else if (!attempt(request)) {
      waiting_.push_back(&request);
    }
  }

  // Tries operations that were held. If the line has failed, they end with the next round.
  void release(Line& line) {
    line.in_doubt = false;
    for (Request* const request : std::exchange(line.held, {})) {
      if (line.failure != 0) {
        failed_.emplace_back(request, line.failure);
      } else if (!attempt(*request)) {
        waiting_.push_back(request);
      }
    }
  }

  // Ends a request whose completion the provider has reported.
  static void end(Request& request, int error) {
    --request.line->in_flight;
    request.done(request, error);
  }

  [[nodiscard]] bool idle() const noexcept { return waiting_.empty() && failed_.empty(); }
  // Retries waiting operations in turn, until a few are refused, and ends those that failed; called within progress.
  // Each refusal costs a round of progress within the provider.
  void retry() {
    for (const auto& [request, error] : std::exchange(failed_, {})) end(*request, error);
    std::array<Request*, 4> refused{};
    std::size_t refusals = 0;
    for (std::size_t left = waiting_.size(); left != 0; --left) {
      Request* const request = waiting_.front();
      waiting_.pop_front();
      if (request->line->failure != 0) {
        end(*request, request->line->failure);
      } else if (refusals == refused.size()) {
        waiting_.push_back(request);
      } else if (!attempt(*request)) {
        refused[refusals++] = request;
      }
    }
    waiting_.insert(waiting_.end(), refused.data(), refused.data() + refusals);
  }

 private:
  // Starts a request. False if the provider has not accepted it yet.
  bool attempt(Request& request) {
    if (!request.line->is_due()) return false;
    const ssize_t answer = request.start(request);
    if (answer == -FI_EAGAIN) {
      request.line->refused();
      return false;
    }
    if (answer < 0) {
      failed_.emplace_back(&request, static_cast<int>(-answer));
      return true;
    }
    request.line->accepted();
    if (answer == kAtOnce) end(request, 0);
    return true;
  }

  std::deque<Request*> waiting_;
  std::vector<std::pair<Request*, int>> failed_;  // failed requests with their errors, until the next round
};

}  // namespace hr::transport::ofi
