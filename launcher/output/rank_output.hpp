// RankOutput: one stream of one rank in mpiexec, for ranks on any host: it adds labels, and writes to the file of
// --output-filename and to a sink.
//
// Owner: Job. One thread.
#pragma once

#include <string>

#include "output/output.hpp"
#include "output/output_file.hpp"

namespace hr::launcher {

class RankOutput final : public OutputTarget {
 public:
  // `label`: put before each line; may be empty. The text is also written to the file, without labels, and to the sink
  // if `to_sink` is set.
  RankOutput(Sink& sink, std::string label, OutputFile file, bool to_sink)
      : sink_(sink), label_(std::move(label)), file_(std::move(file)), to_sink_(to_sink) {}

  void take(std::string_view text) override;
  // Takes text that arrives in parts; writes the whole text once the last part has arrived.
  void take_part(std::string_view text, bool goes_on);
  // Called at the end: writes parts whose last one has not arrived. Returns true if text was lost on its way to the
  // file.
  bool finish();
  [[nodiscard]] bool full() const override { return to_sink_ && sink_.full(); }
  [[nodiscard]] bool broken() const override { return to_sink_ && sink_.broken(); }
  [[nodiscard]] bool wants_prompts() const override { return to_sink_ && sink_.is_terminal(); }
  void when_room(std::function<void()> resume) override { sink_.when_room(std::move(resume)); }

 private:
  Sink& sink_;
  std::string label_;
  OutputFile file_;
  bool to_sink_;
  std::string parts_;
};

}  // namespace hr::launcher
