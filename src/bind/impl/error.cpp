// Error classes, codes and strings (MPI 5.0 sections 9.4 and 9.5).
#include <algorithm>
#include <cstring>

#include "bind/error_codes.hpp"
#include "bind/impl.hpp"

namespace hr::bind::impl {

Status error_string(int errorcode, char* string, int& resultlen) {
  std::string text;
  if (!text_of(errorcode, &text)) return fail(Errc::kArg, "%d is not an error code", errorcode);
  const std::size_t length = std::min<std::size_t>(text.size(), MPI_MAX_ERROR_STRING - 1);
  std::memcpy(string, text.data(), length);
  string[length] = '\0';
  resultlen = static_cast<int>(length);
  return kOk;
}

Status error_class(int errorcode, int& errorclass) {
  const int found = class_of(errorcode);
  if (found < 0) return fail(Errc::kArg, "%d is not an error code", errorcode);
  errorclass = found;
  return kOk;
}

Status add_error_class(int& errorclass) { return add_class(&errorclass); }

Status add_error_code(int errorclass, int& errorcode) { return add_code(errorclass, &errorcode); }

Status add_error_string(int errorcode, const char* string) { return add_text(errorcode, string); }

Status remove_error_class(int errorclass) { return remove_class(errorclass); }

Status remove_error_code(int errorcode) { return remove_code(errorcode); }

Status remove_error_string(int errorcode) { return remove_text(errorcode); }

}  // namespace hr::bind::impl
