// Messages between mpiexec and its agents: frames, in pieces of any size, and their content.
#include "driver.hpp"
#include "plan/job_plan.hpp"
#include "plan/spawn_request.hpp"
#include "wire/frame.hpp"
#include "wire/handshake.hpp"
#include "wire/message.hpp"

using namespace hr::launcher;

// The first byte determines the size of the received pieces.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t piece = data[0] % 64 + 1U;
  const std::string_view all = hr::fuzz::text_of(data + 1, size - 1);
  FrameDecoder decoder;
  std::string payload;
  for (std::size_t at = 0; at < all.size(); at += piece) {
    decoder.add(all.substr(at, piece));
    while (decoder.next(&payload)) {
      if (const auto message = decode(payload)) {
        hr::fuzz::check(encode(*message) == payload, "a message changes when it is read and written");
      }
    }
  }
  // Message bodies are also tested separately: a frame of random bytes seldom contains one.
  if (const auto message = decode(all)) hr::fuzz::check(encode(*message) == all, "a message changes");
  (void)decode_plan(all);
  (void)decode_spawn(all);
  return 0;
}
