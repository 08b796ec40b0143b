// io: files (MPI 5.0 chapter 14), for bind/.
//
// A file is opened by all processes of a communicator, each of which accesses it through its own view (file_view.hpp).
// Data is moved by an Operation (operation.hpp): independently by each process (independent.hpp), or by some processes
// for all, which access long segments of the file (two_phase.hpp). All of these work with positions: indices of bytes
// in the view's data.
//
// No byte is ever written that the program did not write, so any number of processes can write disjoint bytes without
// losing data, and no file-system lock is needed. The shared file pointer and the lock for atomic mode are words
// that the processes of the file share (shared_words.hpp).
//
// Consistency (section 14.6.1): when the call, or its completion, returns, writes are visible to every process that
// shares the file's pages in the page cache; MPI_File_sync() makes them durable. In atomic mode the accesses of the
// file's processes are serialized.
//
// Errors (section 14.7): an error of a collective call is returned on all processes if that call waits for the others
// anyway (opening, closing, views, sizes, two-phase accesses). Threads: library lock, which is released while this
// process reads or writes a file.
#pragma once

#include <string>

#include "comm/communicator.hpp"
#include "io/file.hpp"
#include "layout/datatype.hpp"
#include "p2p/p2p.hpp"

namespace hr::io {

// Called in MPI_Init after comm's init(), and in MPI_Finalize before comm's finalize(). finalize() ends the worker
// thread, if there is one.
void init();
void finalize();

// --- Section 14.2 ---

// MPI_File_open. *file: receives a reference. Errors: MPI_ERR_AMODE, MPI_ERR_COMM (intercommunicator),
// MPI_ERR_NOT_SAME, and the system's: MPI_ERR_NO_SUCH_FILE, MPI_ERR_FILE_EXISTS, MPI_ERR_ACCESS, MPI_ERR_BAD_FILE, ...
Status open(comm::Communicator& comm, const char* name, int amode, const comm::Info* info, Ref<File>* file);
// MPI_File_close; the caller releases its reference afterwards. The file is closed even if this returns an error.
Status close(File& file);
// MPI_File_delete.
Status remove(const char* name);
Status set_size(File& file, Count bytes);
Status preallocate(File& file, Count bytes);
Status get_size(File& file, Count* bytes);
void set_info(File& file, const comm::Info* info);
Ref<comm::Info> get_info(const File& file);

// --- Section 14.3. `displacement` may be MPI_DISPLACEMENT_CURRENT in sequential mode ---
Status set_view(File& file, Count displacement, layout::Datatype& etype, layout::Datatype& filetype,
                const char* datarep, const comm::Info* info);

// --- Section 14.4: data access ---

enum class Way : std::uint8_t { kRead, kWrite };
enum class Pointer : std::uint8_t { kExplicit, kIndividual, kShared };

struct Access {
  Way way = Way::kRead;
  Pointer pointer = Pointer::kExplicit;
  bool collective = false;  // true if collective; with the shared pointer, in rank order
  Count offset = 0;         // kExplicit: number of etypes from the start of the view
  void* buffer = nullptr;
  Count count = 0;
  layout::Datatype* type = nullptr;
};

// Errors: MPI_ERR_ACCESS, MPI_ERR_READ_ONLY (the file was not opened for this access), MPI_ERR_UNSUPPORTED_OPERATION
// (sequential mode), MPI_ERR_ARG (a bad offset, or not a whole number of etypes), those of make_view(); and
// MPI_ERR_NO_SPACE, MPI_ERR_QUOTA, MPI_ERR_IO and so on from the system, with the bytes moved so far in the completion.
Status run(File& file, const Access& access, p2p::Completion* completion);
// *request: receives a reference, which the caller owns.
Status start(File& file, const Access& access, p2p::Request** request);
// Split collectives; a file has at most one at a time. end() must have the same kind and buffer as begin().
Status begin(File& file, const Access& access);
Status end(File& file, const Access& access, p2p::Completion* completion);

// --- File pointers ---
Status seek(File& file, Count offset, int whence);
Status get_position(File& file, Count* offset);
Status seek_shared(File& file, Count offset, int whence);
Status get_position_shared(File& file, Count* offset);
// Converts an offset in the view to bytes from the start of the file.
Status get_byte_offset(File& file, Count offset, Count* bytes);

// --- Sections 14.5 and 14.6 ---
// Finds the extent of a type in the file.
Status get_type_extent(File& file, layout::Datatype& type, Count* extent);
Status set_atomicity(File& file, bool atomic);
Status sync(File& file);

}  // namespace hr::io
