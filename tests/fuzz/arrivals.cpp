// Delivers malformed messages from other processes: anything but the source and the length may be wrong. The process
// that receives them has pending receives and sends, a window and communicators.
//
// The input is a sequence of messages: 5 bytes (sender, kind, words to replace, length of the payload, way), the 4
// bytes of a context and two words of the header, then the payload. A cookie is an address, which no input can know:
// bits of the third byte replace it with that of a request of this process, or with the context of a communicator or
// window. After the last message all other processes have failed, and every pending operation has to end.
#include <cstring>
#include <memory>
#include <vector>

#include "base/abi.hpp"
#include "boot/boot.hpp"
#include "coll/coll.hpp"
#include "comm/communicator.hpp"
#include "driver.hpp"
#include "layout/constructors.hpp"
#include "mock_job.hpp"
#include "mock_transport/mock.hpp"
#include "p2p/core/engine.hpp"
#include "p2p/core/wire.hpp"
#include "p2p/progress.hpp"
#include "rma/rma.hpp"

namespace hr {
namespace {

using fuzz::check;
using p2p::Request;
using p2p::wire::Kind;

constexpr std::size_t kShort = 40;
constexpr std::size_t kLong = 200001;
constexpr std::size_t kWindow = 512;
constexpr int kRounds = 2000;
constexpr std::size_t kBytesBefore = 25;  // input bytes of a message before its payload

enum Place : std::uint8_t {
  kFirstCookie = 1,    // word 1 of the header names a request
  kSecondCookie = 2,   // word 2
  kPayloadCookie = 4,  // the first 8 bytes of the payload
  kOfWindow = 8,       // the context is that of the window
  kOfWorld = 16,       // the context is that of the world communicator
  kOfMessages = 32,    // the context is that of the requests
  kPolls = 64,         // a round of progress follows
};

// One use of the library.
class Job {
 public:
  Job() {
    check(boot::init().ok(), "boot");
    check(p2p::init().ok(), "p2p");
    coll::init();
    check(comm::init().ok(), "comm");
    rma::init();
    context_ = comm::world()->context() + comm::kPointToPointContext;
    exposed_.resize(kWindow);
    check(rma::create(exposed_.data(), static_cast<Count>(kWindow), 1, nullptr, *comm::self(), &window_).ok(),
          "window");
    Ref<layout::Datatype> strided;
    layout::Datatype& byte = *layout::predefined_type(abi::kByte);
    check(layout::make_vector(kLong / 3, 3, 5, byte, layout::CallForm::kPlain, &strided).ok() && strided->commit().ok(),
          "datatype");
    receive(kShort, abi::kAnySource, 1);
    receive(kLong, 1, 2);
    receive(kShort, abi::kAnySource, abi::kAnyTag);
    receive_type(*strided, 2, 3);
    send_rts(1, 2, kLong);
    send_rts(2, 3, kLong / 2);
    network().refuse(3, transport::mock::kForEver);
    send(kLong, 1, p2p::Mode::kStandard);
    send(kLong, 2, p2p::Mode::kSynchronous);
    send(kShort, 1, p2p::Mode::kSynchronous);
    send(kLong, 3, p2p::Mode::kStandard);
    send(kLong, 2, p2p::Mode::kStandard);
    clear(*requests_.back(), 2);
  }

