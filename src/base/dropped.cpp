#include "base/dropped.hpp"

#include "base/log.hpp"
#include "base/statistics.hpp"

namespace hr {

void drop_message(int from, const char* why) noexcept {
  static bool told = false;
  add(Statistic::messages_dropped);
  if (told) return;
  if (from < 0) {
    log::note_once(told, "a message was dropped: %s; later ones are only counted (HEADRACE_MESSAGES_DROPPED)", why);
  } else {
    log::note_once(told,
                   "a message from rank %d was dropped: %s; later ones are only counted (HEADRACE_MESSAGES_DROPPED)",
                   from, why);
  }
}

}  // namespace hr
