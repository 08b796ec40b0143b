// Generalized requests (MPI 5.0 section 13.2): the program does the work, and MPI waits for it.
#include <utility>

#include "base/driver_epoch.hpp"
#include "bind/impl.hpp"
#include "bind/impl/completion.hpp"
#include "bind/status.hpp"

namespace hr::bind::impl {
namespace {

class GeneralizedState final : public p2p::RequestState {
 public:
  GeneralizedState(MPI_Grequest_query_function* query, MPI_Grequest_free_function* free,
                   MPI_Grequest_cancel_function* cancel, void* extra_state)
      : query_(query), free_(free), cancel_(cancel), extra_state_(extra_state) {}
  GeneralizedState(const GeneralizedState&) = delete;
  GeneralizedState& operator=(const GeneralizedState&) = delete;
  ~GeneralizedState() override { static_cast<void>(call_free()); }

  Status query(p2p::Request& /*request*/, p2p::Completion* completion) override {
    MPI_Status status;
    set_empty(status);
    const int code = query_ == nullptr ? MPI_SUCCESS : DriverEpoch::after_callback(query_(extra_state_, &status));
    *completion = completion_of(status);
    return Status::from_code(code);
  }

  Status cancel(p2p::Request& request) override {
    const int complete = request.complete() ? 1 : 0;
    return Status::from_code(cancel_ == nullptr ? MPI_SUCCESS
                                                : DriverEpoch::after_callback(cancel_(extra_state_, complete)));
  }

  Status retire(p2p::Request& /*request*/) override { return call_free(); }

  [[nodiscard]] const char* what() const noexcept override { return "generalized request"; }

 private:
  // Calls free_fn once: in the wait that frees the request, or when this object is destroyed, whichever comes first.
  Status call_free() {
    MPI_Grequest_free_function* function = std::exchange(free_, nullptr);
    return Status::from_code(function == nullptr ? MPI_SUCCESS : DriverEpoch::after_callback(function(extra_state_)));
  }

  MPI_Grequest_query_function* query_;
  MPI_Grequest_free_function* free_;
  MPI_Grequest_cancel_function* cancel_;
  void* extra_state_;
};

}  // namespace

Status grequest_start(MPI_Grequest_query_function* query_fn, MPI_Grequest_free_function* free_fn,
                      MPI_Grequest_cancel_function* cancel_fn, void* extra_state, p2p::Request*& request) {
  request = Arena<p2p::Request>::instance().create();
  if (request == nullptr) return fail(Errc::kNoMem, "no memory for another request");
  request->state_ = std::make_unique<GeneralizedState>(query_fn, free_fn, cancel_fn, extra_state);
  // Retained until MPI_Grequest_complete, as the program may free the request before that.
  request->retain();
  return kOk;
}

Status grequest_complete(MPI_Request request) {
  p2p::Request* object = nullptr;
  HR_TRY(find_request(request, -1, &object));
  if (object == nullptr || dynamic_cast<GeneralizedState*>(object->state_.get()) == nullptr) {
    return fail(Errc::kRequest, "request is not a generalized request");
  }
  if (object->complete()) return fail(Errc::kRequest, "the generalized request is already complete");
  object->finish(p2p::Completion{});
  // If the program has freed the handle, free_fn is called here, and the code that it returns is this call's error.
  const bool last = object->references() == 1;
  const Status freed = last ? object->state_->retire(*object) : kOk;
  release(object);
  return freed;
}

}  // namespace hr::bind::impl
