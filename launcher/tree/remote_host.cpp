#include "tree/remote_host.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "config.hpp"
#include "plan/remote_command.hpp"
#include "system/process.hpp"
#include "system/signals.hpp"

extern char** environ;

namespace hr::launcher {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kLogin{20000};     // time for the remote shell, in addition to the permitted silence
constexpr milliseconds kLastWords{2000};  // time from the end of the channel to the end of the command
// Time from the report of a silent subtree to its end. Processes that lose its ranks end the job with errors of their
// own, which say less; so the report needs a start.
constexpr milliseconds kReportFirst{200};
constexpr std::size_t kMostErrors = 4096;

std::string last_line_of(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) text.remove_suffix(1);
  const auto start = text.rfind('\n');
  return std::string(start == std::string_view::npos ? text : text.substr(start + 1));
}

}  // namespace

int host_at(const JobPlan& plan, int place) noexcept {
  return plan.root_host >= 0 && place >= plan.root_host ? place + 1 : place;
}

int place_of(const JobPlan& plan, int host) noexcept {
  if (host == plan.root_host) return -1;
  return plan.root_host >= 0 && host > plan.root_host ? host - 1 : host;
}

int count_places(const JobPlan& plan) noexcept {
  return static_cast<int>(plan.hosts.size()) - (plan.root_host >= 0 ? 1 : 0);
}

RemoteHost::RemoteHost(EventLoop& loop, const JobPlan& plan, const std::string& encoded_plan, int first, int last,
                       std::function<void(const Message&)> up)
    : loop_(loop),
      plan_(plan),
      encoded_plan_(encoded_plan),
      first_(first),
      last_(last),
      up_(std::move(up)),
      nonce_(make_nonce()),
      proof_(nonce_) {}

RemoteHost::~RemoteHost() { end(); }

void RemoteHost::end() {
  if (timer_set_) loop_.cancel(timer_);
  timer_set_ = false;
  channel_.reset();
  for (Descriptor* each : {&reading_, &errors_}) {
    if (each->is_open()) loop_.forget(each->get());
    each->close();
  }
  writing_.close();
  if (pid_ <= 0) return;
  ::kill(-pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

void RemoteHost::start() {
  const std::string& host = plan_.hosts[static_cast<std::size_t>(host_at(plan_, first_))];
  const auto limit = std::max(seconds(1), std::chrono::ceil<seconds>(plan_.silence));
  const std::vector<std::string> words = remote_command(plan_.shell, host, plan_.mpiexec, limit);
  const auto cannot = [this](const std::string& what, int error) {
    cause_ = what + ": " + std::strerror(error);
    closed_ = true;
    check_gone_after(milliseconds(0));
  };
  std::string path;
  if (const int error = find_executable(words[0], "", own_search_path(), &path); error != 0) {
    return cannot("cannot execute \"" + words[0] + "\"", error);
  }
  int input[2], output[2], errors[2];
  if (::pipe2(input, O_CLOEXEC) != 0) return cannot("cannot make pipes", errno);
  const Descriptor input_end(input[0]);
  writing_ = Descriptor(input[1]);
  if (::pipe2(output, O_CLOEXEC) != 0) return cannot("cannot make pipes", errno);
  const Descriptor output_end(output[1]);
  reading_ = Descriptor(output[0]);
  if (::pipe2(errors, O_CLOEXEC) != 0) return cannot("cannot make pipes", errno);
  const Descriptor errors_end(errors[1]);
  errors_ = Descriptor(errors[0]);

  const auto arguments = as_pointers(words);
  ChildPlan child;
  child.path = path.c_str();
  child.arguments = arguments.data();
  child.environment = environ;
  child.standard_input = input_end.get();
  child.standard_output = output_end.get();
  child.standard_error = errors_end.get();
  int error = 0;
  pid_ = start_process(child, &error);
  if (pid_ < 0) return cannot("cannot execute \"" + words[0] + "\"", error);

  const std::string handshake = handshake_line(nonce_);
  [[maybe_unused]] const ssize_t written =
      ::write(writing_.get(), handshake.data(), handshake.size());  // the pipe is empty
  ::fcntl(reading_.get(), F_SETFL, O_NONBLOCK);
  ::fcntl(errors_.get(), F_SETFL, O_NONBLOCK);
  loop_.watch(reading_.get(), EPOLLIN, [this] { read_proof(); });
  loop_.watch(errors_.get(), EPOLLIN, [this] { read_errors(); });
  timer_set_ = true;
  timer_ = loop_.after(plan_.silence + kLogin, [this] {
    timer_set_ = false;
    on_closed("no answer from its mpiexec within " +
              std::to_string(std::chrono::ceil<seconds>(plan_.silence + kLogin).count()) + " s");
  });
}

void RemoteHost::read_errors() {
  char chunk[4096];
  const ssize_t count = ::read(errors_.get(), chunk, sizeof chunk);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0) {
    loop_.forget(errors_.get());
    return errors_.close();
  }
  last_errors_.append(chunk, static_cast<std::size_t>(count));
  if (last_errors_.size() > kMostErrors) last_errors_.erase(0, last_errors_.size() - kMostErrors);
}

void RemoteHost::read_proof() {
  char chunk[4096];
  const ssize_t count = ::read(reading_.get(), chunk, sizeof chunk);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0) return on_closed("");
  std::string rest;
  if (proof_.add(std::string_view(chunk, static_cast<std::size_t>(count)), &rest)) return open_channel(rest);
  if (proof_.gave_up()) on_closed("what answers there is not our mpiexec");
}

