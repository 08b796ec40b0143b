// apart(): a value that is loaded, or stored, by itself.
//
// Compilers join neighbouring fields into one wide load. Where the fields were stored one by one a moment ago, the
// processor cannot hand such a load what the stores left: it waits until they are in the cache, and behind every
// earlier store. After a message in shared memory that is the time a line takes from the other core, for each message.
#pragma once

namespace hr {

template <class Word>
[[gnu::always_inline]] inline Word apart(Word word) noexcept {
  asm inline("" : "+r"(word));
  return word;
}

}  // namespace hr
