// A stranger that uses libfabric: stranger_ofi PROVIDER HOST PORT. It sends messages of every length and content to the
// rank that listens on that port, and tries to write and read its memory with guessed keys. Prints "sent N", or the
// call that libfabric refused.
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

// Time limit until the rank receives a message, which takes seconds on a machine with too few cores.
constexpr std::chrono::seconds kLimit{45};

template <class Function>
Function* find(void* library, const char* name) {
  return reinterpret_cast<Function*>(::dlsym(library, name));
}

void need(bool good, const char* what) {
  if (good) return;
  std::printf("refused: %s\n", what);
  std::exit(1);
}

struct Stranger {
  fid_ep* endpoint = nullptr;
  fid_cq* queue = nullptr;
  fi_addr_t rank = FI_ADDR_UNSPEC;
  int answered = 0;

  void progress() {
    fi_cq_entry entry{};
    const ssize_t read = ::fi_cq_read(queue, &entry, 1);
    if (read == 1) ++answered;
    if (read != -FI_EAVAIL) return;
    fi_cq_err_entry error{};
    if (::fi_cq_readerr(queue, &error, 0) == 1) ++answered;
  }
  // Repeats the call while the provider asks for another attempt. True if the provider accepts it within kLimit.
  template <class Call>
  bool until_taken(Call&& call) {
    const auto end = std::chrono::steady_clock::now() + kLimit;
    ssize_t answer = call();
    while (answer == -FI_EAGAIN && std::chrono::steady_clock::now() < end) {
      progress();
      answer = call();
    }
    return answer == 0;
  }
  bool send(const std::vector<std::byte>& message) {
    const int before = answered;
    if (!until_taken([&] { return ::fi_send(endpoint, message.data(), message.size(), nullptr, rank, this); }))
      return false;
    const auto end = std::chrono::steady_clock::now() + kLimit;
    while (answered == before && std::chrono::steady_clock::now() < end) progress();
    return answered != before;
  }
};

// Returns the header of a message as ranks write it, without the secret.
std::vector<std::byte> forged(std::uint64_t front, std::uint32_t sequence, std::uint32_t sender, std::size_t bytes) {
  std::vector<std::byte> message(bytes, std::byte{0xee});
  const std::uint64_t words[] = {front, std::uint64_t{sender} << 32 | sequence, 0, 1, 0, 0};
  std::memcpy(message.data(), words, std::min(bytes, sizeof words));
  return message;
}

}  // namespace

int main(int argc, char** argv) {
  need(argc == 4, "usage: stranger_ofi PROVIDER HOST PORT");
  const char* const directory = std::getenv("HEADRACE_OFI_DIR");
  const std::string path = directory != nullptr ? std::string(directory) + "/libfabric.so.1" : "libfabric.so.1";
  void* const library = ::dlopen(path.c_str(), RTLD_NOW);
  need(library != nullptr, "libfabric is not found");
  auto* const hints = find<decltype(::fi_dupinfo)>(library, "fi_dupinfo")(nullptr);
  hints->caps = FI_MSG | FI_RMA;
  hints->ep_attr->type = FI_EP_RDM;
  hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
  hints->fabric_attr->prov_name = ::strdup(argv[1]);
  fi_info* info = nullptr;
  const auto getinfo = find<decltype(::fi_getinfo)>(library, "fi_getinfo");
  need(getinfo(FI_VERSION(1, 9), argv[2], nullptr, FI_SOURCE, hints, &info) == 0, "no such provider");
  fid_fabric* fabric = nullptr;
  fid_domain* domain = nullptr;
  fid_av* addresses = nullptr;
  Stranger stranger;
  need(find<decltype(::fi_fabric)>(library, "fi_fabric")(info->fabric_attr, &fabric, nullptr) == 0, "fabric");
  need(::fi_domain(fabric, info, &domain, nullptr) == 0, "domain");
  fi_av_attr table{};
  need(::fi_av_open(domain, &table, &addresses, nullptr) == 0, "addresses");
  fi_cq_attr completions{};
  completions.format = FI_CQ_FORMAT_CONTEXT;
  need(::fi_cq_open(domain, &completions, &stranger.queue, nullptr) == 0, "queue");
  need(::fi_endpoint(domain, info, &stranger.endpoint, nullptr) == 0, "endpoint");
  need(::fi_ep_bind(stranger.endpoint, &addresses->fid, 0) == 0, "binding addresses");
  need(::fi_ep_bind(stranger.endpoint, &stranger.queue->fid, FI_TRANSMIT | FI_RECV) == 0, "binding the queue");
  need(::fi_enable(stranger.endpoint) == 0, "enabling");
  sockaddr_in rank{};
  rank.sin_family = AF_INET;
  rank.sin_port = htons(static_cast<std::uint16_t>(std::atoi(argv[3])));
  need(::inet_pton(AF_INET, argv[2], &rank.sin_addr) == 1, "the host");
  need(::fi_av_insert(addresses, &rank, 1, &stranger.rank, 0, nullptr) == 1, "inserting the address");

  int sent = 0;
  for (const std::size_t bytes : {1U, 7U, 8U, 47U, 48U, 56U, 80U, 600U, 4000U, 60000U, 100000U, 1000000U}) {
    for (std::uint64_t front = 0; front < 7; ++front) {
      for (const std::uint32_t sender : {0U, 1U, 2U, 0x80000001U}) {
        if (!stranger.send(forged(front, static_cast<std::uint32_t>(sent), sender, bytes))) {
          std::printf("sent %d\n", sent);
          return 0;
        }
        ++sent;
      }
    }
  }
  std::uint64_t data = 0x5555555555555555;
  for (const std::uint64_t key : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}}) {
    static_cast<void>(stranger.until_taken(
        [&] { return ::fi_write(stranger.endpoint, &data, sizeof data, nullptr, stranger.rank, 0, key, &stranger); }));
    for (int round = 0; round < 1000; ++round) stranger.progress();
  }
  std::printf("sent %d\n", sent);
  return 0;
}
