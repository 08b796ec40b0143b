// Random views: in each round all ranks see parts of one file that do not overlap, through views of random types, and
// write and read them with any of the functions; every byte of the file, of the holes and of the buffers is checked
// against a model that is computed from the seed.
//
//   views [--seed N] [--rounds N] [--kinds host|all] [--largest N]
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>

#include "../../gpu/mpi_memory.hpp"
#include "io_test.hpp"

namespace {

using io_test::Bytes;
using Generator = std::mt19937_64;

int draw(Generator& random, int low, int high) {
  return low + static_cast<int>(random() % static_cast<std::uint64_t>(high - low + 1));
}

struct Settings {
  std::uint64_t seed = 1;
  int rounds = 120;
  bool devices = false;
  int largest = 60;  // tiles
};

// Properties of a round, known to all ranks.
struct Round {
  int etype_bytes;
  int tile;                  // etypes
  std::vector<int> owner;    // owner of each etype in a tile; -1: none
  bool distributed = false;  // true if a distributed array type with these parameters divides the tile
  int gsizes[2], psizes[2], distribs[2], dargs[2];
  int displacement, first_tile, tiles;  // where data begins, and how much there is, in tiles
  int hints;
  int way_to_write, way_to_read;
  bool old_content;
  std::uint64_t salt;

  std::vector<int> places_of(int rank) const {
    std::vector<int> places;
    for (int i = 0; i < tile; ++i) {
      if (owner[static_cast<std::size_t>(i)] == rank) places.push_back(i);
    }
    return places;
  }
  std::size_t offset(int tile_number, int place) const {
    return static_cast<std::size_t>(displacement) +
           (static_cast<std::size_t>(tile_number) * static_cast<std::size_t>(tile) + static_cast<std::size_t>(place)) *
               static_cast<std::size_t>(etype_bytes);
  }
};

int owner_in_dimension(int index, int size, int processes, int distrib, int darg) {
  if (distrib == MPI_DISTRIBUTE_NONE) return 0;
  if (distrib == MPI_DISTRIBUTE_BLOCK) return index / ((size + processes - 1) / processes);
  const int block = darg == MPI_DISTRIBUTE_DFLT_DARG ? 1 : darg;
  return index / block % processes;
}

void distribute(Generator& random, int ranks, Round& round) {
  round.distributed = true;
  int dims[2] = {0, 0};
  MPI_Dims_create(ranks, 2, dims);
  for (int d = 0; d < 2; ++d) {
    round.psizes[d] = dims[d];
    round.gsizes[d] = draw(random, dims[d], dims[d] + 9);
    round.distribs[d] = draw(random, 0, 1) == 0 ? MPI_DISTRIBUTE_BLOCK : MPI_DISTRIBUTE_CYCLIC;
    round.dargs[d] = MPI_DISTRIBUTE_DFLT_DARG;
    if (round.distribs[d] == MPI_DISTRIBUTE_CYCLIC) round.dargs[d] = draw(random, 1, 3);
  }
  round.tile = round.gsizes[0] * round.gsizes[1];
  for (int i = 0; i < round.tile; ++i) {
    const int row =
        owner_in_dimension(i / round.gsizes[1], round.gsizes[0], dims[0], round.distribs[0], round.dargs[0]);
    const int column =
        owner_in_dimension(i % round.gsizes[1], round.gsizes[1], dims[1], round.distribs[1], round.dargs[1]);
    round.owner.push_back(row * dims[1] + column);
  }
}

Round draw_round(const Settings& settings, int ranks, int number) {
  Generator random(settings.seed * 1000003 + static_cast<std::uint64_t>(number));
  Round round{};
  constexpr int kEtypes[] = {1, 2, 4, 8, 12, 24};
  round.etype_bytes = kEtypes[draw(random, 0, 5)];
  if (draw(random, 0, 3) == 0) {
    distribute(random, ranks, round);
  } else {
    round.tile = draw(random, 1, 40);
    const int run = draw(random, 1, 6);  // consecutive etypes mostly have one owner
    int current = draw(random, -1, ranks - 1);
    for (int i = 0; i < round.tile; ++i) {
      if (draw(random, 1, run) == 1) current = draw(random, -1, ranks - 1);
      round.owner.push_back(current);
    }
  }
  round.displacement = draw(random, 0, 1) * draw(random, 0, 5000);
  round.first_tile = draw(random, 0, 2);
  round.tiles = draw(random, 1, 5) == 1 ? draw(random, 1, settings.largest) : draw(random, 1, 8);
  round.hints = draw(random, 0, 7);
  round.way_to_write = draw(random, 0, 8);
  round.way_to_read = draw(random, 0, 8);
  round.old_content = draw(random, 0, 1) == 0;
  round.salt = random();
  return round;
}

MPI_Datatype make_etype(int bytes) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  if (bytes == 24) {
    const int lengths[] = {1, 2, 3};
    const MPI_Aint places[] = {0, 8, 12};
    const MPI_Datatype types[] = {MPI_DOUBLE, MPI_SHORT, MPI_INT};
    MPI_Type_create_struct(3, lengths, places, types, &type);
    // A type of 8 + 4 + 12 bytes without a gap.
  } else if (bytes == 4) {
    MPI_Type_dup(MPI_INT, &type);
  } else {
    MPI_Type_contiguous(bytes, MPI_BYTE, &type);
  }
  MPI_Type_commit(&type);
  return type;
}

