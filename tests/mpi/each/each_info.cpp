// Info objects: each function's outputs, also for missing keys, and independent copies.
#include <cstring>
#include <string>
#include <vector>

#include "../common/check.hpp"

namespace {

void release(MPI_Info& info) {
  CHECK(info != MPI_INFO_NULL);
  CHECK_OK(MPI_Info_free(&info));
  CHECK(info == MPI_INFO_NULL);
}

// Compares keys and values in order.
void expect(int line, MPI_Info info, const std::vector<std::pair<std::string, std::string>>& wanted) {
  int keys = -7;
  CHECK_OK(MPI_Info_get_nkeys(info, &keys));
  check::equal(__FILE__, line, "the number of keys", keys, wanted.size());
  for (int n = 0; n < keys; ++n) {
    const auto& [key, value] = wanted[static_cast<std::size_t>(n)];
    char found_key[MPI_MAX_INFO_KEY];
    std::memset(found_key, '?', sizeof found_key);
    found_key[sizeof found_key - 1] = '\0';
    CHECK_OK(MPI_Info_get_nthkey(info, n, found_key));
    check::equal(__FILE__, line, "the key", std::string(found_key), key);

    int length = -7, flag = -7;
    CHECK_OK(MPI_Info_get_valuelen(info, found_key, &length, &flag));
    check::equal(__FILE__, line, "valuelen's flag", flag, 1);
    check::equal(__FILE__, line, "valuelen's length", length, value.size());

    char text[64];
    std::memset(text, '?', sizeof text);
    int room = sizeof text;
    flag = -7;
    CHECK_OK(MPI_Info_get_string(info, found_key, &room, text, &flag));
    check::equal(__FILE__, line, "get_string's flag", flag, 1);
    check::equal(__FILE__, line, "get_string's length", room, value.size() + 1);
    check::equal(__FILE__, line, "get_string's value", std::string(text, value.size() + 1), value + '\0');

    std::memset(text, '?', sizeof text);
    flag = -7;
    CHECK_OK(MPI_Info_get(info, found_key, static_cast<int>(sizeof text) - 1, text, &flag));
    check::equal(__FILE__, line, "get's flag", flag, 1);
    check::equal(__FILE__, line, "get's value", std::string(text, value.size() + 1), value + '\0');
  }
}
#define EXPECT(info, ...) expect(__LINE__, info, __VA_ARGS__)

void absent(MPI_Info info) {
  int length = -7, flag = -7;
  CHECK_OK(MPI_Info_get_valuelen(info, "absent", &length, &flag));
  CHECK_EQ(flag, 0);
  char text[8] = "???";
  length = sizeof text;
  flag = -7;
  CHECK_OK(MPI_Info_get_string(info, "absent", &length, text, &flag));
  CHECK_EQ(flag, 0);
  CHECK_EQ(std::string(text), std::string("???"));
}

// A buffer that is too short receives the start of the value; with length 0, only the length is returned.
void short_buffers(MPI_Info info) {
  char text[8];
  std::memset(text, '?', sizeof text);
  int length = 4, flag = -7;
  CHECK_OK(MPI_Info_get_string(info, "second", &length, text, &flag));
  CHECK_EQ(flag, 1);
  CHECK_EQ(length, 7);
  CHECK_EQ(std::string(text), std::string("a v"));
  CHECK_EQ(text[4], '?');
  length = 0;
  flag = -7;
  CHECK_OK(MPI_Info_get_string(info, "second", &length, nullptr, &flag));
  CHECK_EQ(flag, 1);
  CHECK_EQ(length, 7);
}

}  // namespace

int main(int argc, char** argv) {
  check::Environment mpi(&argc, &argv);
  MPI_Info info = MPI_INFO_NULL;
  CHECK_OK(MPI_Info_create(&info));
  CHECK(info != MPI_INFO_NULL);
  EXPECT(info, {});
  CHECK_OK(MPI_Info_set(info, "first", "1"));
  CHECK_OK(MPI_Info_set(info, "second", "a val."));
  EXPECT(info, {{"first", "1"}, {"second", "a val."}});
  absent(info);
  short_buffers(info);

  MPI_Info copy = MPI_INFO_NULL;
  CHECK_OK(MPI_Info_dup(info, &copy));
  CHECK(copy != MPI_INFO_NULL);
  CHECK(copy != info);
  CHECK_OK(MPI_Info_set(copy, "first", "one"));
  CHECK_OK(MPI_Info_delete(info, "first"));
  EXPECT(info, {{"second", "a val."}});
  EXPECT(copy, {{"first", "one"}, {"second", "a val."}});
  release(info);
  EXPECT(copy, {{"first", "one"}, {"second", "a val."}});
  release(copy);
}
