// HostView: determines by experiment which processes of a job share memory: those that read the same token in the
// directory of the shared-memory files.
//
// Host names and boot ids do not show this: containers may have both in common without sharing memory, or share memory
// and have neither in common. The first process creates a symbolic link in the directory. Its target is a random
// number. (This is atomic, and works even if the file system is full.) The others read the link, but only if it belongs
// to this user: other launchers name jobs so predictably that another user could have created the link first. Besides
// the token, a view names the pid and user namespaces of this process: processes on one host that differ in these
// cannot access each other's memory and descriptors by process id.
//
// Internal to boot/ and mpiexec, which compares views. Threads: one at a time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hr::boot {

class HostView {
 public:
  // Creates an empty view, whose text() is empty.
  HostView() = default;
  // `job`: a name that all processes of this job use, and no other job on the machine. `otherwise`: the token if no
  // link can be created or read. If none can be created, code that needs a file in the directory reports the cause.
  HostView(const std::string& directory, std::string_view job, std::string_view otherwise);

  // Two processes have equal texts if and only if they see each other's files and processes, and equal tokens in the
  // texts if and only if they see each other's files.
  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  // True if this process created the link.
  [[nodiscard]] bool made() const noexcept { return made_; }
  // Returns the link's name if it was not read because it belongs to another user; else empty.
  [[nodiscard]] const std::string& refused() const noexcept { return refused_; }
  // Removes the link. Called once all processes have read it. Idempotent; any process may call it.
  void forget() noexcept;

 private:
  std::string link_;  // empty: none
  std::string refused_;
  bool made_ = false;
  std::string text_;
};

// Placement of a job's processes on hosts.
struct Hosts {
  std::vector<int> of_rank;  // host number of each rank; ranks with equal numbers share memory
  std::vector<int> mixed;    // hosts whose processes do not all see each other
};

// Compares the views of all processes. Hosts are numbered in the order of their first ranks.
[[nodiscard]] Hosts compare_views(const std::vector<std::string>& view_of_rank);

// Convert hosts to a string without blanks, and back; false if the string does not have that form.
[[nodiscard]] std::string format_hosts(const Hosts& hosts);
[[nodiscard]] bool parse_hosts(std::string_view text, int ranks, Hosts* hosts);

}  // namespace hr::boot