MPI_Datatype resized(MPI_Datatype old, MPI_Aint extent) {
  MPI_Datatype made = MPI_DATATYPE_NULL;
  MPI_Type_create_resized(old, 0, extent, &made);
  MPI_Type_free(&old);
  MPI_Type_commit(&made);
  return made;
}

// Creates a type of the etypes at these positions in a tile, with any constructor.
MPI_Datatype make_filetype(const Round& round, int rank, int ranks, MPI_Datatype etype, Generator& random) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  const std::vector<int> places = round.places_of(rank);
  if (round.distributed && !places.empty()) {
    MPI_Type_create_darray(ranks, rank, 2, round.gsizes, round.distribs, round.dargs, round.psizes, MPI_ORDER_C, etype,
                           &type);
    MPI_Type_commit(&type);
    return type;
  }
  const int count = static_cast<int>(places.size());
  const MPI_Aint extent = static_cast<MPI_Aint>(round.tile) * round.etype_bytes;
  switch (draw(random, 0, 2)) {
    case 0:
      MPI_Type_create_indexed_block(count, 1, places.data(), etype, &type);
      break;
    case 1: {
      std::vector<MPI_Aint> offsets;
      std::vector<int> ones(places.size(), 1);
      for (const int place : places) offsets.push_back(static_cast<MPI_Aint>(place) * round.etype_bytes);
      MPI_Type_create_hindexed(count, ones.data(), offsets.data(), etype, &type);
      break;
    }
    default: {
      // The type consists of two halves, one of them nested in the other.
      const int half = count / 2;
      MPI_Datatype parts[2];
      MPI_Type_create_indexed_block(half, 1, places.data(), etype, &parts[0]);
      MPI_Type_create_indexed_block(count - half, 1, places.data() + half, etype, &parts[1]);
      const int ones[] = {1, 1};
      const MPI_Aint zeros[] = {0, 0};
      MPI_Type_create_struct(2, ones, zeros, parts, &type);
      MPI_Type_free(&parts[0]);
      MPI_Type_free(&parts[1]);
      break;
    }
  }
  return resized(type, extent);
}

// A buffer of `units` etypes: its datatype, and the offset of each etype.
struct Memory {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  int count = 0;
  std::vector<std::size_t> offsets;
  std::size_t span = 64;
  std::size_t origin = 32;

