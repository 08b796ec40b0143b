#include "tree/agent.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <utility>

#include "config.hpp"
#include "system/process.hpp"
#include "system/signals.hpp"
#include "system/supervisor.hpp"
#include "tree/tree.hpp"
#include "wire/channel.hpp"
#include "wire/handshake.hpp"

namespace hr::launcher {
namespace {

using Kind = Message::Kind;
using std::chrono::milliseconds;

constexpr milliseconds kGreeting{60000};  // time limit for the first line, and then for the plan
constexpr milliseconds kGrace{1000};      // between SIGTERM and SIGKILL
constexpr int kWindow = 256 << 10;        // maximum output of each stream in flight to mpiexec
constexpr std::size_t kPiece = std::size_t{64} << 10;
constexpr int kParentFailed = 1;

// Reads one line from standard input, one byte at a time, as no byte after it may be read.
std::optional<std::string> read_line() {
  std::string line;
  const auto deadline = EventLoop::Clock::now() + kGreeting;
  while (line.size() < 256) {
    const auto left = std::chrono::duration_cast<milliseconds>(deadline - EventLoop::Clock::now()).count();
    pollfd state{STDIN_FILENO, POLLIN, 0};
    char letter = 0;
    if (left <= 0 || ::poll(&state, 1, static_cast<int>(left)) != 1) return std::nullopt;
    if (::read(STDIN_FILENO, &letter, 1) != 1) return std::nullopt;
    if (letter == '\n') return line;
    line += letter;
  }
  return std::nullopt;
}

// Moves a standard descriptor to another number, so that code that prints does not use it.
Descriptor take_over(int standard, const char* instead) {
  Descriptor moved(::fcntl(standard, F_DUPFD_CLOEXEC, 3));
  const Descriptor null(::open(instead, O_RDWR | O_CLOEXEC));
  ::dup2(null.get(), standard);
  return moved;
}

class Agent {
 public:
  Agent(Descriptor reading, Descriptor writing, Supervisor& supervisor)
      : supervisor_(supervisor),
        signals_(loop_, [this](int signal) { on_signal(signal); }),
        above_(loop_, std::move(reading), std::move(writing), kGreeting,
               {.message = [this](const Message& message) { on_message(message); },
                .closed = [this](const std::string& cause) { on_parent_failed(cause); }},
               "") {}

  int run() {
    while (!over_) loop_.run_once();
    return exit_code_;
  }

 private:
  // One stream of one rank here, forwarded to mpiexec.
  class Output final : public OutputTarget {
   public:
    Output(Agent& agent, int rank, int stream) : agent_(agent), rank_(rank), stream_(stream) {}
    void take(std::string_view text) override {
      for (; !text.empty(); text.remove_prefix(std::min(text.size(), kPiece))) {
        const std::string_view piece = text.substr(0, kPiece);
        agent_.flow(stream_).on_its_way += static_cast<int>(piece.size());
        const int goes_on = piece.size() < text.size() ? 1 : 0;
        agent_.above_.send(
            {.kind = Kind::kOutput, .rank = rank_, .numbers = {stream_, goes_on}, .text = std::string(piece)});
      }
    }
    [[nodiscard]] bool full() const override { return agent_.flow(stream_).on_its_way >= kWindow; }
    [[nodiscard]] bool broken() const override { return agent_.flow(stream_).broken; }
    [[nodiscard]] bool wants_prompts() const override { return agent_.tree_->plan().prompts; }
    void when_room(std::function<void()> resume) override { agent_.flow(stream_).waiting.push_back(std::move(resume)); }

   private:
    Agent& agent_;
    int rank_;
    int stream_;
  };

  struct Flow {
    int on_its_way = 0;
    bool broken = false;
    std::list<std::function<void()>> waiting;
  };

  Flow& flow(int stream) { return flows_[stream == 0 ? 0 : 1]; }

  void on_message(const Message& message) {
    if (tree_ == nullptr) return on_plan(message);
    if (message.kind == Kind::kCredit && message.host == host_) return on_credit(message);
    if (message.kind == Kind::kSignal) note_stop(message.numbers[0]);
    tree_->down(message);
  }

