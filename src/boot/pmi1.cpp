// PMI-1: lines over a socket that this process inherits from the launcher (PMI_FD) or connects to (PMI_PORT).
// Headrace's and MPICH's mpiexec and Slurm's pmi2 plugin support it.
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

#include "base/await_readers.hpp"
#include "base/knobs.hpp"
#include "base/log.hpp"
#include "base/secret.hpp"
#include "boot/key_values.hpp"
#include "boot/late_line.hpp"
#include "boot/pmi1_wire.hpp"
#include "boot/process_mapping.hpp"
#include "boot/provider.hpp"

namespace hr::boot {
namespace {

// Prefix of a key-value space that Headrace's mpiexec has named: the name is unique already, and mpiexec removes the
// shared-memory files that carry it.
constexpr std::string_view kOwnSpace = "headrace_";
constexpr std::string_view kMapping = "PMI_process_mapping";
constexpr std::string_view kEnterBarrier = "cmd=barrier_in\n";
constexpr std::string_view kLeaveBarrier = "barrier_out";
// The queries that follow the first line. They are sent to our own launcher in one write.
constexpr std::string_view kGetMaxes = "cmd=get_maxes\n";
constexpr std::string_view kGetSpace = "cmd=get_my_kvsname\n";
constexpr std::string_view kGetProgram = "cmd=get_appnum\n";
constexpr std::string_view kGetUniverse = "cmd=get_universe_size\n";
constexpr int kHandshakeLimit = 30000;  // ms; a live launcher answers immediately
constexpr int kStackLimit = 20000;      // ms; normally at most 10 s

int number_of(const char* text) noexcept {
  int value = -1;
  if (text != nullptr) std::from_chars(text, text + std::strlen(text), value);
  return value;
}

// Returns the numbers in a string such as "1,3".
std::vector<int> numbers_in(std::string_view list) {
  std::vector<int> numbers;
  for (const char* at = list.data(); at != list.data() + list.size();) {
    int number = 0;
    const auto [end, error] = std::from_chars(at, list.data() + list.size(), number);
    if (error != std::errc()) break;
    numbers.push_back(number);
    at = end + (end != list.data() + list.size() ? 1 : 0);
  }
  return numbers;
}

bool is_socket(int descriptor) noexcept {
  int type = 0;
  socklen_t length = sizeof type;
  return descriptor >= 0 && ::getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &length) == 0;
}

// Returns the variable in which Headrace's mpiexec describes the connection, in addition to PMI_FD; nullptr if unset.
const char* own_variable() noexcept { return environment(LateLine::kVariable); }

// Returns the descriptor in PMI_FD if it is the launcher's socket; -1 if the parent process has closed it, or is known
// to have reused it for something else.
int inherited_socket() noexcept {
  const int descriptor = number_of(environment("PMI_FD"));
  LateLine line;
  if (const char* const text = own_variable(); text != nullptr && LateLine::read(text, &line)) {
    return descriptor >= 0 && inode_of(descriptor) == line.inode ? descriptor : -1;
  }
  return is_socket(descriptor) ? descriptor : -1;
}

// A separate connection for this process, if it inherited none. Requested only once, though both detect() and connect()
// need it.
struct LateSocket {
  Late outcome = Late::kNone;
  int socket = -1;
  std::string problem;
};
LateSocket& late_socket() {
  static LateSocket found = [] {
    LateSocket late;
    LateLine line;
    const char* const text = own_variable();
    if (text != nullptr && LateLine::read(text, &line)) {
      late.outcome = join_late(line, number_of(environment("PMI_RANK")), &late.socket);
      if (late.outcome == Late::kFailed) late.problem = take_detail();
    } else if (number_of(environment("PMI_FD")) >= 0 && number_of(environment("PMI_SIZE")) > 1 &&
               number_of(environment("PMI_RANK")) == 0) {
      log::write(log::Level::kError,
                 "PMI_FD is %s, which is not an open socket: the parent has closed the connection to the launcher, and "
                 "this process is a job of its own (PMI_SIZE is %s)",
                 environment("PMI_FD"), environment("PMI_SIZE"));
    }
    return late;
  }();
  return found;
}

Status connect_to(const std::string& address, int* descriptor) {
  const auto colon = address.rfind(':');
  if (colon == std::string::npos) return fail(Errc::kOther, "boot: PMI_PORT=\"%s\" is not host:port", address.c_str());
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(address.substr(0, colon).c_str(), address.substr(colon + 1).c_str(), &hints, &found);
  if (error != 0) return fail(Errc::kOther, "boot: PMI_PORT=\"%s\": %s", address.c_str(), ::gai_strerror(error));
  int reason = 0;
  *descriptor = -1;
  for (const addrinfo* each = found; each != nullptr && *descriptor < 0; each = each->ai_next) {
    const int attempt = ::socket(each->ai_family, each->ai_socktype | SOCK_CLOEXEC, each->ai_protocol);
    if (attempt >= 0 && ::connect(attempt, each->ai_addr, each->ai_addrlen) == 0) {
      *descriptor = attempt;
    } else {
      reason = errno;
      if (attempt >= 0) ::close(attempt);
    }
  }
  ::freeaddrinfo(found);
  if (*descriptor >= 0) return kOk;
  return fail(Errc::kOther, "boot: PMI_PORT=\"%s\": cannot connect: %s", address.c_str(), std::strerror(reason));
}

// Key of the string that the parent passes to a spawned job.
constexpr const char* kParent = "headrace-parent";
// Prefix of the message which says that a spawned job has ended.
constexpr std::string_view kEnded = "cmd=spawn_ended job=";
// Prefix of the answer to a spawn. It may arrive between another thread's request and the answer to that.
constexpr std::string_view kSpawnAnswer = "cmd=spawn_result ";

// Adds a line of mcmd=spawn, which launchers other than ours expect unescaped.
Status add_line(bool escaped, const std::string& name, std::string_view value, std::string* lines) {
  if (!escaped && value.find('\n') != std::string_view::npos) {
    return fail(Errc::kSpawn, "this launcher does not accept line breaks in \"%.*s\"", static_cast<int>(value.size()),
                value.data());
  }
  lines->append(name).append("=").append(escaped ? escape(value) : std::string(value)).append("\n");
  return kOk;
}

class Pmi1 final : public Helper {
 public:
  Pmi1() = default;
  explicit Pmi1(int socket) : socket_(socket) {}
  ~Pmi1() override {
    if (socket_ >= 0) ::close(socket_);
  }