  Memory(int units, int bytes, MPI_Datatype etype, Generator& random) {
    const int kind = draw(random, 0, 3);
    const auto unit = static_cast<std::size_t>(bytes);
    const std::size_t step = unit * static_cast<std::size_t>(draw(random, 2, 3));
    if (kind == 0 || units == 0) {
      MPI_Type_dup(etype, &type);
      count = units;
      for (int i = 0; i < units; ++i) offsets.push_back(static_cast<std::size_t>(i) * unit);
    } else if (kind == 1) {
      MPI_Type_vector(units, 1, static_cast<int>(step / unit), etype, &type);
      count = 1;
      for (int i = 0; i < units; ++i) offsets.push_back(static_cast<std::size_t>(i) * step);
    } else if (kind == 2) {
      MPI_Type_create_resized(etype, 0, static_cast<MPI_Aint>(step), &type);
      count = units;
      for (int i = 0; i < units; ++i) offsets.push_back(static_cast<std::size_t>(i) * step);
    } else {
      std::vector<int> places;  // backwards
      for (int i = 0; i < units; ++i) {
        places.push_back(units - 1 - i);
        offsets.push_back(static_cast<std::size_t>(units - 1 - i) * unit);
      }
      MPI_Type_create_indexed_block(units, 1, places.data(), etype, &type);
      count = 1;
    }
    MPI_Type_commit(&type);
    for (const std::size_t offset : offsets) span = std::max(span, offset + unit + 64);
  }
  ~Memory() { MPI_Type_free(&type); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
};

struct Call {
  MPI_File file;
  MPI_Offset offset;  // etypes
  void* buffer;
  int count;
  MPI_Datatype type;
};

void finish(MPI_Request* request, MPI_Status* status) {
  int flag = 0;
  for (int i = 0; i < 3 && flag == 0; ++i) CHECK_OK(MPI_Test(request, &flag, status));
  if (flag == 0) CHECK_OK(MPI_Wait(request, status));
}

MPI_Status write_by(int way, const Call& c) {
  MPI_Status status;
  MPI_Request request = MPI_REQUEST_NULL;
  switch (way) {
    case 0:
      CHECK_OK(MPI_File_write_at(c.file, c.offset, c.buffer, c.count, c.type, &status));
      break;
    case 1:
      CHECK_OK(MPI_File_write_at_all(c.file, c.offset, c.buffer, c.count, c.type, &status));
      break;
    case 2:
      CHECK_OK(MPI_File_seek(c.file, c.offset, MPI_SEEK_SET));
      CHECK_OK(MPI_File_write(c.file, c.buffer, c.count, c.type, &status));
      break;
    case 3:
      CHECK_OK(MPI_File_seek(c.file, c.offset, MPI_SEEK_CUR));
      CHECK_OK(MPI_File_write_all(c.file, c.buffer, c.count, c.type, &status));
      break;
    case 4:
      CHECK_OK(MPI_File_iwrite_at(c.file, c.offset, c.buffer, c.count, c.type, &request));
      break;
    case 5:
      CHECK_OK(MPI_File_iwrite_at_all(c.file, c.offset, c.buffer, c.count, c.type, &request));
      break;
    case 6:
      CHECK_OK(MPI_File_seek(c.file, c.offset, MPI_SEEK_SET));
      CHECK_OK(MPI_File_iwrite_all(c.file, c.buffer, c.count, c.type, &request));
      break;
    case 7:
      CHECK_OK(MPI_File_write_at_all_begin(c.file, c.offset, c.buffer, c.count, c.type));
      CHECK_OK(MPI_File_write_at_all_end(c.file, c.buffer, &status));
      break;
    default:
      CHECK_OK(MPI_File_seek(c.file, c.offset, MPI_SEEK_SET));
      CHECK_OK(MPI_File_write_all_begin(c.file, c.buffer, c.count, c.type));
      CHECK_OK(MPI_File_write_all_end(c.file, c.buffer, &status));
      break;
  }
  if (way >= 4 && way <= 6) finish(&request, &status);
  return status;
}

MPI_Status read_by(int way, const Call& c) {
  MPI_Status status;
  MPI_Request request = MPI_REQUEST_NULL;
  switch (way) {
    case 0:
      CHECK_OK(MPI_File_read_at(c.file, c.offset, c.buffer, c.count, c.type, &status));
      break;
    case 1:
      CHECK_OK(MPI_File_read_at_all(c.file, c.offset, c.buffer, c.count, c.type, &status));
      break;
    case 2:
      CHECK_OK(MPI_File_seek(c.file, c.offset, MPI_SEEK_SET));
      CHECK_OK(MPI_File_read(c.file, c.buffer, c.count, c.type, &status));
      break;
    case 3:
      CHECK_OK(MPI_File_seek(c.file, c.offset, MPI_SEEK_SET));
      CHECK_OK(MPI_File_read_all(c.file, c.buffer, c.count, c.type, &status));
      break;
    case 4:
      CHECK_OK(MPI_File_iread_at(c.file, c.offset, c.buffer, c.count, c.type, &request));
      break;
    case 5:
      CHECK_OK(MPI_File_iread_at_all(c.file, c.offset, c.buffer, c.count, c.type, &request));
      break;
    case 6:
      CHECK_OK(MPI_File_seek(c.file, c.offset, MPI_SEEK_SET));
      CHECK_OK(MPI_File_iread_all(c.file, c.buffer, c.count, c.type, &request));
      break;
    case 7:
      CHECK_OK(MPI_File_read_at_all_begin(c.file, c.offset, c.buffer, c.count, c.type));
      CHECK_OK(MPI_File_read_at_all_end(c.file, c.buffer, &status));
      break;
    default:
      CHECK_OK(MPI_File_seek(c.file, c.offset, MPI_SEEK_SET));
      CHECK_OK(MPI_File_read_all_begin(c.file, c.buffer, c.count, c.type));
      CHECK_OK(MPI_File_read_all_end(c.file, c.buffer, &status));
      break;
  }
  if (way >= 4 && way <= 6) finish(&request, &status);
  return status;
}

io_test::Info* make_hints(int which, int ranks) {
  switch (which) {
    case 0:
      return new io_test::Info{{"cb_buffer_size", "64"}, {"romio_cb_write", "enable"}, {"romio_cb_read", "enable"}};
    case 1:
      return new io_test::Info{{"cb_buffer_size", "1000"}, {"cb_nodes", "1"}, {"romio_ds_read", "disable"}};
    case 2:
      return new io_test::Info{{"cb_buffer_size", "4096"},
                               {"cb_nodes", std::to_string(ranks)},
                               {"romio_cb_write", "enable"},
                               {"romio_cb_read", "enable"}};
    case 3:
      return new io_test::Info{{"romio_cb_write", "disable"},
                               {"romio_cb_read", "disable"},
                               {"ind_rd_buffer_size", "16"},
                               {"ind_wr_buffer_size", "48"}};
    case 4:
      return new io_test::Info{{"ind_rd_buffer_size", "700"}, {"romio_ds_read", "enable"}, {"cb_buffer_size", "7"}};
    default:
      return nullptr;
  }
}

// One rank's buffer, filled and checked.
class Part {
 public:
  Part(const Settings& settings, const Round& round, int rank, Generator& random, MPI_Datatype etype)
      : round_(round),
        rank_(rank),
        places_(round.places_of(rank)),
        memory_(static_cast<int>(places_.size()) * round.tiles, round.etype_bytes, etype, random),
        buffer_(memory_.span,
                settings.devices ? hr::test::kAllKinds[draw(random, 0, 7)] : hr::test::MemoryKind::kHost) {}

