#include "output/rank_output.hpp"

#include <utility>

namespace hr::launcher {

void RankOutput::take_part(std::string_view text, bool goes_on) {
  if (!goes_on && parts_.empty()) return take(text);
  parts_ += text;
  if (!goes_on) take(std::exchange(parts_, {}));
}

bool RankOutput::finish() {
  if (!parts_.empty()) take(std::exchange(parts_, {}));
  return file_.lost();
}

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
