#include "common/world.hpp"

#include <sched.h>

#include <algorithm>

namespace bench {
namespace {

constexpr int kTag = 77;

}  // namespace

World::World() {
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
}

void barrier(const World& world) {
  for (int distance = 1; distance < world.size; distance *= 2) {  // dissemination
    MPI_Sendrecv(nullptr, 0, MPI_BYTE, (world.rank + distance) % world.size, kTag, nullptr, 0, MPI_BYTE,
                 (world.rank - distance + world.size) % world.size, kTag, world.comm, MPI_STATUS_IGNORE);
  }
}

int from_root(const World& world, int value) {
  if (world.rank != 0) {
    MPI_Recv(&value, 1, MPI_INT, 0, kTag, world.comm, MPI_STATUS_IGNORE);
    return value;
  }
  for (int rank = 1; rank < world.size; ++rank) MPI_Send(&value, 1, MPI_INT, rank, kTag, world.comm);
  return value;
}

std::vector<std::string> gather_text(const World& world, const std::string& mine) {
  std::vector<std::string> all;
  if (world.rank != 0) {
    MPI_Send(mine.data(), static_cast<int>(mine.size()), MPI_CHAR, 0, kTag, world.comm);
    return all;
  }
  all.push_back(mine);
  for (int rank = 1; rank < world.size; ++rank) {
    MPI_Status status;
    int length = 0;
    MPI_Probe(rank, kTag, world.comm, &status);
    MPI_Get_count(&status, MPI_CHAR, &length);
    std::string text(static_cast<std::size_t>(length), ' ');
    MPI_Recv(text.data(), length, MPI_CHAR, rank, kTag, world.comm, MPI_STATUS_IGNORE);
    all.push_back(std::move(text));
  }
  return all;
}

int node_local_rank(const World& world) {
  MPI_Comm node;
  int rank = 0;
  MPI_Comm_split_type(world.comm, MPI_COMM_TYPE_SHARED, world.rank, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &rank);
  MPI_Comm_free(&node);
  return rank;
}

std::string allowed_cpus() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return "?";
  std::string text;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &set)) continue;
    int last = cpu;
    while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &set)) ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(cpu);
    if (last > cpu) text += '-' + std::to_string(last);
    cpu = last;
  }
  return text;
}

std::string library_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  const std::string version(text, static_cast<std::size_t>(length));
  return version.substr(0, version.find('\n'));
}

std::vector<double> combine(const World& world, std::vector<double> samples, int ranks, Combine how) {
  const auto count = static_cast<int>(samples.size());
  if (world.rank != 0) {
    if (world.rank < ranks) MPI_Send(samples.data(), count, MPI_DOUBLE, 0, kTag, world.comm);
    return samples;
  }
  std::vector<double> other(samples.size());
  for (int rank = 1; rank < ranks; ++rank) {
    MPI_Recv(other.data(), count, MPI_DOUBLE, rank, kTag, world.comm, MPI_STATUS_IGNORE);
    for (std::size_t i = 0; i < samples.size(); ++i) {
      samples[i] = how == Combine::kMax ? std::max(samples[i], other[i]) : samples[i] + other[i];
    }
  }
  if (how == Combine::kMean) {
    for (double& sample : samples) sample /= ranks;
  }
  return samples;
}

}  // namespace bench
