// Output: from the ranks' pipes to mpiexec's own standard output and error, whole lines at a time.
//
// A Forwarder reads one pipe of one rank. An OutputTarget is the destination of its text: in mpiexec a RankOutput
// (rank_output.hpp), in an agent an object that sends messages to mpiexec. A Sink is one of mpiexec's outputs. One
// thread.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>

#include "system/descriptor.hpp"
#include "system/event_loop.hpp"

namespace hr::launcher {

// One of mpiexec's outputs. Never blocks the loop on a slow reader (a pager, a full pipe): output that does not fit is
// queued, and forwarders pause.
class Sink {
 public:
  Sink(EventLoop& loop, int descriptor);
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;

  // Appends text of `source` (any address that identifies it). A line that another source left incomplete is ended
  // first.
  void write(const void* source, std::string_view text);
  // True if the last text from this source did not end its line, and no other source has written since.
  [[nodiscard]] bool is_mid_line(const void* source) const noexcept { return open_line_of_ == source; }
  [[nodiscard]] bool full() const noexcept;
  // True if the reader has ended.
  [[nodiscard]] bool broken() const noexcept { return broken_; }
  // Sets a function that is called once, from the loop, when output is lost although there is a reader (a full disk, a
  // quota).
  void when_lost(std::function<void()> tell) { tell_lost_ = std::move(tell); }
  // Returns errno for the first output that was lost; 0 if none was.
  [[nodiscard]] int lost() const noexcept { return lost_; }
  [[nodiscard]] bool is_terminal() const noexcept { return terminal_; }
  // Calls `resume` once, when a full sink has space again or is broken.
  void when_room(std::function<void()> resume) { waiting_.push_back(std::move(resume)); }
  // Blocks until everything is written or the reader has ended. Called at the end, when no forwarder is waiting for
  // space.
  void flush();

 private:
  void drain();
  void wait_for_room();
  void wake();
  void lose(int error);

  EventLoop& loop_;
  int descriptor_;
  bool regular_ = false;
  bool terminal_ = false;
  bool broken_ = false;
  bool watched_ = false;
  int lost_ = 0;
  std::function<void()> tell_lost_;
  std::string queue_;
  std::size_t written_ = 0;  // bytes of queue_ that are already written
  const void* open_line_of_ = nullptr;
  std::list<std::function<void()>> waiting_;
};

// Destination of the text of one stream of one rank.
class OutputTarget {
 public:
  virtual ~OutputTarget() = default;
  // Takes whole lines, the beginning of a line that was not continued, or a piece of a line too long to be held.
  virtual void take(std::string_view text) = 0;
  [[nodiscard]] virtual bool full() const = 0;
  // True if the text no longer has a reader.
  [[nodiscard]] virtual bool broken() const = 0;
  // True if a person is reading the text, and should see an unfinished line (a prompt) after a moment.
  [[nodiscard]] virtual bool wants_prompts() const = 0;
  // Calls `resume` once, when a full target has space again or is broken.
  virtual void when_room(std::function<void()> resume) = 0;
};

class Forwarder {
 public:
  Forwarder(EventLoop& loop, Descriptor pipe, OutputTarget& target);
  ~Forwarder();
  Forwarder(const Forwarder&) = delete;
  Forwarder& operator=(const Forwarder&) = delete;

  [[nodiscard]] bool done() const noexcept { return !pipe_.is_open(); }
  // Reads the text that is available now, up to a limit.
  void catch_up();
  // Reads all text that is available now, and closes the pipe.
  void finish();

 private:
  void resume();
  void pause();
  bool read_some();  // true if it has read something
  void take(std::string_view text);
  bool hold_rest();
  void emit_rest();
  void close();

  EventLoop& loop_;
  Descriptor pipe_;
  OutputTarget& target_;
  std::string rest_;      // the beginning of a line
  std::size_t held_ = 0;  // bytes reserved in the memory that all forwarders share, if the line is long
  std::shared_ptr<const bool> here_ = std::make_shared<bool>();  // expires with this object, which a wait may outlive
  bool watched_ = false;
  bool timer_set_ = false;
  EventLoop::TimerId timer_;
};

}  // namespace hr::launcher
