// io: files (MPI 5.0 chapter 14), for bind/.
//
// A file is opened by all processes of a communicator and seen by each through a view of its own (file_view.hpp). Data
// is moved by an Operation (operation.hpp): by each process alone (independent.hpp), or by some of them for all, which
// write and read long segments of the file (two_phase.hpp). Everything below works on bytes of the view's data, counted
// from the view's beginning: a position.
//
// No byte is ever written that the program did not write, so that processes that write disjoint bytes, in any number,
// lose nothing; and no lock of the file system is taken. The shared pointer and the lock of the atomic mode are words
// that the processes of the file share (shared_words.hpp).
//
// Consistency (section 14.6.1): writes are visible to every process that sees the file's pages when the call, or its
// completion, returns; MPI_File_sync() makes them durable. In atomic mode the accesses of the file's processes follow
// one another.
//
// Errors (section 14.7): those of a call that all processes take part in are known to all of them if that call waits
// for the others anyway (opening, closing, views, sizes, two-phase accesses). Threads: library lock, which is released
// while this process reads or writes a file.
#pragma once

#include <string>

#include "comm/communicator.hpp"
#include "io/file.hpp"
#include "layout/datatype.hpp"
#include "p2p/p2p.hpp"

namespace hr::io {

// Called in MPI_Init and MPI_Finalize, around comm's. finalize() ends the thread of this layer, if there was one.
void init();
void finalize();

// --- section 14.2 ---

// MPI_File_open. *file gets one reference. Errors: MPI_ERR_AMODE, MPI_ERR_COMM (intercommunicator), MPI_ERR_NOT_SAME,
// and the system's: MPI_ERR_NO_SUCH_FILE, MPI_ERR_FILE_EXISTS, MPI_ERR_ACCESS, MPI_ERR_BAD_FILE, ...
Status open(comm::Communicator& comm, const char* name, int amode, const comm::Info* info, Ref<File>* file);
// MPI_File_close; the caller drops its reference afterwards. The file is closed even if this returns an error.
Status close(File& file);
// MPI_File_delete.
Status remove(const char* name);
Status set_size(File& file, Count bytes);
Status preallocate(File& file, Count bytes);
Status get_size(File& file, Count* bytes);
void set_info(File& file, const comm::Info* info);
Ref<comm::Info> get_info(const File& file);

// --- section 14.3. `displacement` may be MPI_DISPLACEMENT_CURRENT in sequential mode ---
Status set_view(File& file, Count displacement, layout::Datatype& etype, layout::Datatype& filetype,
                const char* datarep, const comm::Info* info);

// --- section 14.4: data access ---

enum class Way : std::uint8_t { kRead, kWrite };
enum class Pointer : std::uint8_t { kExplicit, kIndividual, kShared };

struct Access {
  Way way = Way::kRead;
  Pointer pointer = Pointer::kExplicit;
  bool collective = false;  // with the shared pointer: ordered
  Count offset = 0;         // kExplicit: etypes from the view's beginning
  void* buffer = nullptr;
  Count count = 0;
  layout::Datatype* type = nullptr;
};

// Errors: MPI_ERR_ACCESS, MPI_ERR_READ_ONLY (the file was not opened for that), MPI_ERR_UNSUPPORTED_OPERATION (mode
// sequential), MPI_ERR_ARG (offset, or not a whole number of etypes), make_view()'s; MPI_ERR_NO_SPACE, MPI_ERR_QUOTA,
// MPI_ERR_IO and so on from the system, with the bytes moved so far in the completion.
Status run(File& file, const Access& access, p2p::Completion* completion);
// *request gets one reference, the caller's.
Status start(File& file, const Access& access, p2p::Request** request);
// Split collectives. At most one for each file; end() is of the same kind and buffer.
Status begin(File& file, const Access& access);
Status end(File& file, const Access& access, p2p::Completion* completion);

// --- pointers ---
Status seek(File& file, Count offset, int whence);
Status get_position(File& file, Count* offset);
Status seek_shared(File& file, Count offset, int whence);
Status get_position_shared(File& file, Count* offset);
// Returns bytes from the beginning of the file.
Status get_byte_offset(File& file, Count offset, Count* bytes);

// --- sections 14.5, 14.6 ---
// Finds the distance of elements of the type in the file.
Status get_type_extent(File& file, layout::Datatype& type, Count* extent);
Status set_atomicity(File& file, bool atomic);
Status sync(File& file);

}  // namespace hr::io