  std::size_t units() const { return memory_.offsets.size(); }
  Call call(MPI_File file) const {
    const auto first = static_cast<MPI_Offset>(places_.size()) * round_.first_tile;
    return {file, first, buffer_.bytes() + memory_.origin, memory_.count, memory_.type};
  }
  void fill() { buffer_.put(expected(units())); }
  void poison() { buffer_.put(Bytes(memory_.span, 0xc3)); }
  // Checks that the first `there` etypes have arrived, and that no other byte has changed.
  void check(const char* what, std::size_t there) const {
    const Bytes found = buffer_.take<unsigned char>();
    const Bytes wanted = expected(there);
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (found[i] != wanted[i])
        check::fail(__FILE__, __LINE__,
                    std::string(what) + ": byte " + std::to_string(i) + " of the buffer is " +
                        std::to_string(found[i]) + ", not " + std::to_string(wanted[i]));
    }
  }

 private:
  Bytes expected(std::size_t there) const {
    Bytes bytes(memory_.span, 0xc3);
    const auto unit = static_cast<std::size_t>(round_.etype_bytes);
    for (std::size_t i = 0; i < there; ++i) {
      for (std::size_t b = 0; b < unit; ++b) {
        bytes[memory_.origin + memory_.offsets[i] + b] =
            io_test::byte_of(rank_, i * unit + b, static_cast<unsigned>(round_.salt));
      }
    }
    return bytes;
  }

  const Round& round_;
  int rank_;
  std::vector<int> places_;
  Memory memory_;
  hr::test::Buffer buffer_;
};

// Returns the expected content of the file.
Bytes model(const Round& round, int ranks, const Bytes& before) {
  Bytes file = before;
  const auto unit = static_cast<std::size_t>(round.etype_bytes);
  for (int rank = 0; rank < ranks; ++rank) {
    const std::vector<int> places = round.places_of(rank);
    std::size_t index = 0;
    for (int tile = round.first_tile; tile < round.first_tile + round.tiles; ++tile) {
      for (const int place : places) {
        const std::size_t offset = round.offset(tile, place);
        if (file.size() < offset + unit) file.resize(offset + unit);
        for (std::size_t b = 0; b < unit; ++b, ++index)
          file[offset + b] = io_test::byte_of(rank, index, static_cast<unsigned>(round.salt));
      }
    }
  }
  return file;
}

void compare(const Bytes& found, const Bytes& wanted) {
  CHECK_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i] != wanted[i])
      check::fail(__FILE__, __LINE__,
                  "byte " + std::to_string(i) + " of the file is " + std::to_string(found[i]) + ", not " +
                      std::to_string(wanted[i]));
  }
}

