#include "transport/ucx/ucx.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/knobs.hpp"
#include "base/log.hpp"
#include "base/machine.hpp"
#include "boot/boot.hpp"
#include "boot/process_name.hpp"
#include "transport/network/address.hpp"
#include "transport/network/buffers.hpp"
#include "transport/network/eager.hpp"
#include "transport/network/inbox.hpp"
#include "transport/network/names.hpp"
#include "transport/network/network_transport.hpp"
#include "transport/network/wait.hpp"
#include "transport/ucx/active_messages.hpp"
#include "transport/ucx/disconnects.hpp"
#include "transport/ucx/maker_names.hpp"
#include "transport/ucx/memory.hpp"
#include "transport/ucx/path.hpp"
#include "transport/ucx/tcp_use.hpp"
#include "transport/ucx/unpacking.hpp"
#include "transport/ucx/worker.hpp"

namespace hr::transport::ucx {
namespace {

// Maximum number of messages in flight to a peer; further ones wait in the layer above.
constexpr int kMostInFlight = 32;

// A buffer. While it is in use, `own` is the peer to which its message goes.
using Buffer = network::Buffer<void*>;
using network::Head;
using network::kMaxPayload;
using network::kMostRtsPayload;

// Returns parameters of a UCX request whose callback gets this argument.
ucp_request_param_t of_memory(bool device, void* argument) noexcept {
  ucp_request_param_t how{};
  how.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_MEMORY_TYPE;
  how.memory_type = device ? kDeviceMemory : UCS_MEMORY_TYPE_HOST;
  how.user_data = argument;
  return how;
}

class Ucx;

struct Peer : network::PeerState<Buffer> {
  Peer(Ucx& all, int process, std::uint32_t name) : PeerState(process, name), owner(all) {}
  Ucx& owner;
  network::Secret secret = 0;   // secret of the peer, once there is an endpoint
  ucp_ep_h endpoint = nullptr;  // null: not connected
  // Endpoint for ready-to-send messages, set for the first one: the same or a separate one (open_rts_endpoint()).
  ucp_ep_h rts_endpoint = nullptr;
  Path path;
  std::uint32_t sent = 0;  // low bits of the number of messages sent
  int in_flight = 0;
  ucs_status_t failure = UCS_OK;
};

class Ucx final : public network::NetworkTransport<Peer> {
 public:
  Ucx(const Job& job, const Handlers& handlers, const Library& library)
      : NetworkTransport("ucx", job, handlers), library_(library) {}
  ~Ucx() override;

  // Starts the transport; closes it after an error.
  Status create();
  [[nodiscard]] std::string route_to(int proc) override;
  [[nodiscard]] Caps caps(int proc) const noexcept override {
    const Peer* const known = find(proc);
    const Path path = known != nullptr ? known->path : Path{};
    return {.inline_bytes = 0,
            .max_payload = kMaxPayload,
            .chunk_bytes = kMaxPayload,
            .eager_bytes = path.eager_bytes(),
            .rendezvous = true,
            .device_rendezvous = device_rendezvous(path),
            .exposed_memory = exposed_memory(proc, path),
            .latency_seconds = path.latency_seconds,
            .bytes_per_second = path.bytes_per_second};
  }

  // False for networks on which UCX emulates put and get with messages, unless forced: this library's messages are as
  // fast.
  [[nodiscard]] bool exposed_memory(int proc, const Path& path) const noexcept {
    if (!may_expose() || !is_of_job(proc)) return false;
    return knobs().rma_network == RmaNetworkChoice::kOn || path.moves_memory;
  }

  // False for a byte stream, which cannot read device memory, unless forced: UCX would copy it just as this library
  // does.
  [[nodiscard]] bool device_rendezvous(const Path& path) const noexcept {
    const DeviceNetworkDirectChoice choice = knobs().device_network_direct;
    if (!worker_.knows_device_memory() || choice == DeviceNetworkDirectChoice::kOff) return false;
    return choice == DeviceNetworkDirectChoice::kOn || !path.is_stream;
  }