  Status connect(Identity* identity, std::vector<int>* hosts) override {
    HR_TRY(open_socket(identity));
    HR_TRY(begin_handshake());
    // Sent only by Headrace's launcher.
    identity->processes_here = reply().number("machine_ranks", 0);
    compares_views_ = reply().number("views", 0) == 1;
    identity->one_host = reply().number("one_host", 0) == 1;
    identity->keeps_files = reply().number("keeps_files", 0) == 1;
    identity->failure_board = reply().number("failure_board", -1);
    identity->failure_board_job = file_safe(reply().field("first_space"));
    const bool at_once = identity->keeps_files;
    if (at_once) HR_TRY(send(std::string(kGetMaxes).append(kGetSpace).append(kGetProgram).append(kGetUniverse)));
    const auto answered = [&](std::string_view question, std::string_view answer) {
      return at_once ? receive_answer(question, answer) : call(question, answer);
    };
    HR_TRY(answered(kGetMaxes, "maxes"));
    longest_value_ = static_cast<std::size_t>(reply().number("vallen_max", 1024));
    HR_TRY(answered(kGetSpace, "my_kvsname"));
    space_ = reply().field("kvsname");
    HR_TRY(answered(kGetProgram, "appnum"));
    identity->appnum = std::max(reply().number("appnum", 0), 0);  // Slurm replies -1
    HR_TRY(answered(kGetUniverse, "universe_size"));
    identity->universe_size = reply().number("size", -1);
    identity->has_launcher = true;
    identity->job_id = file_safe(space_);
    if (identity->failure_board_job.empty()) identity->failure_board_job = identity->job_id;
    own_launcher_ = space_.starts_with(kOwnSpace);
    if (identity->processes_here != 0) HR_TRY(read_mapping(identity->size, hosts));
    return kOk;
  }