void set_view(const Round& round, MPI_File file, MPI_Datatype etype, MPI_Datatype filetype) {
  CHECK_OK(MPI_File_set_view(file, round.displacement, etype, filetype, "native", MPI_INFO_NULL));
}

// Reads the file back, within its length and across its end.
void read_back(const Settings& settings, const Round& round, MPI_File file, int rank, Generator& random,
               MPI_Datatype etype, std::size_t size) {
  Part part(settings, round, rank, random, etype);
  part.poison();
  const MPI_Status status = read_by(round.way_to_read, part.call(file));
  // Counts the etypes before the end of the file.
  std::size_t there = 0;
  const std::vector<int> places = round.places_of(rank);
  for (int tile = round.first_tile; tile < round.first_tile + round.tiles; ++tile) {
    for (const int place : places) {
      if (round.offset(tile, place) + static_cast<std::size_t>(round.etype_bytes) <= size) ++there;
    }
  }
  CHECK_EQ(io_test::count_of(status, etype), static_cast<int>(there));
  part.check("read", there);
}

void play(const Settings& settings, const check::Environment& mpi, const io_test::Name& name, int number) {
  const Round round = draw_round(settings, mpi.size, number);
  Generator random(settings.seed * 77 + static_cast<std::uint64_t>(number) * 1000 +
                   static_cast<std::uint64_t>(mpi.rank));
  Generator common(round.salt);
  Bytes before;
  if (round.old_content) before.assign(static_cast<std::size_t>(draw(common, 1, 6000)), 0xee);
  if (mpi.rank == 0) io_test::put_content(name.c_str(), before);
  MPI_Barrier(MPI_COMM_WORLD);

  const std::unique_ptr<io_test::Info> hints(make_hints(round.hints, mpi.size));
  MPI_File file = MPI_FILE_NULL;
  CHECK_OK(MPI_File_open(MPI_COMM_WORLD, name.c_str(), MPI_MODE_RDWR | MPI_MODE_CREATE,
                         hints ? static_cast<MPI_Info>(*hints) : MPI_INFO_NULL, &file));
  MPI_Datatype etype = make_etype(round.etype_bytes);
  MPI_Datatype filetype = make_filetype(round, mpi.rank, mpi.size, etype, random);
  set_view(round, file, etype, filetype);
  {
    Part part(settings, round, mpi.rank, random, etype);
    part.fill();
    const MPI_Status status = write_by(round.way_to_write, part.call(file));
    CHECK_EQ(io_test::count_of(status, etype), static_cast<int>(part.units()));
    part.check("written", part.units());
  }
  CHECK_OK(MPI_File_sync(file));
  MPI_Barrier(MPI_COMM_WORLD);
  const Bytes wanted = model(round, mpi.size, before);
  if (mpi.rank == 0) compare(io_test::content(name.c_str()), wanted);
  MPI_Barrier(MPI_COMM_WORLD);
  read_back(settings, round, file, mpi.rank, random, etype, wanted.size());
  // The file gets another length.
  const std::size_t cut = wanted.empty() ? 0 : static_cast<std::size_t>(common() % wanted.size());
  const std::size_t whole =
      cut / static_cast<std::size_t>(round.etype_bytes) * static_cast<std::size_t>(round.etype_bytes);
  const std::size_t size = static_cast<std::size_t>(round.displacement) + whole;
  if (size < wanted.size()) {
    CHECK_OK(MPI_File_set_size(file, static_cast<MPI_Offset>(size)));
    read_back(settings, round, file, mpi.rank, random, etype, size);
  }
  CHECK_OK(MPI_File_close(&file));
  MPI_Type_free(&filetype);
  MPI_Type_free(&etype);
}

}  // namespace

int main(int argc, char** argv) {
  check::Environment mpi(&argc, &argv);
  Settings settings;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string option = argv[i], value = argv[i + 1];
    if (option == "--seed") settings.seed = std::stoull(value);
    if (option == "--rounds") settings.rounds = std::stoi(value);
    if (option == "--largest") settings.largest = std::stoi(value);
    if (option == "--kinds") settings.devices = value == "all";
  }
  if (settings.devices && !hr::test::select_device()) return 0;
  const io_test::Name name("views");
  for (int round = 0; round < settings.rounds; ++round) {
    if (mpi.rank == 0 && std::getenv("TEST_VERBOSE") != nullptr) std::fprintf(stderr, "round %d\n", round);
    play(settings, mpi, name, round);
  }
  if (mpi.rank == 0)
    std::printf("seed %llu, %d rounds\n", static_cast<unsigned long long>(settings.seed), settings.rounds);
  return 0;
}
