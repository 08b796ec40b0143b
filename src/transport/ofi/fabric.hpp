// Fabric: the libfabric provider that this process uses, its one endpoint with address vector and completion queue,
// and registrations of memory.
//
// Owner: the transport; created by open(), closed with it. Threads: library lock.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "transport/network/listens.hpp"
#include "transport/ofi/library.hpp"

namespace hr::transport::ofi {

// Memory that is registered with the provider. The code that adds it removes it.
struct Registration {
  fid_mr* region = nullptr;
  void* descriptor = nullptr;  // for local accesses
  std::uint64_t key = 0;       // for accesses by others
  std::uint64_t base = 0;      // address of the first byte in accesses by others
};

class Fabric {
 public:
  explicit Fabric(const Library& library) : library_(library) {}
  ~Fabric() { close(); }
  Fabric(const Fabric&) = delete;
  Fabric& operator=(const Fabric&) = delete;

  // `turn`: the number of this process among those of its host; `least_landing`: space that a message needs in a
  // multi-receive buffer. Errors: MPI_ERR_OTHER with the provider and its reason.
  Status open(network::Listens listens, std::size_t turn, std::size_t least_landing);
  void close() noexcept;
  // Releases nothing: everything is left until the end of the process.
  void abandon() noexcept;

  // Returns the provider's name and the settings that must be the same in all processes that it connects.
  [[nodiscard]] const std::string& terms() const noexcept { return terms_; }
  // Return the provider's name, its device, and the address of the endpoint.
  [[nodiscard]] std::string provider() const { return info_->fabric_attr->prov_name; }
  [[nodiscard]] std::string device() const;
  Status address(std::vector<std::byte>* out) const;
  // Makes a process addressable.
  Status add_address(const std::vector<std::byte>& address, fi_addr_t* out);
  void remove_address(fi_addr_t address) noexcept;

  // Registers memory for these accesses (FI_SEND, FI_REMOTE_READ, ...).
  Status add(void* address, std::size_t bytes, std::uint64_t access, Registration* out);
  static void remove(Registration* registration) noexcept;
  // True if local buffers must be registered.
  [[nodiscard]] bool registers_local() const noexcept { return (info_->domain_attr->mr_mode & FI_MR_LOCAL) != 0; }

  // True if arrivals from now on make the descriptor readable.
  [[nodiscard]] bool arm() noexcept;
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }

  [[nodiscard]] fid_ep* endpoint() const noexcept { return endpoint_; }
  [[nodiscard]] fid_cq* queue() const noexcept { return queue_; }
  [[nodiscard]] const fi_info& info() const noexcept { return *info_; }

  // True if data and messages share a byte stream or unreliable datagrams of the kernel.
  [[nodiscard]] bool is_kernel_network() const noexcept { return kernel_network_; }
  // True if messages may be lost while two processes connect to one another (greeting.hpp).
  [[nodiscard]] bool may_lose_first_messages() const noexcept { return loses_first_; }
  // True if a receive that fails ends the use of its multi-receive buffer, although its error does not say so.
  [[nodiscard]] bool releases_failed() const noexcept { return releases_failed_; }

 private:
  using Info = std::unique_ptr<fi_info, decltype(&::fi_freeinfo)>;

  Status find_candidates(network::Listens listens, std::vector<Info>* out) const;
  static void prefer_near_cards(std::size_t turn, std::vector<Info>* candidates);
  // Opens the endpoint of info_.
  Status open_endpoint(std::size_t least_landing);
  int ask(const std::string& provider, bool loopback, fi_info** all) const;
  Status failed(const char* what, long error) const;

  const Library& library_;
  fi_info* info_ = nullptr;
  fid_fabric* fabric_ = nullptr;
  fid_domain* domain_ = nullptr;
  fid_av* addresses_ = nullptr;
  fid_cq* queue_ = nullptr;
  fid_ep* endpoint_ = nullptr;
  std::string terms_;
  int descriptor_ = -1;
  bool kernel_network_ = false;
  bool releases_failed_ = false;
  bool loses_first_ = false;
};

}  // namespace hr::transport::ofi