  ~Job() {
    for (int proc = 1; proc < mock_job::kSize; ++proc) network().vanish(proc);
    for (int round = 0; round < kRounds && !all_complete(); ++round) poll();
    check(all_complete(), "a request does not end though all other processes have failed");
    for (Request* request : requests_) release(request);
    requests_.clear();
    static_cast<void>(rma::free(*window_));
    window_ = {};
    rma::finalize();
    comm::finalize();
    coll::finalize();
    static_cast<void>(p2p::finalize());
    static_cast<void>(boot::finalize());
    static_cast<void>(take_detail());
  }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  // Handles one message; returns the number of input bytes used.
  std::size_t take(const std::uint8_t* data, std::size_t size) {
    if (size < kBytesBefore) return size;
    const int from = data[0] % mock_job::kSize;
    const std::uint8_t places = data[2];
    const std::size_t bytes = std::min<std::size_t>(data[3], size - kBytesBefore);
    std::uint32_t context = 0;
    std::uint64_t words[2];
    std::memcpy(&context, data + 5, sizeof context);
    std::memcpy(words, data + 9, sizeof words);
    std::vector<std::byte> payload(bytes);
    if (bytes != 0) std::memcpy(payload.data(), data + kBytesBefore, bytes);
    if ((places & kOfWindow) != 0) context = window_->context();
    if ((places & kOfWorld) != 0) context = comm::world()->context();
    if ((places & kOfMessages) != 0) context = context_;
    if ((places & kFirstCookie) != 0) words[0] = cookie(words[0]);
    if ((places & kSecondCookie) != 0) words[1] = cookie(words[1]);
    if (std::uint64_t first = 0; (places & kPayloadCookie) != 0 && bytes >= sizeof first) {
      std::memcpy(&first, payload.data(), sizeof first);
      first = cookie(first);
      std::memcpy(payload.data(), &first, sizeof first);
    }
    const transport::Header header{{data[1] % transport::kKinds | std::uint64_t{data[4]} << 8 |
                                        std::uint64_t{places} << 16 | std::uint64_t{context} << 32,
                                    words[0], words[1]}};
    p2p::engine()->handlers.of_kind[transport::kind_of(header)](from, header, payload.data(), bytes);
    if ((places & kPolls) != 0) poll();
    return kBytesBefore + bytes;
  }

 private:
  static transport::mock::Network& network() { return *transport::mock::network(); }

  void poll() {
    p2p::poll();
    for (int proc = 1; proc < mock_job::kSize; ++proc) {
      while (network().take(proc)) {
      }
    }
  }
  [[nodiscard]] bool all_complete() const {
    for (const Request* each : requests_) {
      if (!each->complete()) return false;
    }
    return true;
  }
  // Requests that have completed also count.
  [[nodiscard]] std::uint64_t cookie(std::uint64_t number) const {
    return reinterpret_cast<std::uint64_t>(requests_[number % requests_.size()]);
  }

  // Creates buffers that end where their memory ends.
  layout::View view(std::size_t bytes, Count count, layout::Datatype& type) {
    buffers_.push_back(std::make_unique<std::byte[]>(bytes));
    layout::View made;
    check(layout::make_view(buffers_.back().get(), count, type, &made).ok(), "view");
    return made;
  }
  layout::View bytes_view(std::size_t bytes) {
    return view(bytes, static_cast<Count>(bytes), *layout::predefined_type(abi::kByte));
  }
  void receive(std::size_t bytes, int source, int tag) { receive(bytes_view(bytes), source, tag); }
  void receive_type(layout::Datatype& type, int source, int tag) {
    receive(view(static_cast<std::size_t>(type.extent()), 1, type), source, tag);
  }
  void receive(const layout::View& into, int source, int tag) {
    Request* request = nullptr;
    check(p2p::ireceive(into, {context_, source, tag}, &request).ok(), "receive");
    requests_.push_back(request);
  }
  void send(std::size_t bytes, int to, p2p::Mode mode) {
    Request* request = nullptr;
    check(p2p::isend(bytes_view(bytes), to, {context_, 0, 9}, mode, &request).ok(), "send");
    requests_.push_back(request);
  }

  static void deliver(int from, const transport::Header& header, const void* payload, std::size_t bytes) {
    const auto* const data = static_cast<const std::byte*>(payload);
    p2p::engine()->handlers.of_kind[transport::kind_of(header)](from, header, data, bytes);
  }
  void send_rts(int from, int tag, std::size_t bytes) const {
    const p2p::wire::Rts rts{77, 0, 0, 0};
    deliver(from, p2p::wire::envelope(Kind::kRts, {context_, from, tag}, bytes), &rts, sizeof rts);
  }
  static void clear(Request& send, int from) {
    const p2p::wire::Cts cts{78, kLong, 0, 0};
    deliver(from, p2p::wire::answer(Kind::kCts, reinterpret_cast<std::uint64_t>(&send)), &cts, sizeof cts);
  }

  std::uint32_t context_ = 0;
  std::vector<std::byte> exposed_;
  Ref<rma::Window> window_;
  std::vector<Request*> requests_;
  std::vector<std::unique_ptr<std::byte[]>> buffers_;
};

}  // namespace
}  // namespace hr

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  hr::Job job;
  for (std::size_t at = 0; at < size;) at += job.take(data + at, size - at);
  return 0;
}