void RemoteHost::open_channel(std::string_view received) {
  loop_.forget(reading_.get());
  loop_.cancel(timer_);
  timer_set_ = false;
  if (proof_.version() != HEADRACE_VERSION) {
    reading_.close();
    return on_closed("its mpiexec is from Headrace " + proof_.version() + ", but this one is " HEADRACE_VERSION);
  }
  Channel::Handlers handlers;
  handlers.message = [this](const Message& message) { on_message(message); };
  handlers.closed = [this](const std::string& cause) { on_closed(cause); };
  channel_ = std::make_unique<Channel>(loop_, std::move(reading_), std::move(writing_), plan_.silence,
                                       std::move(handlers), received);
  channel_->send({.kind = Message::Kind::kPlan, .host = first_, .numbers = {last_}, .text = encoded_plan_});
}

// True if a message from below names only ranks and hosts of the subtree.
bool RemoteHost::may_say(const Message& message) const {
  if (message.kind < Message::Kind::kValues) return false;
  const bool names_rank = message.rank >= 0;
  if (names_rank && message.rank >= plan_.ranks()) return false;
  if (names_rank && !holds(place_of(plan_, plan_.host_of[static_cast<std::size_t>(message.rank)]))) return false;
  return message.host < 0 ||
         (message.host < static_cast<int>(plan_.hosts.size()) && holds(place_of(plan_, message.host)));
}

void RemoteHost::on_message(const Message& message) {
  if (closed_) return;
  if (!may_say(message)) return on_closed("it sent data that is not a message of this version of mpiexec");
  if (message.kind == Message::Kind::kReady) ready_ = true;
  if (message.kind != Message::Kind::kDone) return up_(message);
  if (std::exchange(done_, true)) return;
  // Waits for the agent to end, so that nothing of it is left when mpiexec returns.
  timer_set_ = true;
  timer_ = loop_.after(kLastWords, [this] {
    timer_set_ = false;
    closed_ = true;
    check_gone();
  });
}

void RemoteHost::on_closed(const std::string& cause) {
  if (std::exchange(closed_, true)) return;
  cause_ = cause;
  if (reading_.is_open()) {
    loop_.forget(reading_.get());
    reading_.close();
  }
  // Shows a process at the other end that it is no longer needed. A silent one is told after the report.
  if (cause_.empty()) writing_.close();
  // Waits, unless a cause is known, for the last output of the command: it explains more than the end of a pipe.
  check_gone_after(cause_.empty() && pid_ > 0 ? kLastWords : milliseconds(0));
  reap();
}

void RemoteHost::reap() {
  int status = 0;
  if (pid_ <= 0 || ::waitpid(pid_, &status, WNOHANG) != pid_) return;
  pid_ = -1;
  status_ = status;
  while (errors_.is_open()) {
    const std::size_t before = last_errors_.size();
    read_errors();
    if (errors_.is_open() && last_errors_.size() == before) break;
  }
  // Messages left in the pipe are still handled; reading the pipe then shows its end.
  if (closed_ && timer_set_) check_gone_after(milliseconds(0));
}

std::string RemoteHost::cause() const {
  if (!cause_.empty()) return cause_;
  if (const std::string words = last_line_of(last_errors_); !words.empty()) return words;
  if (channel_ == nullptr && !proof_.last_line().empty()) return proof_.last_line();
  const std::string command = plan_.shell.words[0];
  if (status_ >= 0 && WIFSIGNALED(status_)) return command + " was killed by signal " + signal_text(WTERMSIG(status_));
  if (status_ >= 0 && WEXITSTATUS(status_) != 0)
    return command + " ended with code " + std::to_string(WEXITSTATUS(status_));
  return "its connection was closed";
}

void RemoteHost::check_gone() {
  if (leaving_) return leave();
  if (std::exchange(gone_, true)) return;
  if (done_ || finishing_) return leave();
  const bool was_open = channel_ != nullptr;
  leaving_ = true;
  up_({.kind = Message::Kind::kHostFailed,
       .host = host_at(plan_, first_),
       .numbers = {last_ - first_, was_open ? 1 : 0},
       .text = cause()});
  const bool is_there = pid_ > 0 && !cause_.empty() && !finishing_;
  check_gone_after(is_there ? kReportFirst : milliseconds(0));
}

void RemoteHost::check_gone_after(milliseconds time) {
  if (timer_set_) loop_.cancel(timer_);
  timer_set_ = true;
  timer_ = loop_.after(time, [this] {
    timer_set_ = false;
    check_gone();
  });
}

void RemoteHost::leave() {
  leaving_ = false;
  end();
  up_({.kind = Message::Kind::kDone});
}

void RemoteHost::send(const Message& message) {
  if (channel_ != nullptr && !closed_) channel_->send(message);
}

void RemoteHost::finish() {
  finishing_ = true;
  if (gone_) {
    if (leaving_) check_gone_after(milliseconds(0));  // the report has arrived
    return;
  }
  if (channel_ == nullptr || closed_) {
    closed_ = true;
    check_gone_after(milliseconds(0));
    return;
  }
  send({.kind = Message::Kind::kFinish});
}

void RemoteHost::expect_silence(bool expected) {
  if (channel_ != nullptr) channel_->expect_silence(expected);
}

void RemoteHost::flush(std::chrono::milliseconds limit) {
  if (channel_ != nullptr && !closed_) channel_->flush(limit);
}

}  // namespace hr::launcher
