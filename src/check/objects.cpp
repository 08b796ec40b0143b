#include "check/objects.hpp"

#include "check/leaks.hpp"
#include "comm/errhandler.hpp"
#include "comm/group.hpp"
#include "comm/info.hpp"
#include "comm/session.hpp"
#include "enqueue/stream.hpp"
#include "io/file.hpp"
#include "layout/datatype.hpp"
#include "layout/op.hpp"
#include "p2p/p2p.hpp"
#include "p2p/request.hpp"
#include "rma/window.hpp"

namespace hr::check {
namespace {

constexpr HandleType kTypes[] = {
    {ObjectKind::kCommunicator, "MPI_Comm", "free with MPI_Comm_free"},
    {ObjectKind::kGroup, "MPI_Group", "free with MPI_Group_free"},
    {ObjectKind::kDatatype, "MPI_Datatype", "free with MPI_Type_free"},
    {ObjectKind::kOp, "MPI_Op", "free with MPI_Op_free"},
    {ObjectKind::kRequest, "MPI_Request", "complete with MPI_Wait or MPI_Test, or free with MPI_Request_free"},
    {ObjectKind::kMessage, "MPI_Message", "receive with MPI_Mrecv"},
    {ObjectKind::kInfo, "MPI_Info", "free with MPI_Info_free"},
    {ObjectKind::kErrhandler, "MPI_Errhandler", "free with MPI_Errhandler_free"},
    {ObjectKind::kSession, "MPI_Session", "end with MPI_Session_finalize"},
    {ObjectKind::kWindow, "MPI_Win", "free with MPI_Win_free"},
    {ObjectKind::kFile, "MPI_File", "close with MPI_File_close"},
    {ObjectKind::kStream, "MPIX_Stream", "free with MPIX_Stream_free"},
};

template <class T>
bool lives(const void* handle) noexcept {
  return Arena<T>::instance().owns(handle);
}

}  // namespace

const HandleType& handle_type(ObjectKind kind) noexcept {
  for (const HandleType& each : kTypes) {
    if (each.kind == kind) return each;
  }
  return kTypes[0];
}

bool is_live(const void* handle, ObjectKind kind) noexcept {
  switch (kind) {
    case ObjectKind::kCommunicator:
      return lives<comm::Communicator>(handle);
    case ObjectKind::kGroup:
      return lives<comm::Group>(handle);
    case ObjectKind::kDatatype:
      return lives<layout::Datatype>(handle);
    case ObjectKind::kOp:
      return lives<layout::Op>(handle);
    case ObjectKind::kRequest:
      return lives<p2p::Request>(handle);
    case ObjectKind::kMessage:
      return lives<p2p::Message>(handle);
    case ObjectKind::kInfo:
      return lives<comm::Info>(handle);
    case ObjectKind::kErrhandler:
      return lives<comm::Errhandler>(handle);
    case ObjectKind::kSession:
      return lives<comm::Session>(handle);
    case ObjectKind::kWindow:
      return lives<rma::Window>(handle);
    case ObjectKind::kFile:
      return lives<io::File>(handle);
    case ObjectKind::kStream:
      return lives<enqueue::Stream>(handle);
    default:
      return false;
  }
}

std::string name_of(const comm::Communicator& comm) {
  if (!comm.name_.empty()) return comm.name_;
  const CallSite* const made = made_at(comm.handle());
  return made == nullptr ? "the communicator" : "the communicator of " + text(*made);
}

}  // namespace hr::check
