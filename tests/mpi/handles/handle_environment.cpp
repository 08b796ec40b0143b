// Queries of the environment (MPI 5.0 sections 9.1, 9.2, 20.2): versions, names, MPI_Wtick, memory, the ABI and its
// Fortran sizes, the recorded calls of MPI_Pcontrol. Output arguments have different values before the call.
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "../common/check.hpp"

namespace {

std::string value_of(MPI_Info info, const char* key) {
  char value[MPI_MAX_INFO_VAL + 1] = "";
  int room = sizeof value, flag = 0;
  CHECK_OK(MPI_Info_get_string(info, key, &room, value, &flag));
  return flag != 0 ? value : "";
}

int keys_of(MPI_Info info) {
  int keys = -1;
  CHECK_OK(MPI_Info_get_nkeys(info, &keys));
  return keys;
}

// Returns the string that a function has written to a buffer filled with 0xff, and checks its length.
std::string text(const std::vector<char>& room, int length) {
  CHECK(length > 0 && length < static_cast<int>(room.size()));
  CHECK_EQ(room[static_cast<std::size_t>(length)], '\0');
  CHECK_EQ(std::strlen(room.data()), static_cast<std::size_t>(length));
  return room.data();
}

void names() {
  int version = -1, subversion = -1;
  CHECK_OK(MPI_Get_version(&version, &subversion));
  CHECK_EQ(version, MPI_VERSION);
  CHECK_EQ(subversion, MPI_SUBVERSION);

  int length = -1;
  std::vector<char> library(MPI_MAX_LIBRARY_VERSION_STRING, '\xff');
  CHECK_OK(MPI_Get_library_version(library.data(), &length));
  CHECK(!text(library, length).empty());

  char host[256] = "";
  length = -1;
  std::vector<char> name(MPI_MAX_PROCESSOR_NAME, '\xff');
  CHECK_OK(MPI_Get_processor_name(name.data(), &length));
  CHECK_EQ(::gethostname(host, sizeof host), 0);
  if (check::headrace()) CHECK_EQ(text(name, length), std::string(host));

  const double tick = MPI_Wtick();
  CHECK(tick > 0 && tick < 0.1);
}

// main() queries MPI_Finalized again after MPI_Finalize.
void state() {
  int flag = -1;
  CHECK_OK(MPI_Finalized(&flag));
  CHECK_EQ(flag, 0);
}

void hardware() {
  MPI_Info info = MPI_INFO_NULL;
  CHECK_OK(MPI_Get_hw_resource_info(&info));
  CHECK(info != MPI_INFO_NULL);
  for (int i = 0; i < keys_of(info); ++i) {
    char key[MPI_MAX_INFO_KEY + 1] = "";
    CHECK_OK(MPI_Info_get_nthkey(info, i, key));
    const std::string value = value_of(info, key);
    CHECK(value == "true" || value == "false");
  }
  if (check::headrace()) CHECK_EQ(value_of(info, "mpi_shared_memory"), std::string("true"));
  CHECK_OK(MPI_Info_free(&info));
}

bool mapped(void* page) {
  unsigned char in_memory = 0;
  return ::mincore(page, static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)), &in_memory) == 0;
}

// Allocates enough that free() returns it to the system. (The sanitizers' allocators keep it.)
void memory() {
  constexpr MPI_Aint kBytes = 64L << 20;
  void* base = nullptr;
  CHECK_OK(MPI_Alloc_mem(kBytes, MPI_INFO_NULL, static_cast<void*>(&base)));
  CHECK(base != nullptr);
  auto* const bytes = static_cast<volatile unsigned char*>(base);
  for (MPI_Aint at : {MPI_Aint{0}, kBytes / 2, kBytes - 1}) bytes[at] = 0x5a;
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  void* const middle = reinterpret_cast<void*>((reinterpret_cast<std::uintptr_t>(base) + kBytes / 2) / page * page);
  CHECK(mapped(middle));
  CHECK_OK(MPI_Free_mem(base));
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  if (check::headrace()) CHECK(!mapped(middle));
#endif
}

void abi() {
  int major = -1, minor = -1;
  CHECK_OK(MPI_Abi_get_version(&major, &minor));
  CHECK_EQ(major, MPI_ABI_VERSION);
  CHECK_EQ(minor, MPI_ABI_SUBVERSION);
  MPI_Info info = MPI_INFO_NULL;
  CHECK_OK(MPI_Abi_get_info(&info));
  CHECK(info != MPI_INFO_NULL);
  CHECK_EQ(value_of(info, "mpi_aint_size"), std::to_string(sizeof(MPI_Aint)));
  CHECK_EQ(value_of(info, "mpi_count_size"), std::to_string(sizeof(MPI_Count)));
  CHECK_EQ(value_of(info, "mpi_offset_size"), std::to_string(sizeof(MPI_Offset)));
  CHECK_OK(MPI_Info_free(&info));
}

