// links: message times between each pair of ranks, while all others wait, and while all ranks are busy in pairs.
//
//   A-B alone, A-B together   8 bytes, half a ping-pong
//   A>B alone, A>B together   one long message of a stream (--sizes: its length)
//
// The pairs are those of a round-robin tournament: in each round every rank has one partner, and after size - 1 rounds
// it has been paired with every other rank. Used by headrace doctor --run, with one rank per host or per GPU.
#include <cstdio>
#include <map>
#include <sstream>

#include "common/measure.hpp"
#include "common/program.hpp"

namespace {

constexpr int kTag = 9;
constexpr std::size_t kShort = 8;

// Returns the partner of a rank in a round of the circle method; -1 if the rank has none.
int partner(int rank, int size, int round) {
  const int places = size + size % 2;
  const int last = places - 1;
  int other = 0;
  if (rank == last) {
    other = round;
  } else if (rank == round % last) {
    other = last;
  } else {
    other = (2 * round - rank + 2 * last) % last;
  }
  return other < size ? other : -1;
}

struct Messages {
  const bench::World& world;
  char* memory;
  int length;  // bytes of a long message
  int window;

  // Returns the microseconds per message in a ping-pong.
  [[nodiscard]] double ping_pong(int other, int times) const {
    const bool first = world.rank < other;
    const double begin = MPI_Wtime();
    for (int i = 0; i < times; ++i) {
      if (first) MPI_Send(memory, kShort, MPI_CHAR, other, kTag, world.comm);
      MPI_Recv(memory, kShort, MPI_CHAR, other, kTag, world.comm, MPI_STATUS_IGNORE);
      if (!first) MPI_Send(memory, kShort, MPI_CHAR, other, kTag, world.comm);
    }
    return (MPI_Wtime() - begin) * 1e6 / times / 2;
  }

  // Returns the microseconds per message in a stream, including the reply to the last one.
  [[nodiscard]] double stream(int other, bool sends) const {
    std::vector<MPI_Request> requests(static_cast<std::size_t>(window));
    const double begin = MPI_Wtime();
    for (MPI_Request& request : requests) {
      if (sends) {
        MPI_Isend(memory, length, MPI_CHAR, other, kTag, world.comm, &request);
      } else {
        MPI_Irecv(memory, length, MPI_CHAR, other, kTag, world.comm, &request);
      }
    }
    MPI_Waitall(window, requests.data(), MPI_STATUSES_IGNORE);
    char answer = 0;
    if (sends) {
      MPI_Recv(&answer, 1, MPI_CHAR, other, kTag, world.comm, MPI_STATUS_IGNORE);
    } else {
      MPI_Send(&answer, 1, MPI_CHAR, other, kTag, world.comm);
    }
    return (MPI_Wtime() - begin) * 1e6 / window;
  }
};

// The samples of one rank, by label and length.
using Samples = std::map<std::pair<std::string, std::size_t>, std::vector<double>>;

std::string name(int from, char how, int to, const char* when) {
  return std::to_string(from) + how + std::to_string(to) + ' ' + when;
}

// Measures one pair; its lower rank records the times.
void measure_pair(const Messages& messages, int other, const char* when, int samples, Samples* found) {
  const int mine = messages.world.rank;
  const int low = std::min(mine, other), high = std::max(mine, other);
  (void)messages.ping_pong(other, 10);
  (void)messages.stream(other, mine == low);
  for (int i = 0; i < samples; ++i) {
    const double latency = messages.ping_pong(other, 50);
    const double up = messages.stream(other, mine == low);
    const double down = messages.stream(other, mine == high);
    if (mine != low) continue;
    const auto length = static_cast<std::size_t>(messages.length);
    (*found)[{name(low, '-', high, when), kShort}].push_back(latency);
    (*found)[{name(low, '>', high, when), length}].push_back(up);
    (*found)[{name(high, '>', low, when), length}].push_back(down);
  }
}

Samples measure_all(const Messages& messages, int samples) {
  const bench::World& world = messages.world;
  Samples found;
  for (int round = 0; round < world.size - 1 + world.size % 2; ++round) {
    const int other = partner(world.rank, world.size, round);
    for (int turn = 0; turn < world.size; ++turn) {
      if (other > turn && world.rank == turn) measure_pair(messages, other, "alone", samples, &found);
      if (other == turn && world.rank > turn) measure_pair(messages, other, "alone", samples, &found);
      MPI_Barrier(world.comm);
    }
    if (other >= 0) measure_pair(messages, other, "together", samples, &found);
    MPI_Barrier(world.comm);
  }
  return found;
}

std::string text_of(const Samples& found) {
  std::ostringstream text;
  for (const auto& [key, times] : found) {
    text << key.first << ' ' << key.second << ' ' << times.size();
    for (const double time : times) text << ' ' << time;
    text << '\n';
  }
  return text.str();
}

void add_rows(const std::vector<std::string>& texts, bench::Report* report, bool table) {
  for (const std::string& text : texts) {
    std::istringstream lines(text);
    std::string pair, when;
    std::size_t bytes = 0, count = 0;
    while (lines >> pair >> when >> bytes >> count) {
      std::vector<double> times(count);
      for (double& time : times) lines >> time;
      bench::add_row(*report, {pair + ' ' + when, bytes, 1, bench::summarise(times, true), {}}, table);
    }
  }
}

std::string host_name() {
  char host[MPI_MAX_PROCESSOR_NAME];
  int length = 0;
  MPI_Get_processor_name(host, &length);
  return {host, static_cast<std::size_t>(length)};
}

}  // namespace

int main(int argc, char** argv) {
  bench::Options options;
  options.sizes = {std::size_t{1} << 20};
  options.repetitions = 5;
  options.window = 8;
  const bench::Program program{"links", "Latency and stream between each pair of ranks, alone and all at once.", "N"};
  return bench::run_program(argc, argv, program, bench::common_options(options), options,
                            [&](const bench::World& world) {
                              const bench::MemoryKind kind = bench::memory_of(program, world, options);
                              bench::Buffer buffer;
                              bench::allocate(program, world, kind, options.sizes.front(), buffer);
                              const Messages messages{world, static_cast<char*>(buffer.data()),
                                                      static_cast<int>(options.sizes.front()), options.window};
                              const Samples found = measure_all(messages, options.repetitions);
                              const std::vector<std::string> hosts = bench::gather_text(world, host_name());
                              const std::vector<std::string> texts = bench::gather_text(world, text_of(found));
                              bench::Report report = bench::make_report(program, world, options);
                              report.unit = "us";
                              for (std::size_t rank = 0; rank < hosts.size(); ++rank)
                                report.settings.emplace_back("host " + std::to_string(rank), hosts[rank]);
                              const bool table = bench::prints_table(world, options);
                              if (table) bench::print_heading(report);
                              if (world.rank == 0) add_rows(texts, &report, table);
                              return bench::finish(program, world, options, report);
                            });
}
