// HostView: tells which processes of a job share memory, by experiment: those that find the same token in the directory
// of the shared-memory files.
//
// Host names and boot ids do not show it: containers may have both in common and share no memory, or neither and share
// memory.
// The first process to come makes a symbolic link there whose target is a random number (which is atomic, and works
// even if the file system is full); the others read it, if it is this user's: other launchers name jobs so predictably
// that another user could have made the link before. Beside the token a view names the pid and user namespaces of this
// process: processes of one host that differ in these cannot reach each other's memory and descriptors by process id.
//
// Internal to boot/, and for mpiexec, which compares views. Threads: no threads of its own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hr::boot {

class HostView {
 public:
  // An empty view: text() is empty.
  HostView() = default;
  // `job`: a name common to the job's processes and to no other job on the machine. `otherwise`: the token if no link
  // can be made, so that the code that needs a file there reports the cause.
  HostView(const std::string& directory, std::string_view job, std::string_view otherwise);

  // Two processes have equal texts exactly if they see each other's files and processes, and equal tokens in them
  // exactly if they see each other's files.
  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  // True if this process made the link.
  [[nodiscard]] bool made() const noexcept { return made_; }
  // The link's name if it belongs to another user, and was not looked at; else empty.
  [[nodiscard]] const std::string& refused() const noexcept { return refused_; }
  // Removes the link, once all processes have looked. Idempotent; any of them may call it.
  void forget() noexcept;

 private:
  std::string link_;  // empty: none
  std::string refused_;
  bool made_ = false;
  std::string text_;
};

// Placement of a job's processes on hosts.
struct Hosts {
  std::vector<int> of_rank;  // a number for each; equal: they share memory
  std::vector<int> mixed;    // hosts whose processes do not all see each other
};

// Compares the views of all processes. Hosts are numbered in the order of their first ranks.
[[nodiscard]] Hosts compare_views(const std::vector<std::string>& view_of_rank);

// Convert to a text without blanks, and back; false for text that is not of that form.
[[nodiscard]] std::string format_hosts(const Hosts& hosts);
[[nodiscard]] bool parse_hosts(std::string_view text, int ranks, Hosts* hosts);

}  // namespace hr::boot
