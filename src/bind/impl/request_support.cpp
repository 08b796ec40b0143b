#include "bind/impl/request_support.hpp"

#include "bind/handles.hpp"
#include "bind/raise.hpp"
#include "p2p/turns.hpp"

namespace hr::bind::impl {
namespace {

class NothingState final : public p2p::RequestState {
 public:
  explicit NothingState(const p2p::Completion& completion) : completion_(completion) {}
  Status start(p2p::Request& request) override {
    request.active_ = true;
    request.finish(completion_);
    p2p::take_turn();
    return kOk;
  }
  // Does nothing: the request is complete once it is started.
  Status cancel(p2p::Request& /*request*/) override { return kOk; }
  [[nodiscard]] const char* what() const noexcept override { return "persistent operation with MPI_PROC_NULL"; }

 private:
  p2p::Completion completion_;
};

Status no_memory() {
  return fail(Errc::kNoMem, "no memory for another request (%zu are live)", Arena<p2p::Request>::instance().live());
}

}  // namespace

void destroy_communicator(Object* communicator) {
  Arena<comm::Communicator>::instance().destroy(static_cast<comm::Communicator*>(communicator));
}

Status done_already(const p2p::Completion& completion, p2p::Request*& request) {
  p2p::take_turn();
  request = p2p::completed_request(completion);
  return request == nullptr ? no_memory() : kOk;
}

Status persistent_nothing(const p2p::Completion& completion, p2p::Request*& request) {
  request = Arena<p2p::Request>::instance().create();
  if (request == nullptr) return no_memory();
  request->persistent_ = true;
  request->active_ = false;
  request->state_ = std::make_unique<NothingState>(completion);
  return kOk;
}

Status raised_for(const p2p::Request& request, Status status) {
  if (!status.ok() && request.communicator_ != nullptr) blame(request.communicator_);
  return status;
}

p2p::Message* no_process_message() {
  static p2p::Message* const message = [] {
    static p2p::Message object;
    object.set_predefined_handle(abi::kMessageNoProc);
    return &object;
  }();
  return message;
}

Status take_message(MPI_Message* handle, p2p::Message** message) {
  *message = nullptr;
  if (*handle == MPI_MESSAGE_NO_PROC) return kOk;
  *message = lookup<p2p::Message>(*handle);
  if (*message != nullptr) return kOk;
  return fail(Errc::kRequest, "message is %s",
              *handle == MPI_MESSAGE_NULL ? "MPI_MESSAGE_NULL"
                                          : "not a live message handle (received already, or never matched)");
}

}  // namespace hr::bind::impl
