#include "rank_output.hpp"

namespace hr::launcher {

void RankOutput::take(std::string_view text) {
  file_.write(text);
  if (!to_sink_) return;
  if (label_.empty()) return sink_.write(this, text);
  std::string labelled;
  bool at_start = !sink_.is_mid_line(this);
  while (!text.empty()) {
    const auto end = text.find('\n');
    const std::string_view line = text.substr(0, end == std::string_view::npos ? end : end + 1);
    if (at_start) labelled += label_;
    labelled += line;
    at_start = true;
    text.remove_prefix(line.size());
  }
  sink_.write(this, labelled);
}

}  // namespace hr::launcher
