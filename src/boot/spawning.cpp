#include "boot/spawning.hpp"

#include "boot/boot.hpp"
#include "boot/provider.hpp"
#include "boot/state.hpp"

namespace hr::boot {
namespace {

Status none(Errc error, const char* what) {
  return fail(
      error, "this launcher cannot %s for the library: start the program with Headrace's mpiexec, or on its own", what);
}

// The launchers' protocols do not allow empty strings.
Status check_service(std::string_view service, Errc error) {
  return !service.empty() ? kOk : fail(error, "the service name is empty: pass the name that the service is to have");
}

}  // namespace

// Default implementations, for launchers that do not support these services.

Status Provider::begin_spawn(std::span<const SpawnedProgram> /*programs*/, std::string_view /*parent*/) {
  return none(Errc::kSpawn, "start processes");
}
Status Provider::spawn_done(bool* done, SpawnedJob* /*job*/) {
  *done = true;
  return none(Errc::kSpawn, "start processes");
}
Status Provider::parent_port(std::string* port) {
  port->clear();
  return kOk;
}
Status Provider::publish(std::string_view /*service*/, std::string_view /*port*/) {
  return none(Errc::kService, "publish names");
}
Status Provider::unpublish(std::string_view /*service*/) { return none(Errc::kService, "publish names"); }
Status Provider::look_up(std::string_view /*service*/, std::string* /*port*/) {
  return none(Errc::kName, "look up names");
}

Status begin_spawn(std::span<const SpawnedProgram> programs, std::string_view parent) {
  return provider().begin_spawn(programs, parent);
}
bool spawn_pending() { return provider().spawn_pending(); }
Status spawn_done(bool* done, SpawnedJob* job) { return provider().spawn_done(done, job); }
void end_spawn(const SpawnedJob& job) { provider().end_spawn(job); }
Status spawned_status(const SpawnedJob& job) { return provider().spawned_status(job); }
std::vector<int> spawned_failures(const SpawnedJob& job, bool* known) {
  return provider().spawned_failures(job, known);
}
Status parent_port(std::string* port) { return provider().parent_port(port); }
Status publish(std::string_view service, std::string_view port) {
  HR_TRY(check_service(service, Errc::kService));
  if (port.empty()) return fail(Errc::kPort, "the name of the port is empty: pass what MPI_Open_port returned");
  return provider().publish(service, port);
}
Status unpublish(std::string_view service) {
  HR_TRY(check_service(service, Errc::kService));
  return provider().unpublish(service);
}
Status look_up(std::string_view service, std::string* port) {
  HR_TRY(check_service(service, Errc::kName));
  return provider().look_up(service, port);
}

}  // namespace hr::boot