  [[nodiscard]] bool names_jobs() const noexcept override { return own_launcher_; }

  // Headrace's launcher delays the answer until all processes have sent their views.
  [[nodiscard]] bool compares_views() const noexcept override { return compares_views_; }
  Status compare_views(std::string_view view, std::string* hosts) override {
    return ask(kMapping, " seen=" + std::string(view), hosts);
  }

  Status put(std::string_view key, std::string_view value) override {
    if (value.size() >= longest_value_) {
      return fail(Errc::kOther, "boot: the value of \"%.*s\" has %zu characters, the launcher takes up to %zu",
                  static_cast<int>(key.size()), key.data(), value.size(), longest_value_ - 1);
    }
    std::string line = "cmd=put kvsname=" + space_ + " key=";
    line.append(key).append(generation_).append(" value=").append(value).append("\n");
    return call(line, "put_result");
  }

  Status get(int /*owner*/, std::string_view key, std::string* value) override {
    return ask(std::string(key) + generation_, "", value);
  }

  // Headrace's launcher omits values that would make its answer too long; an older launcher does not know the request.
  Status get_numbered(std::string_view key, int first, int count, std::vector<std::string>* values) override {
    values->assign(static_cast<std::size_t>(count), "");
    if (!own_launcher_) return kOk;
    std::string line = "cmd=get_numbered kvsname=" + space_ + " key=";
    line.append(key).append(generation_).append(" first=").append(std::to_string(first));
    line.append(" count=").append(std::to_string(count)).append("\n");
    HR_TRY(send(line));
    HR_TRY(receive_line());
    if (reply().number("rc", -1) != 0) return kOk;
    std::string_view rest = reply().field("values");
    for (std::string& each : *values) {
      const auto end = std::min(rest.find(kBetweenValues), rest.size());
      each = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return kOk;
  }

  // Headrace's launcher delays the answer until a process has put the key.
  [[nodiscard]] bool can_wait() const noexcept override { return own_launcher_; }
  Status get_waiting(std::string_view key, std::string* value) override {
    return ask(std::string(key) + generation_, " wait=1", value);
  }

  Status fence() override { return call(kEnterBarrier, kLeaveBarrier); }
  Status begin_fence() override {
    HR_TRY(send(kEnterBarrier));
    fencing_ = true;
    return kOk;
  }
  Status fence_done(bool* done) override {
    *done = is_answered();
    if (!*done) return kOk;
    fencing_ = false;
    return receive_answer(kEnterBarrier, kLeaveBarrier);
  }

  // The launcher answers once the processes are running.
  Status begin_spawn(std::span<const SpawnedProgram> programs, std::string_view parent) override {
    std::string lines;
    for (std::size_t at = 0; at < programs.size(); ++at) {
      HR_TRY(add_program(programs[at], programs.size(), at, parent, &lines));
    }
    HR_TRY(send(lines));
    ++spawns_;
    spawn_pending_ = true;
    return kOk;
  }
  [[nodiscard]] bool spawn_pending() const override { return spawn_pending_; }
  Status spawn_done(bool* done, SpawnedJob* job) override {
    take_unsolicited();
    // Another launcher may answer with a line of another name.
    if (spawn_answer_.empty() && !fencing_ && is_answered()) {
      const Status received = receive_line();
      spawn_pending_ = received.ok();
      HR_TRY(received);
      spawn_answer_ = line_;
    }
    *done = !spawn_answer_.empty();
    if (!*done) return kOk;
    spawn_pending_ = false;
    const std::string line = std::exchange(spawn_answer_, "");
    const WireMessage answer(line);
    if (answer.command() == "spawn_result" && answer.number("rc", -1) == 0) {
      job->id = answer.field("job");
      return kOk;
    }
    std::string why;
    job->refused = numbers_in(answer.field("failed"));
    if (!own_launcher_ || !unescape(answer.field("msg"), &why) || why.empty()) why = without_secrets(line);
    return fail(Errc::kSpawn, "the launcher could not start the processes: %s", why.c_str());
  }
  void end_spawn(const SpawnedJob& job) override {
    std::erase_if(ended_, [&](const Ended& each) { return each.job == job.id; });
    if (--spawns_ == 0) ended_.clear();
  }

  Status spawned_status(const SpawnedJob& job) override {
    take_unsolicited();
    const Ended* const ended = end_of(job);
    if (ended == nullptr) return kOk;
    if (!ended->why.empty()) return fail(Errc::kSpawn, "the processes have ended: %s", ended->why.c_str());
    return fail(Errc::kSpawn,
                "the processes have ended without MPI_Init: they may not be MPI programs, or use only sessions");
  }

  std::vector<int> spawned_failures(const SpawnedJob& job, bool* known) override {
    take_unsolicited();
    const Ended* const ended = end_of(job);
    *known = !own_launcher_ || job.id.empty() || ended != nullptr;
    return ended != nullptr ? ended->failed : job.refused;
  }

  Status parent_port(std::string* port) override {
    used_world_ = true;  // only MPI_Init asks for it
    port->clear();
    const char* const spawned = environment("PMI_SPAWNED");
    if (spawned == nullptr || std::strcmp(spawned, "1") != 0) return kOk;
    if (!ask(kParent, "", port).ok()) {
      static_cast<void>(take_detail());  // spawned by another library
      port->clear();
    }
    return kOk;
  }

  Status publish(std::string_view service, std::string_view port) override {
    HR_TRY(send("cmd=publish_name service=" + escape(service) + " port=" + escape(port) + "\n"));
    return named("publish_result", Errc::kService, service,
                 "cannot be published: it is published already, or the launcher keeps no names");
  }
  Status unpublish(std::string_view service) override {
    HR_TRY(send("cmd=unpublish_name service=" + escape(service) + "\n"));
    return named("unpublish_result", Errc::kService, service,
                 "cannot be unpublished: no job of this launcher has published it");
  }
  Status look_up(std::string_view service, std::string* port) override {
    HR_TRY(send("cmd=lookup_name service=" + escape(service) + "\n"));
    constexpr const char* kUnknown =
        "is published by no job of this launcher: names are known to the jobs of one mpiexec";
    HR_TRY(named("lookup_result", Errc::kName, service, kUnknown));
    const std::string_view found = reply().field("port");
    if (!unescape(found, port)) *port = found;  // published by another library
    if (!port->empty()) return kOk;
    // Slurm returns an empty port if it does not know the name.
    return fail(Errc::kName, "the service name \"%.*s\" %s", static_cast<int>(service.size()), service.data(),
                kUnknown);
  }

  Status connect_to_helper() override {
    own_launcher_ = true;
    return call("cmd=init pmi_version=1 pmi_subversion=1\n", "response_to_init");
  }

  Status finalize() override {
    HR_TRY(call(own_launcher_ && !used_world_ ? "cmd=finalize sessions=1\n" : "cmd=finalize\n", "finalize_ack"));
    if (can_resume()) return kOk;
    ::close(socket_);
    socket_ = -1;
    return kOk;
  }

  [[nodiscard]] bool can_resume() const noexcept override { return own_launcher_; }
  Status resume() override {
    HR_TRY(
        call("cmd=init pmi_version=1 pmi_subversion=1 pid=" + std::to_string(::getpid()) + "\n", "response_to_init"));
    generation_ = ".again" + std::to_string(++resumed_);
    return kOk;
  }

  void abort(int exit_code) noexcept override {
    if (socket_ < 0) return;
    // For 0, Headrace's launcher reports the exit code that the program passed, and exits with 1; other launchers would
    // end the job successfully.
    if (exit_code == 0 && !own_launcher_) exit_code = 1;
    // Hydra's proxy ends its ranks without reading the rest of their output.
    if (!own_launcher_) await_readers(kOutputSeconds);
    const Status ignored = send("cmd=abort exitcode=" + std::to_string(exit_code) + "\n");
    static_cast<void>(ignored);  // this process exits even if the launcher has ended
  }

  // The launcher sends no answer to this line.
  void keep_file(int file) noexcept override {
    const std::string line = "cmd=keep_file pid=" + std::to_string(::getpid()) + " file=" + std::to_string(file) + "\n";
    static_cast<void>(::send(socket_, line.data(), line.size(), MSG_NOSIGNAL));
  }

  bool show_stack(int signal) noexcept override {
    if (socket_ < 0 || !own_launcher_) return false;
    char text[64] = "cmd=crashed signal=";
    std::size_t length = std::strlen(text);
    length = static_cast<std::size_t>(std::to_chars(text + length, text + sizeof text - 1, signal).ptr - text);
    text[length++] = '\n';
    if (::send(socket_, text, length, MSG_NOSIGNAL | MSG_DONTWAIT) != static_cast<ssize_t>(length)) return false;
    // The answer to an earlier request of this process may arrive first.
    constexpr std::string_view kAnswer = "cmd=crashed_result rc=";
    char received[1024];
    std::size_t filled = 0;
    for (;;) {
      pollfd state{socket_, POLLIN, 0};
      if (::poll(&state, 1, kStackLimit) != 1) return false;
      const ssize_t count = ::recv(socket_, received + filled, sizeof received - filled, MSG_DONTWAIT);
      if (count <= 0) return false;
      filled += static_cast<std::size_t>(count);
      const std::string_view answers(received, filled);
      const auto answer = answers.find(kAnswer);
      if (answer != std::string_view::npos && answers.find('\n', answer) != std::string_view::npos) {
        return answers.substr(answer + kAnswer.size()).starts_with('0');
      }
      if (filled == sizeof received) return false;
    }
  }

 private:
  struct Ended {  // a spawned job
    std::string job;
    std::vector<int> failed;  // ranks
    std::string why;
  };

  // True if a line, or the end of the connection, can be read.
  [[nodiscard]] bool is_answered() {
    pollfd state{socket_, POLLIN, 0};
    if (take_unsolicited(); received_.find('\n') != std::string::npos) return true;
    char next = 0;
    return ::poll(&state, 1, 0) == 1 && ::recv(socket_, &next, 1, MSG_PEEK | MSG_DONTWAIT) <= 0;
  }

  // Removes from the received text, and handles, messages that may arrive while the answer to another request is
  // expected.
  void take_unsolicited() {
    char chunk[4096];
    ssize_t count = 0;
    while ((count = ::recv(socket_, chunk, sizeof chunk, MSG_DONTWAIT)) > 0) {
      received_.append(chunk, static_cast<std::size_t>(count));
    }
    for (std::size_t at = 0, end = 0; (end = received_.find('\n', at)) != std::string::npos;) {
      if (take_apart(std::string_view(received_).substr(at, end - at))) {
        received_.erase(at, end + 1 - at);
      } else {
        at = end + 1;
      }
    }
  }

  // Returns true if the line does not answer the request of this call.
  bool take_apart(std::string_view line) {
    const bool ends = line.starts_with(kEnded), answers = spawn_pending_ && line.starts_with(kSpawnAnswer);
    if (ends) take_ended(line);
    if (answers) spawn_answer_ = line;
    return ends || answers;
  }

  void take_ended(std::string_view line) {
    if (spawns_ == 0) return;
    const WireMessage message(line);
    Ended ended{std::string(message.field("job")), numbers_in(message.field("failed")), ""};
    static_cast<void>(unescape(message.field("msg"), &ended.why));
    ended_.push_back(std::move(ended));
  }

  // Returns null if the job has not ended, as far as this process knows.
  [[nodiscard]] const Ended* end_of(const SpawnedJob& job) const {
    const auto found = std::ranges::find(ended_, job.id, &Ended::job);
    return !job.id.empty() && found != ended_.end() ? &*found : nullptr;
  }

  // Receives the answer to a request about a service name.
  Status named(std::string_view answer, Errc otherwise, std::string_view service, const char* why) {
    HR_TRY(receive_line());
    if (reply().command() == answer && reply().number("rc", 0) == 0) return kOk;
    return fail(otherwise, "the service name \"%.*s\" %s", static_cast<int>(service.size()), service.data(), why);
  }

  Status add_program(const SpawnedProgram& program, std::size_t programs, std::size_t at, std::string_view parent,
                     std::string* lines) const {
    const auto add = [&](const std::string& name, std::string_view value) {
      return add_line(own_launcher_, name, value, lines);
    };
    *lines += "mcmd=spawn\n";
    if (own_launcher_) *lines += "escaped=1\n";
    HR_TRY(add("nprocs", std::to_string(program.processes)));
    HR_TRY(add("execname", program.command));
    HR_TRY(add("totspawns", std::to_string(programs)));
    HR_TRY(add("spawnssofar", std::to_string(at + 1)));
    int count = 0;
    for (const std::string& argument : program.arguments) HR_TRY(add("arg" + std::to_string(++count), argument));
    HR_TRY(add("argcnt", std::to_string(count)));
    HR_TRY(add("preput_num", "1"));
    HR_TRY(add("preput_key_0", kParent));
    HR_TRY(add("preput_val_0", parent));
    HR_TRY(add("info_num", std::to_string(program.info.size())));
    count = 0;
    for (const auto& [key, value] : program.info) {
      HR_TRY(add("info_key_" + std::to_string(count), key));
      HR_TRY(add("info_val_" + std::to_string(count), value));
      ++count;
    }
    *lines += "endcmd\n";
    return kOk;
  }

  Status ask(std::string_view key, std::string_view how, std::string* value) {
    std::string line = "cmd=get kvsname=" + space_ + " key=";
    line.append(key).append(how).append("\n");
    HR_TRY(call(line, "get_result"));
    *value = reply().field("value");
    return kOk;
  }

  // Verifies that a launcher answers, as the descriptor in PMI_FD may be any socket.
  Status begin_handshake() {
    const bool own = own_variable() != nullptr;
    HR_TRY(send("cmd=init pmi_version=1 pmi_subversion=1" + (own ? " pid=" + std::to_string(::getpid()) : "") + "\n"));
    pollfd state{socket_, POLLIN, 0};
    if (received_.empty() && ::poll(&state, 1, kHandshakeLimit) == 0) {
      return fail(Errc::kOther,
                  "boot: nobody answers at the launcher's socket within %d s: the descriptor of PMI_FD, %s, may be "
                  "another socket by now, if the parent of this program has closed it",
                  kHandshakeLimit / 1000, environment("PMI_FD") != nullptr ? environment("PMI_FD") : "none");
    }
    HR_TRY(receive_line());
    if (reply().command() == "response_to_init" && reply().number("rc", 0) == 0) return kOk;
    if (const int busy = reply().number("busy", -1); busy >= 0) {
      return fail(Errc::kOther,
                  "boot: another program of this rank (pid %d) has called MPI_Init but not MPI_Finalize; the programs "
                  "of one rank run one after another",
                  busy);
    }
    return fail(Errc::kOther, "boot: the launcher (PMI-1) answered \"%s\" to the first line", line_.c_str());
  }

  Status open_socket(Identity* identity) {
    socket_ = inherited_socket();
    if (socket_ < 0 && environment("PMI_PORT") == nullptr) {
      const LateSocket& late = late_socket();
      if (late.outcome != Late::kJoined) return fail(Errc::kOther, "%s", late.problem.c_str());
      socket_ = late.socket;
    }
    if (socket_ >= 0) {
      // Programs that this process starts must not keep the connection to the launcher open.
      ::fcntl(socket_, F_SETFD, FD_CLOEXEC);
      identity->rank = number_of(environment("PMI_RANK"));
      identity->size = number_of(environment("PMI_SIZE"));
    } else {
      HR_TRY(connect_to(environment("PMI_PORT"), &socket_));
      const char* id = environment("PMI_ID");
      HR_TRY(call(std::string("cmd=initack pmiid=") + (id != nullptr ? id : "0") + "\n", "initack"));
      HR_TRY(receive_line());
      identity->size = reply().number("size", -1);
      HR_TRY(receive_line());
      identity->rank = reply().number("rank", -1);
      HR_TRY(receive_line());  // debug
    }
    if (identity->size < 1 || identity->rank < 0 || identity->rank >= identity->size) {
      return fail(Errc::kOther, "boot: the launcher (PMI-1) says rank %d of %d; check PMI_RANK and PMI_SIZE",
                  identity->rank, identity->size);
    }
    return kOk;
  }

  Status read_mapping(int size, std::vector<int>* hosts) {
    std::string text;
    HR_TRY(ask(kMapping, "", &text));
    auto mapping = parse_process_mapping(text, size);
    if (!mapping) return fail(Errc::kOther, "boot: the launcher (PMI-1) says \"%s\" of hosts", text.c_str());
    *hosts = std::move(*mapping);
    return kOk;
  }

  WireMessage reply() const noexcept { return WireMessage(line_); }

  // Sends a line and waits for the answer with that name.
  Status call(std::string_view line, std::string_view answer) {
    HR_TRY(send(line));
    return receive_answer(line, answer);
  }

  Status receive_answer(std::string_view line, std::string_view answer) {
    HR_TRY(receive_line());
    if (reply().command() == answer && reply().number("rc", 0) == 0) return kOk;
    const std::string_view asked = line.substr(0, line.size() - 1);
    return fail(Errc::kOther, "boot: the launcher (PMI-1) answered \"%s\" to \"%s\"", without_secrets(line_).c_str(),
                without_secrets(asked).c_str());
  }

  Status send(std::string_view text) {
    while (!text.empty()) {
      const ssize_t sent = ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0) return fail(Errc::kOther, "boot: writing to the launcher (PMI-1): %s", std::strerror(errno));
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
    return kOk;
  }

  Status receive_line() {
    for (;;) {
      if (const auto end = received_.find('\n'); end != std::string::npos) {
        line_ = received_.substr(0, end);
        received_.erase(0, end + 1);
        if (!take_apart(line_)) return kOk;
        continue;
      }
      char chunk[4096];
      const ssize_t count = ::read(socket_, chunk, sizeof chunk);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return fail(Errc::kOther, "boot: reading from the launcher (PMI-1): %s", std::strerror(errno));
      if (count == 0) return fail(Errc::kOther, "boot: the launcher (PMI-1) closed the connection");
      received_.append(chunk, static_cast<std::size_t>(count));
    }
  }

  int socket_ = -1;
  bool own_launcher_ = false;
  bool compares_views_ = false;
  bool used_world_ = false;
  std::size_t longest_value_ = 1024;
  std::string space_;
  std::string generation_;  // suffix of the keys
  int resumed_ = 0;
  bool fencing_ = false;        // between begin_fence() and the answer
  bool spawn_pending_ = false;  // between begin_spawn() and the answer
  std::string spawn_answer_;    // the answer, until spawn_done() returns it
  int spawns_ = 0;              // calls of begin_spawn() without their end_spawn()
  // Jobs that have ended since there are such calls. The message about a job may arrive before the answer that names
  // the job, and messages about several jobs in any order.
  std::vector<Ended> ended_;
  std::string line_;      // last line received
  std::string received_;  // text received after that line
};

bool detect() noexcept {
  if (environment("PMI_PORT") != nullptr) return true;
  return environment("PMI_RANK") != nullptr && (inherited_socket() >= 0 || late_socket().outcome != Late::kNone);
}

}  // namespace

std::unique_ptr<Helper> pmi1_over(int socket) { return std::make_unique<Pmi1>(socket); }

extern const ProviderRecord kPmi1Provider;
const ProviderRecord kPmi1Provider = {"PMI-1", detect,
                                      []() -> std::unique_ptr<Provider> { return std::make_unique<Pmi1>(); }};

}  // namespace hr::boot
