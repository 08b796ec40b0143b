#include "io/independent.hpp"

#include "io/device_transfer.hpp"

namespace hr::io {

p2p::Task independent(Operation* operation, Job* job) {
  if (operation->bytes() == 0) co_return kOk;
  std::size_t done = 0;
  Status status;
  if (device_moves(operation->memory())) {
    p2p::Task moving = move_by_device(operation);
    HR_CO_TRY(co_await moving);
    co_return kOk;
  }
  if (operation->memory().where.is_device()) {
    // Copying device data needs the library lock.
    status = operation->writes() ? write_view(operation->place(), operation->memory(), &done)
                                 : read_view(operation->place(), operation->memory(), &done);
  } else {
    std::function<Status()> what = [operation, place = operation->place(), moved = &done] {
      return operation->writes() ? write_view(place, operation->memory(), moved)
                                 : read_view(place, operation->memory(), moved);
    };
    p2p::Task working = operation->work(job, &what);
    status = co_await working;
  }
  operation->set_done(done);
  co_return status;
}

}  // namespace hr::io
