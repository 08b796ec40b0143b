// Common parts of the file tests: a name known to all ranks, the file's bytes read without MPI, and info objects parsed
// from a string.
#pragma once

#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "common/check.hpp"

namespace io_test {

using Bytes = std::vector<unsigned char>;

// The name of a file for this run, the same on every rank. The file is in TMPDIR if that is set, otherwise in memory:
// on a disk in use by others, every MPI_File_sync is slow. The file is removed at the end. Collective.
class Name {
 public:
  explicit Name(const char* what) {
    char path[512] = "";
    if (check::world_rank() == 0) {
      const char* const directory = std::getenv("TMPDIR");
      std::snprintf(path, sizeof path, "%s/io-test.%s.%d", directory != nullptr ? directory : "/dev/shm", what,
                    static_cast<int>(::getpid()));
    }
    MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
    path_ = path;
    remove();
  }
  ~Name() { remove(); }
  Name(const Name&) = delete;
  Name& operator=(const Name&) = delete;

  [[nodiscard]] const char* c_str() const { return path_.c_str(); }

 private:
  void remove() {
    MPI_Barrier(MPI_COMM_WORLD);
    if (check::world_rank() == 0) ::unlink(path_.c_str());
    MPI_Barrier(MPI_COMM_WORLD);
  }
  std::string path_;
};

inline Bytes content(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline void put_content(const char* path, const Bytes& bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

class Info {
 public:
  Info(std::initializer_list<std::pair<const char*, std::string>> pairs) {
    MPI_Info_create(&info_);
    for (const auto& [key, value] : pairs) MPI_Info_set(info_, key, value.c_str());
  }
  ~Info() { MPI_Info_free(&info_); }
  Info(const Info&) = delete;
  Info& operator=(const Info&) = delete;
  operator MPI_Info() const { return info_; }

 private:
  MPI_Info info_ = MPI_INFO_NULL;
};

inline std::string value_of(MPI_Info info, const char* key) {
  char value[MPI_MAX_INFO_VAL + 1] = "";
  int flag = 0;
  MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &flag);
  return flag != 0 ? value : "";
}

// Returns a byte that depends on its writer and on its position in that rank's data.
inline unsigned char byte_of(int rank, std::size_t place, unsigned salt) {
  return static_cast<unsigned char>((place * 2654435761u + static_cast<unsigned>(rank) * 40503u + salt * 97u) >> 7);
}

inline int count_of(const MPI_Status& status, MPI_Datatype type) {
  int count = -1;
  MPI_Get_count(&status, type, &count);
  return count;
}

}  // namespace io_test
