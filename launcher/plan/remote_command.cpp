#include "plan/remote_command.hpp"

#include "words/values.hpp"

namespace hr::launcher {

RemoteShell remote_shell(std::string_view command, bool in_slurm) {
  using Kind = RemoteShell::Kind;
  if (command.empty() || command == "auto") command = in_slurm ? "srun" : "ssh";
  if (command == "rsh") command = "ssh";
  if (command == "slurm") command = "srun";
  std::vector<std::string> words = split(command, ' ');
  const std::string_view program = words.empty() ? std::string_view() : std::string_view(words[0]);
  const std::string_view name = program.substr(program.rfind('/') + 1);
  const Kind kind = name == "ssh" ? Kind::kSsh : name == "srun" ? Kind::kSrun : Kind::kOther;
  return {kind, std::move(words)};
}

std::string shell_quoted(std::string_view text) {
  std::string result = "'";
  for (const char letter : text) {
    // csh expands its history even in these quotes.
    if (letter == '\'' || letter == '!') {
      result += std::string("'\\") + letter + "'";
    } else {
      result += letter;
    }
  }
  return result + "'";
}

std::vector<std::string> remote_command(const RemoteShell& shell, const std::string& host, const std::string& mpiexec,
                                        std::chrono::seconds connect_limit) {
  std::vector<std::string> words = shell.words;
  const auto add = [&words](std::initializer_list<std::string> more) { words.insert(words.end(), more); };
  if (shell.kind == RemoteShell::Kind::kSrun) {
    add({"--overlap", "--nodes=1", "--ntasks=1", "--nodelist=" + host, "--mpi=none", "--cpu-bind=none", "--unbuffered",
         "--kill-on-bad-exit=0", "--quiet", mpiexec, "--agent"});
    return words;
  }
  if (shell.kind == RemoteShell::Kind::kSsh) {
    add({"-T", "-x", "-o", "BatchMode=yes", "-o", "LogLevel=ERROR", "-o", "ControlMaster=no", "-o",
         "ConnectTimeout=" + std::to_string(connect_limit.count())});
  }
  // The command works in sh and csh. If this installation is not at the same path on the other host, the mpiexec in
  // PATH will report its version.
  const std::string path = shell_quoted(mpiexec);
  add({host, "test -x " + path + " && exec " + path + " --agent || exec mpiexec --agent"});
  return words;
}

}  // namespace hr::launcher