  Status connect(int proc) override;
  Status send(int proc, const Header& header, const void* payload, std::size_t bytes) override;
  std::byte* reserve(int proc, std::size_t bytes) override;
  void commit(int proc, const Header& header) override;
  Status send_rts(int proc, const Header& header, const void* payload, std::size_t payload_bytes, const Source& data,
                  Operation* done) override;
  Status receive_rendezvous(int proc, RendezvousData data, Sink* into, Operation* done) override;
  void decline_rendezvous(int proc, RendezvousData data) noexcept override;
  [[nodiscard]] bool has_rendezvous(int /*proc*/, RendezvousData data) const noexcept override {
    return inbox_.holds(data.token);
  }
  bool progress() override;

  [[nodiscard]] bool may_expose() const noexcept override {
    const RmaNetworkChoice choice = knobs().rma_network;
    return !late_ && choice != RmaNetworkChoice::kOff && (choice == RmaNetworkChoice::kOn || host_has_rdma());
  }
  Status expose(std::byte* address, std::size_t bytes, RemoteKey* key) override {
    return memory_.expose(address, bytes, key);
  }
  void withdraw(const RemoteKey& key) noexcept override { memory_.withdraw(key); }
  Status get(int proc, const RemoteKey* key, std::span<const RemotePart> parts, Operation* done) override {
    if (key == nullptr) return Errc::kUnsupportedOperation;
    HR_TRY(usable(proc));
    return memory_.get(to(proc), *key, parts, done);
  }
  Status put(int proc, const RemoteKey* key, std::span<const RemotePart> parts, Operation* done) override {
    if (key == nullptr) return Errc::kUnsupportedOperation;
    HR_TRY(usable(proc));
    return memory_.put(to(proc), *key, parts, done);
  }
  Status flush(int proc, Operation* done) override {
    HR_TRY(usable(proc));
    memory_.flush(to(proc), done);
    return kOk;
  }

  [[nodiscard]] int arrivals() const noexcept override { return worker_.descriptor(); }
  [[nodiscard]] bool arm_arrivals() override;

  bool disconnect(std::span<const int> procs) override;
  Status finalize() override;

 private:
  Status start();
  std::unique_ptr<Peer> make_peer(int proc, std::uint32_t own_name) override {
    return std::make_unique<Peer>(*this, proc, own_name);
  }
  [[nodiscard]] Status why_failed(const Peer& peer) const override;
  void fail_unreachable(Peer& peer) override { fail_path(peer, UCS_ERR_UNREACHABLE); }
  Memory::To to(int proc) { return {proc, peer(proc).endpoint, &peer(proc)}; }
  [[nodiscard]] bool listens_on_loopback() const { return listens() == network::Listens::kOnLoopback; }
  void warn_of_tcp() const;
  void log_tcp(const Peer& peer);
  // Finds the address and the secret of a peer.
  Status address_of(Peer& peer, std::vector<std::byte>* address);
  Status open_endpoint(Peer& peer, ucp_ep_h* endpoint);
  Status make_endpoint(Peer& peer, const std::vector<std::byte>& address, bool finds_failures, ucp_ep_h* endpoint);
  Status open_rts_endpoint(Peer& peer);
  void post(Peer& peer, Buffer* buffer);
  void fail_path(Peer& peer, ucs_status_t status) { note_failure(peer, status); }
  void close_failed();

  void end_rendezvous(Peer& peer, Operation* done, ucs_status_t status);

  static ucs_status_t arrive(void* self, const void* header, std::size_t header_bytes, void* data, std::size_t bytes,
                             const ucp_am_recv_param_t* how);
  static void rendezvous_received(void* request, ucs_status_t status, std::size_t bytes, void* argument);
  static void rendezvous_sent(void* request, ucs_status_t status, void* argument);
  static void sent(void* request, ucs_status_t status, void* argument);
  static void path_failed(void* peer, ucp_ep_h endpoint, ucs_status_t status);

