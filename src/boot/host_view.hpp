// HostView: which processes of a job share memory, found by doing: those that find the same token in the directory of
// the shared-memory files.
//
// Names and boot ids do not tell: containers may share both and no memory, or have their own and share it. The first
// process to come makes a symbolic link there whose target is a random number (which is atomic, and works where the
// file system is full); the others read it, if it is this user's: launchers of others name jobs so that anybody could
// have made the link before. Beside the token a view says which process and user namespaces this process is in:
// processes of one host that differ in these cannot reach each other's memory and descriptors by process id.
//
// Internal to boot/, and for mpiexec, which compares views. Threads: none of its own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hr::boot {

class HostView {
 public:
  // Nothing seen: text() is empty.
  HostView() = default;
  // `job`: a name that the job's processes have in common, and other jobs on the machine have not. `otherwise`: the
  // token where no link can be made, so that the cause is told by who needs a file there.
  HostView(const std::string& directory, std::string_view job, std::string_view otherwise);

  // Equal exactly for processes that see each other's files and processes; with view_token(), their files.
  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  // Whether this process made the link.
  [[nodiscard]] bool made() const noexcept { return made_; }
  // The link's name where it is another user's, and was not looked at; else empty.
  [[nodiscard]] const std::string& refused() const noexcept { return refused_; }
  // Takes the link away, once all processes have looked. Idempotent, for any of them.
  void forget() noexcept;

 private:
  std::string link_;  // empty: none
  std::string refused_;
  bool made_ = false;
  std::string text_;
};

// Where a job's processes are.
struct Hosts {
  std::vector<int> of_rank;  // a number for each; equal: they share memory
  std::vector<int> mixed;    // hosts whose processes do not all see each other
};

// From everybody's views. Hosts are numbered in the order of their first ranks.
[[nodiscard]] Hosts compare_views(const std::vector<std::string>& view_of_rank);

// As a text without blanks, and back; false for what is not of that form.
[[nodiscard]] std::string format_hosts(const Hosts& hosts);
[[nodiscard]] bool parse_hosts(std::string_view text, int ranks, Hosts* hosts);

}  // namespace hr::boot