// No Fortran runtime has set the sizes here, so this program sets them once.
void fortran_sizes() {
  MPI_Info set = MPI_INFO_NULL, before = MPI_INFO_ENV, after = MPI_INFO_NULL;
  CHECK_OK(MPI_Abi_get_fortran_info(&before));
  CHECK(before == MPI_INFO_NULL);
  CHECK_OK(MPI_Info_create(&set));
  const std::pair<const char*, const char*> sizes[] = {
      {"mpi_logical_size", "4"}, {"mpi_integer_size", "4"}, {"mpi_real_size", "4"}, {"mpi_double_precision_size", "8"}};
  for (const auto& [key, value] : sizes) CHECK_OK(MPI_Info_set(set, key, value));
  CHECK_OK(MPI_Abi_set_fortran_info(set));
  CHECK_OK(MPI_Info_free(&set));
  CHECK_OK(MPI_Abi_get_fortran_info(&after));
  CHECK(after != MPI_INFO_NULL);
  for (const auto& [key, value] : sizes) CHECK_EQ(value_of(after, key), std::string(value));
  CHECK_OK(MPI_Info_free(&after));
}

void fortran_booleans() {
  const std::int32_t is_true = -1, is_false = 0;
  std::int32_t found_true = 0x5a5a5a5a, found_false = 0x5a5a5a5a;
  int is_set = -1;
  CHECK_OK(MPI_Abi_get_fortran_booleans(4, &found_true, &found_false, &is_set));
  CHECK_EQ(is_set, 0);
  std::int32_t given_true = is_true, given_false = is_false;
  CHECK_OK(MPI_Abi_set_fortran_booleans(4, &given_true, &given_false));
  is_set = -1;
  CHECK_OK(MPI_Abi_get_fortran_booleans(4, &found_true, &found_false, &is_set));
  CHECK_EQ(is_set, 1);
  CHECK_EQ(found_true, is_true);
  CHECK_EQ(found_false, is_false);
  // Reductions store the values set above.
  std::int32_t result = 0x5a5a5a5a;
  CHECK_OK(MPI_Allreduce(&is_true, &result, 1, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD));
  CHECK_EQ(result, is_true);
}

// Returns this process's counter page (docs/counters.md), empty if it has none.
std::string own_page() {
  for (int descriptor = 0; descriptor < 1024; ++descriptor) {
    char target[256] = "";
    if (::readlink(("/proc/self/fd/" + std::to_string(descriptor)).c_str(), target, sizeof target - 1) < 0) continue;
    const std::string name = target;
    if (name.find("memfd:headrace.") == std::string::npos || name.find(".counters.") == std::string::npos) continue;
    struct stat about{};
    if (::fstat(descriptor, &about) != 0) continue;
    std::string page(static_cast<std::size_t>(about.st_size), '\0');
    if (::pread(descriptor, page.data(), page.size(), 0) == about.st_size && page.starts_with("HRCOUNTS")) return page;
  }
  return "";
}

std::uint64_t word(const std::string& page, std::size_t at) {
  std::uint64_t value = 0;
  CHECK(at + sizeof value <= page.size());
  std::memcpy(&value, page.data() + at, sizeof value);
  return value;
}

std::uint64_t counter(const std::string& page, const std::string& name) {
  const std::string content = page.substr(word(page, 24), word(page, 32));
  const std::size_t here = content.find("\"name\":\"" + name + "\"");
  CHECK(here != std::string::npos);
  const std::string key = "\"at\":";
  const std::size_t at = content.find(key, here);
  CHECK(at != std::string::npos);
  return word(page, std::stoul(content.substr(at + key.size())));
}

void marks() {
  if (!check::headrace() || own_page().empty()) return;
  const std::uint64_t before = counter(own_page(), "phase.marks");
  for (int level = 1; level <= 3; ++level) CHECK_OK(MPI_Pcontrol(level));
  CHECK_EQ(counter(own_page(), "phase.marks"), before + 3);
}

}  // namespace

int main(int argc, char** argv) {
  {
    const check::Environment mpi(&argc, &argv);
    names();
    state();
    hardware();
    memory();
    abi();
    if (check::headrace()) {  // MPICH 5.0.2 has already set them itself
      fortran_sizes();
      fortran_booleans();
    }
    marks();
  }
  int flag = -1;
  if (MPI_Finalized(&flag) != MPI_SUCCESS || flag != 1) {
    std::fprintf(stderr, "MPI_Finalized: %d after MPI_Finalize\n", flag);
    return 1;
  }
}