  void flush_some(std::span<Peer* const> peers);
  void forget(Peer& peer);
  void close(Peer& peer);
  void close(ucp_ep_h endpoint);
  void close_all();

  // A transfer of a rendezvous by UCX, from its source or to its sink.
  struct Moving {
    Peer& peer;
    Operation* done;
  };

  const Library& library_;
  network::Inbox inbox_{names_, handlers_, counters::Buffers::kUcx};
  Worker worker_;
  Memory memory_{library_, worker_, [](void* peer, ucs_status_t status) { path_failed(peer, nullptr, status); }};
  Disconnects disconnects_{library_, worker_, names_};
  network::Buffers<void*> buffers_{counters::Buffers::kUcx};
  Unpacking unpacking_{library_};
  int closes_ = 0;  // number of pending closes
  bool tcp_logged_ = false;
  bool closed_ = false;
};

Ucx::~Ucx() {
  if (!closed_) {
    // The program ends without MPI_Finalize, and with messages pending.
    memory_.abandon();
    worker_.abandon();
    return;
  }
  for (auto& each : peers_) {
    if (each != nullptr && each->reserved != nullptr) buffers_.give_back(each->reserved);
  }
}

// If this fails, another transport may take its place, and nothing must go on listening.
Status Ucx::create() {
  const Status status = start();
  if (!status.ok()) worker_.stop();
  closed_ = !status.ok();
  return status;
}

Status Ucx::start() {
  HR_TRY(names_.make_secret());
  HR_TRY(worker_.create(library_, listens_on_loopback()));
  warn_of_tcp();
  HR_TRY(listen(library_, worker_, kMessages, UCP_AM_FLAG_WHOLE_MSG, arrive, this));
  if (worker_.descriptor() >= 0) HR_TRY(sleepers_.open(worker_.descriptor()));
  std::vector<std::byte> address;
  HR_TRY(worker_.address(&address));
  network::append_secret(names_.own_secret(), &address);
  HR_TRY(disconnects_.listen());
  return publish(address);
}

// --- processes of other jobs ---

bool Ucx::disconnect(std::span<const int> procs) {
  const std::vector<Peer*> disconnected = connect_to_disconnect(procs);
  flush_some(disconnected);
  for (const Peer* each : disconnected) {
    if (each->failure == UCS_OK) disconnects_.send(each->proc, each->endpoint);
  }
  wait_for(disconnected, [this](const Peer& each) { return disconnects_.has_come(each.proc); });
  // Flush the disconnects. A byte stream sends all accepted data anyway, and its flush would need the other side.
  std::vector<Peer*> unsent = disconnected;
  std::erase_if(unsent, [](const Peer* each) { return each->path.is_stream; });
  flush_some(unsent);
  for (Peer* each : disconnected) forget(*each);
  return false;
}

void Ucx::forget(Peer& peer) {
  const int proc = peer.proc;
  memory_.forget(proc);
  disconnects_.forget(proc);
  peer.failure = UCS_ERR_CONNECTION_RESET;  // however its operations end
  if (peer.endpoint != nullptr) close(peer);
  while (closes_ != 0) library_.worker_progress(worker_.get());
  forget_state(peer, buffers_);
  peers_[static_cast<std::size_t>(proc)].reset();
  inbox_.forget(proc);
}

// --- paths ---

Status Ucx::address_of(Peer& peer, std::vector<std::byte>* address) {
  HR_TRY(fetch_address(peer, address));
  if (!network::split_secret(address, &peer.secret))
    return fail(Errc::kOther, "ucx: the network address of %s is too short",
                boot::process_name(boot::processes(), peer.proc).c_str());
  names_.set_secret(peer.proc, peer.secret);
  return kOk;
}

Status Ucx::open_endpoint(Peer& peer, ucp_ep_h* endpoint) {
  std::vector<std::byte> address;
  HR_TRY(address_of(peer, &address));
  if (make_endpoint(peer, address, true, endpoint).ok()) return kOk;
  // Not every network can detect that the other side has failed.
  static_cast<void>(take_detail());
  return make_endpoint(peer, address, false, endpoint);
}

// Over a byte stream, the request for data in one direction would wait behind the data of the other direction, so that
// the two transfers of an exchange would run one at a time. So the process with the higher rank sends its ready-to-send
// messages through a separate connection. Their numbers restore the order of messages.
Status Ucx::open_rts_endpoint(Peer& peer) {
  const bool apart = peer.path.is_stream && is_of_job(peer.proc) && rank_ > peer.proc;
  if (apart) return open_endpoint(peer, &peer.rts_endpoint);
  peer.rts_endpoint = peer.endpoint;
  return kOk;
}

Status Ucx::connect(int proc) {
  Peer& to = peer(proc);
  if (to.endpoint != nullptr || to.failure != UCS_OK) return kOk;
  HR_TRY(open_endpoint(to, &to.endpoint));
  to.path = path_of(library_, to.endpoint);
  to.path.tuned_eager_bytes = network::tuned_eager_bytes(host_name(), to.host);
  if (log::enabled(log::Level::kDecision)) {
    const std::string transports = transports_of(library_, to.endpoint);
    log::write(log::Level::kDecision,
               "ucx: rank %d is reached by %s: %.1f us and %.2f GB/s by UCX's estimate; sent unasked: up to %zu bytes",
               proc, transports.empty() ? "what UCX has chosen" : transports.c_str(), to.path.latency_seconds * 1e6,
               to.path.bytes_per_second * 1e-9, to.path.eager_bytes());
    log_tcp(to);
  }
  return kOk;
}

std::string Ucx::route_to(int proc) {
  if (!connect(proc).ok()) return "no path: " + take_detail();
  const Peer& to = peer(proc);
  const std::string transports = to.endpoint == nullptr ? "" : transports_of(library_, to.endpoint);
  return transports.empty() ? "what UCX has chosen" : transports;
}

// Tells the user that the job depends on its network, unless the user has chosen UCX by name. It is not an error, but
// must not be overlooked.
void Ucx::warn_of_tcp() const {
  if (rank_ != 0 || knobs().network == NetworkChoice::kUcx || !may_use_tcp_outside(listens_on_loopback())) return;
  log::write(
      log::Level::kError,
      "messages between hosts go by UCX, which may use TCP and authenticates nobody there: anybody who can reach "
      "this host can write to the memory of the ranks (HEADRACE_NETWORK=tcp prevents that, HEADRACE_NETWORK=ucx "
      "accepts it without this note)");
}

// The message promises nothing that UCX cannot guarantee, as UCX does not authenticate its peers.
void Ucx::log_tcp(const Peer& peer) {
  if (!peer.path.is_stream || std::exchange(tcp_logged_, true)) return;
  const bool loopback = !may_use_tcp_outside(listens_on_loopback());
  log::write(log::Level::kDecision,
             "ucx: over TCP this process listens on %s; UCX executes the requests of anybody who connects there "
             "(docs/hosts.md: what a job over TCP exposes)",
             loopback ? "the loopback alone" : "the addresses of all devices that it uses");
}

Status Ucx::make_endpoint(Peer& peer, const std::vector<std::byte>& address, bool finds_failures, ucp_ep_h* endpoint) {
  ucp_ep_params_t wanted{};
  wanted.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE;
  wanted.address = reinterpret_cast<const ucp_address_t*>(address.data());
  wanted.err_mode = UCP_ERR_HANDLING_MODE_NONE;
  if (finds_failures) {
    wanted.field_mask |= UCP_EP_PARAM_FIELD_ERR_HANDLER;
    wanted.err_mode = UCP_ERR_HANDLING_MODE_PEER;
    wanted.err_handler = {path_failed, &peer};
  }
  const ucs_status_t status = library_.ep_create(worker_.get(), &wanted, endpoint);
  if (status == UCS_OK) return kOk;
  *endpoint = nullptr;
  return fail(Errc::kOther, "ucx: no path to %s: %s (UCX_LOG_LEVEL=info says more)%s",
              boot::process_name(boot::processes(), peer.proc).c_str(), library_.status_string(status),
              status == UCS_ERR_UNREACHABLE ? advice_without_tcp(listens_on_loopback()).c_str() : "");
}

Status Ucx::why_failed(const Peer& peer) const {
  return fail(Errc::kOther, "the path to %s by the network (ucx) has failed: %s",
              boot::process_name(boot::processes(), peer.proc).c_str(), library_.status_string(peer.failure));
}

void Ucx::path_failed(void* argument, ucp_ep_h /*endpoint*/, ucs_status_t status) {
  auto& peer = *static_cast<Peer*>(argument);
  peer.owner.fail_path(peer, status);
}

// Ends pending operations on broken paths; not called from within UCX.
void Ucx::close_failed() {
  for (Peer* peer : std::exchange(broken_, {})) {
    if (peer->endpoint != nullptr) close(*peer);
    failed_.add(peer);
  }
}

void Ucx::close(Peer& peer) {
  ucp_ep_h const rts_endpoint = std::exchange(peer.rts_endpoint, nullptr);
  if (rts_endpoint != nullptr && rts_endpoint != peer.endpoint) close(rts_endpoint);
  close(std::exchange(peer.endpoint, nullptr));
}

// Closes the endpoint; pending operations through it end with an error.
void Ucx::close(ucp_ep_h endpoint) {
  ucp_request_param_t how{};
  how.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  how.flags = UCP_EP_CLOSE_FLAG_FORCE;
  how.cb.send = [](void* request, ucs_status_t /*status*/, void* argument) {
    auto& self = *static_cast<Ucx*>(argument);
    self.library_.request_free(request);
    --self.closes_;
  };
  how.user_data = this;
  const ucs_status_ptr_t answer = library_.ep_close_nbx(endpoint, &how);
  if (UCS_PTR_IS_PTR(answer)) ++closes_;
}

// --- sending ---

std::byte* Ucx::reserve(int proc, std::size_t bytes) {
  Peer& to = peer(proc);
  if (to.in_flight >= kMostInFlight || to.failure != UCS_OK) return nullptr;
  return reserve_in(to, bytes, buffers_, [this](std::size_t most) { return buffers_.take(most); });
}

void Ucx::commit(int proc, const Header& header) {
  Peer& to = peer(proc);
  Buffer* const buffer = std::exchange(to.reserved, nullptr);
  buffer->wire.head = {to.sent++, to.own_name, to.secret, header};
  post(to, buffer);
}

Status Ucx::send(int proc, const Header& header, const void* payload, std::size_t bytes) {
  std::byte* const slot = reserve(proc, bytes);
  if (slot == nullptr) return no_room(peer(proc));
  if (bytes != 0) std::memcpy(slot, payload, bytes);
  commit(proc, header);
  return kOk;
}

void Ucx::post(Peer& peer, Buffer* buffer) {
  buffer->own = &peer;
  ucp_request_param_t how = of_memory(false, buffer);
  how.op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
  how.flags = UCP_AM_SEND_FLAG_EAGER;
  how.cb.send = sent;
  const ucs_status_ptr_t answer = library_.am_send_nbx(peer.endpoint, kMessages, nullptr, 0, &buffer->wire.head,
                                                       sizeof(Head) + buffer->bytes, &how);
  if (UCS_PTR_IS_PTR(answer)) {
    ++peer.in_flight;
    return;
  }
  buffers_.give_back(buffer);
  if (UCS_PTR_IS_ERR(answer)) fail_path(peer, UCS_PTR_STATUS(answer));
}

void Ucx::sent(void* request, ucs_status_t status, void* argument) {
  auto* const buffer = static_cast<Buffer*>(argument);
  auto& to = *static_cast<Peer*>(buffer->own);
  Ucx& self = to.owner;
  self.library_.request_free(request);
  self.buffers_.give_back(buffer);
  --to.in_flight;
  if (status != UCS_OK) self.fail_path(to, status);
}

// --- rendezvous ---

// Does not limit the number of pending rendezvous, as the other side may receive the last one first.
Status Ucx::send_rts(int proc, const Header& header, const void* payload, std::size_t payload_bytes, const Source& data,
                     Operation* done) {
  Peer& to = peer(proc);
  if (payload_bytes > kMostRtsPayload) return Errc::kUnsupportedOperation;
  if (to.failure != UCS_OK) return no_room(to);
  if (to.rts_endpoint == nullptr) [[unlikely]]
    HR_TRY(open_rts_endpoint(to));
  const Head head{to.sent, to.own_name, to.secret, header};
  std::byte message[sizeof head + kMostRtsPayload];
  std::memcpy(message, &head, sizeof head);
  if (payload_bytes != 0) std::memcpy(message + sizeof head, payload, payload_bytes);
  auto moving = std::make_unique<Moving>(to, done);
  ucp_request_param_t how = of_memory(data.device, moving.get());
  how.op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
  how.flags = UCP_AM_SEND_FLAG_RNDV | UCP_AM_SEND_FLAG_COPY_HEADER;
  how.cb.send = rendezvous_sent;
  const ucs_status_ptr_t answer = library_.am_send_nbx(to.rts_endpoint, kMessages, message, sizeof head + payload_bytes,
                                                       data.address, data.bytes, &how);
  if (UCS_PTR_IS_ERR(answer)) {
    fail_path(to, UCS_PTR_STATUS(answer));
    return Status::again();
  }
  ++to.sent;
  if (UCS_PTR_IS_PTR(answer)) moving.release();  // rendezvous_sent() deletes it
  done->complete = answer == nullptr;
  return kOk;
}

void Ucx::end_rendezvous(Peer& peer, Operation* done, ucs_status_t status) {
  if (status != UCS_OK) fail_path(peer, status);
  done->end(status == UCS_OK ? kOk : Status(Errc::kOther));
}

void Ucx::rendezvous_sent(void* request, ucs_status_t status, void* argument) {
  const std::unique_ptr<Moving> moving(static_cast<Moving*>(argument));
  Ucx& self = moving->peer.owner;
  self.library_.request_free(request);
  self.end_rendezvous(moving->peer, moving->done, status);
}

Status Ucx::receive_rendezvous(int proc, RendezvousData data, Sink* into, Operation* done) {
  if (!inbox_.release(data.token)) return fail(Errc::kOther, "ucx: data of no rendezvous");
  auto moving = std::make_unique<Moving>(peer(proc), done);
  ucp_request_param_t how = of_memory(into->device, moving.get());
  how.cb.recv_am = rendezvous_received;
  void* buffer = into->address;
  std::size_t count = into->bytes;
  if (into->unpack != nullptr) HR_TRY(unpacking_.describe(into, &how, &buffer, &count));
  const ucs_status_ptr_t answer =
      library_.am_recv_data_nbx(worker_.get(), reinterpret_cast<void*>(data.token), buffer, count, &how);
  if (UCS_PTR_IS_PTR(answer)) {
    moving.release();  // rendezvous_received() deletes it
    return kOk;
  }
  if (UCS_PTR_IS_ERR(answer)) fail_path(peer(proc), UCS_PTR_STATUS(answer));
  done->status = UCS_PTR_IS_ERR(answer) ? Status(Errc::kOther) : kOk;
  done->complete = true;
  return kOk;
}

void Ucx::rendezvous_received(void* request, ucs_status_t status, std::size_t /*bytes*/, void* argument) {
  const std::unique_ptr<Moving> moving(static_cast<Moving*>(argument));
  Ucx& self = moving->peer.owner;
  self.library_.request_free(request);
  self.end_rendezvous(moving->peer, moving->done, status);
}

void Ucx::decline_rendezvous(int /*proc*/, RendezvousData data) noexcept {
  if (!inbox_.release(data.token)) return;
  library_.am_data_release(worker_.get(), reinterpret_cast<void*>(data.token));
}

// --- receiving ---

// Callback of UCX for each active message. If the message is the next one of its sender, it is delivered here, which
// saves a copy: handlers send and connect, which UCX permits in a callback, but make no progress. An eager message is a
// network::Head followed by the payload, both in `data`. In a rendezvous, `header` holds both, and `data` is the
// descriptor with which the data is received later; if the message is dropped, the callback returns UCS_OK, and UCX
// releases the descriptor.
ucs_status_t Ucx::arrive(void* argument, const void* header, std::size_t header_bytes, void* data, std::size_t bytes,
                         const ucp_am_recv_param_t* how) {
  network::Inbox& inbox = static_cast<Ucx*>(argument)->inbox_;
  if ((how->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) == 0) [[likely]] {
    static_cast<void>(inbox.take(static_cast<const std::byte*>(data), bytes, 0));
    return UCS_OK;
  }
  const auto token = reinterpret_cast<std::uint64_t>(data);
  return inbox.take(static_cast<const std::byte*>(header), header_bytes, token) ? UCS_INPROGRESS : UCS_OK;
}

bool Ucx::progress() {
  const bool moved = library_.worker_progress(worker_.get()) != 0;
  if (!unwatched_.empty()) [[unlikely]]
    watch_some();
  if (!broken_.empty()) [[unlikely]]
    close_failed();
  if (!failed_.empty()) [[unlikely]]
    tell_failed();
  return moved;
}

bool Ucx::arm_arrivals() { return has_settled() && library_.worker_arm(worker_.get()) == UCS_OK; }

// --- the end ---

void Ucx::flush_some(std::span<Peer* const> peers) {
  struct Left {
    const Library& library;
    int flushes = 0;
  } left{library_};
  const auto flush = [&](ucp_ep_h endpoint) {
    ucp_request_param_t how{};
    how.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    how.cb.send = [](void* request, ucs_status_t /*status*/, void* argument) {
      auto& left = *static_cast<Left*>(argument);
      left.library.request_free(request);
      --left.flushes;
    };
    how.user_data = &left;
    const ucs_status_ptr_t answer = library_.ep_flush_nbx(endpoint, &how);
    if (UCS_PTR_IS_PTR(answer)) ++left.flushes;
  };
  for (const Peer* each : peers) {
    if (each->endpoint == nullptr || each->failure != UCS_OK) continue;
    flush(each->endpoint);
    if (each->rts_endpoint != nullptr && each->rts_endpoint != each->endpoint) flush(each->rts_endpoint);
  }
  // A flush does not wait for messages that the other side has yet to fetch.
  network::wait_until(*this, [&] {
    const auto is_under_way = [](const Peer* each) { return each->in_flight != 0; };
    return left.flushes == 0 && std::ranges::none_of(peers, is_under_way) && closes_ == 0;
  });
}

// Called when all processes have flushed, so it need not wait for pending messages.
void Ucx::close_all() {
  for (auto& each : peers_) {
    if (each == nullptr) continue;
    memory_.forget(each->proc);
    if (each->endpoint != nullptr) close(*each);
  }
  while (closes_ != 0) library_.worker_progress(worker_.get());
  worker_.stop();  // while everything that its operations call back still exists
}

// If a process closed its connections while others were still sending, their messages would be lost. So all processes
// flush, then wait for one another, and continue to receive meanwhile, because a flush waits until the other side has
// received.
Status Ucx::finalize() {
  flush_some(all_peers());
  closing_ = true;
  const Status status = late_ ? Status(kOk) : network::wait_for_all(*this);
  close_all();
  closed_ = true;
  return status;
}

Status create(const Job& job, const Handlers& handlers, std::unique_ptr<Transport>* out) {
  const Library* library = nullptr;
  HR_TRY(open_library(&library));
  auto made = std::make_unique<Ucx>(job, handlers, *library);
  HR_TRY(made->create());
  *out = std::move(made);
  return kOk;
}

bool can_open() {
  const Library* library = nullptr;
  if (open_library(&library).ok()) return true;
  static_cast<void>(take_detail());
  return false;
}

}  // namespace

const Record kRecord{"ucx", create, true, nullptr, can_open, suits_host};

}  // namespace hr::transport::ucx