  void on_plan(const Message& message) {
    std::optional<JobPlan> plan;
    if (message.kind == Kind::kPlan) plan = decode_plan(message.text);
    const int last = message.numbers[0];
    if (!plan || message.host < 0 || message.host >= last || last > count_places(*plan)) {
      std::fprintf(stderr, "mpiexec sent no plan of this version\n");
      return end(kParentFailed);
    }
    host_ = host_at(*plan, message.host);
    hosts_ = last - message.host;
    supervisor_.note(plan->id, plan->shm_directories);
    ::umask(static_cast<mode_t>(plan->creation_mask));
    above_.set_silence_of_parent(plan->silence);
    Tree::Callbacks callbacks;
    callbacks.up = [this](const Message& up) { on_up(up); };
    callbacks.target = [this](int rank, int stream) -> OutputTarget& {
      return outputs_.emplace_back(*this, rank, stream);
    };
    callbacks.standard_input = [] { return -1; };
    tree_ = std::make_unique<Tree>(loop_, std::move(*plan), host_, message.host + 1, last, false, std::move(callbacks));
    tree_->start();
  }

  void on_up(const Message& message) {
    above_.send(message);
    if (message.kind == Kind::kDone) end(0);
  }

  void on_credit(const Message& message) {
    Flow& own = flow(message.numbers[0]);
    if (message.numbers[1] < 0) {
      own.broken = true;
    } else {
      own.on_its_way -= std::min(own.on_its_way, message.numbers[1]);
    }
    if (!own.broken && own.on_its_way >= kWindow) return;
    for (const auto& resume : std::exchange(own.waiting, {})) resume();
  }

  // Records that mpiexec is about to be stopped with its ranks, or continues. While stopped, it sends nothing.
  void note_stop(int signal) {
    if (signal != SIGTSTP && signal != SIGCONT) return;
    above_.expect_silence(signal == SIGTSTP);
    tree_->expect_silence(signal == SIGTSTP);
  }

  void on_signal(int signal) {
    if (signal == SIGCHLD) {
      if (tree_ != nullptr) tree_->reap();
    } else if (signal == SIGTERM || signal == SIGHUP || signal == SIGINT || signal == SIGQUIT) {
      const std::string why = "its mpiexec was ended by signal " + signal_text(signal);
      std::fprintf(stderr, "%s\n", why.c_str());
      // Reports the reason before the ranks end, because the ranks are not at fault.
      if (tree_ != nullptr)
        above_.send({.kind = Kind::kHostFailed, .host = host_, .numbers = {hosts_, 1}, .text = why});
      abandon();
    }
  }

  void on_parent_failed(const std::string& cause) {
    std::fprintf(stderr, "mpiexec is lost: %s\n", cause.empty() ? "its connection was closed" : cause.c_str());
    abandon();
  }

  // Ends the subtree after the connection to the parent is lost.
  void abandon() {
    exit_code_ = kParentFailed;
    if (tree_ == nullptr) return end(kParentFailed);
    if (std::exchange(abandoned_, true)) return;
    for (Flow& each : flows_) {
      each.broken = true;
      for (const auto& resume : std::exchange(each.waiting, {})) resume();
    }
    for (const int signal : {SIGTERM, SIGCONT}) {
      tree_->down({.kind = Kind::kSignal, .numbers = {signal, 1}});
    }
    loop_.after(kGrace, [this] {
      tree_->down({.kind = Kind::kSignal, .numbers = {SIGKILL, 1}});
      tree_->down({.kind = Kind::kFinish});
      // Agents below that do not answer lose their connection to this one, and then end on their own.
      loop_.after(kGrace, [this] { end(kParentFailed); });
    });
  }

  void end(int exit_code) {
    if (std::exchange(over_, true)) return;
    if (exit_code_ == 0) exit_code_ = exit_code;
    above_.flush(kGrace);
  }

  EventLoop loop_;
  Supervisor& supervisor_;
  Signals signals_;
  Channel above_;
  std::deque<Output> outputs_;
  std::array<Flow, 2> flows_;
  std::unique_ptr<Tree> tree_;
  int host_ = -1;
  int hosts_ = 0;  // number of hosts in the subtree
  bool abandoned_ = false;
  bool over_ = false;
  int exit_code_ = 0;
};

}  // namespace

int run_agent() {
  const auto line = read_line();
  const auto nonce = line ? read_handshake(*line) : std::nullopt;
  if (!nonce) {
    std::fprintf(stderr, "mpiexec --agent is started by mpiexec on other hosts; it is not for use by hand\n");
    return 2;
  }
  Supervisor supervisor;
  supervisor.start();
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::signal(SIGPIPE, SIG_IGN);
  raise_descriptor_limit();
  const std::string proof = proof_line(*nonce, HEADRACE_VERSION);
  if (::write(STDOUT_FILENO, proof.data(), proof.size()) != static_cast<ssize_t>(proof.size())) return kParentFailed;
  Descriptor reading = take_over(STDIN_FILENO, "/dev/null");
  Descriptor writing = take_over(STDOUT_FILENO, "/dev/null");
  return Agent(std::move(reading), std::move(writing), supervisor).run();
}

}  // namespace hr::launcher
