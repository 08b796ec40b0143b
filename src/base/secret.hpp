// Secrets: random numbers that nobody can guess, a hash under such a key, and texts without them.
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

// A new one, from the system's random numbers. Ends the process where there are none.
Nonce make_nonce();

// 32 hexadecimal digits of a nonce, and back; false, and the nonce as it was, for what is no such text.
[[nodiscard]] std::string digits_of(const Nonce& nonce);
bool read_digits(std::string_view text, Nonce* nonce);

// SipHash-2-4 of the text under the key.
[[nodiscard]] std::uint64_t keyed_hash(const Nonce& key, std::string_view text);

// Takes a time that does not depend on where the two differ.
[[nodiscard]] bool equal_secrets(std::string_view one, std::string_view other) noexcept;

// The text with "..." for every run of `digits` or more hexadecimal digits, so that a message may quote what has a
// secret in it: the name of a port, whole or in part.
[[nodiscard]] std::string without_secrets(std::string_view text, std::size_t digits = 8);

}  // namespace hr
