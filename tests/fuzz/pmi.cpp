// Messages from ranks to mpiexec (PMI-1): any bytes, cut into lines, from three ranks of which two are on this host.
#include "driver.hpp"
#include "host/pmi_server.hpp"
#include "wire/frame.hpp"

namespace {

using hr::fuzz::check;
using namespace hr::launcher;

PmiServer::Callbacks callbacks(PmiServer** server) {
  PmiServer::Callbacks all;
  all.send = [](int rank, std::string_view line) {
    check(rank == 0 || rank == 1, "an answer to a rank of another host");
    check(line.find('\n') == std::string_view::npos, "an answer of two lines");
  };
  all.abort = [](int, int) {};
  all.crashed = [](int, int) {};
  all.fence = [server](std::vector<KeyValue>) { (*server)->leave_fence(); };
  all.views = [server](std::vector<KeyValue>) { (*server)->tell_hosts("0,0,1"); };
  all.ask = [](const std::string&) {};
  all.spawn = [](int, const SpawnRequest& request) {
    const std::string bytes = encode(request);
    check(bytes.size() < kLargestFrame / 2, "a request for spawning that fits no message");
    const auto back = decode_spawn(bytes);
    check(back.has_value() && back->programs.size() == request.programs.size(),
          "a request for spawning changes on its way");
  };
  all.name = [](int, int, std::string_view, std::string_view) {};
  all.answer = [](std::vector<KeyValue>) {};
  return all;
}

}  // namespace

// The first byte of a line determines its rank.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const RankMap map({0, 0, 1});
  PmiServer* self = nullptr;
  PmiServer server("space", {0, 0, 0}, map, map.ranks_of(0), 0, -1, true, callbacks(&self));
  self = &server;
  std::string_view rest = hr::fuzz::text_of(data, size);
  while (!rest.empty()) {
    const auto end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    if (!line.empty()) server.handle_line(line[0] & 1, line.substr(1));
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  server.want("key");
  server.mark_failed(0);
  return 0;
}
