// Secrets: unguessable random numbers, a hash with such a number as its key, and strings with secrets removed.
//
// Plain functions over plain values. Threads: any.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace hr {

using Nonce = std::array<std::uint64_t, 2>;

// Creates a nonce from the system's random numbers. Ends the process if there are none.
Nonce make_nonce();

// Convert a nonce to 32 hexadecimal digits, and back; false, with the nonce unchanged, for any other string.
[[nodiscard]] std::string digits_of(const Nonce& nonce);
bool read_digits(std::string_view text, Nonce* nonce);

// Returns SipHash-2-4 of `text` under the key.
[[nodiscard]] std::uint64_t keyed_hash(const Nonce& key, std::string_view text);

// True if the secrets are equal; takes a time that does not depend on the position of a difference.
[[nodiscard]] bool equal_secrets(std::string_view one, std::string_view other) noexcept;

// Returns the text with "..." in place of every sequence of `digits` or more hexadecimal digits, so that a message may
// quote a string that contains a secret, such as a port name or a part of one.
[[nodiscard]] std::string without_secrets(std::string_view text, std::size_t digits = 8);

}  // namespace hr
