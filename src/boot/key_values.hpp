// KeyValues: pairs of strings, and their encoding as one string that every launcher's key-value space accepts.
//
// Internal to boot/ and mpiexec. Threads: one at a time.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/status.hpp"

namespace hr::boot {

class Provider;

using KeyValues = std::map<std::string, std::string, std::less<>>;

// Convert pairs to the form "3/shm9/some/path" and back. Each string follows its length; characters that a launcher may
// not accept are written like %20. Errors of split(): MPI_ERR_OTHER for a string that join() did not write.
[[nodiscard]] std::string join(const KeyValues& pairs);
Status split(std::string_view text, KeyValues* pairs);

// Convert all but plain characters to the form %20, and back; false for a string that escape() did not write.
[[nodiscard]] std::string escape(std::string_view text);
[[nodiscard]] bool unescape(std::string_view text, std::string* plain);

// Puts a value of any length under as many keys as it needs. All of these keys begin with `key`; the first is put last.
Status put_long(Provider& provider, const std::string& key, std::string_view text);
// Get a value that process `owner` has put with put_long(), or will put (Provider::get_waiting()).
Status get_long(Provider& provider, int owner, const std::string& key, std::string* text);
Status get_long_waiting(Provider& provider, int owner, const std::string& key, std::string* text);

}  // namespace hr::boot
