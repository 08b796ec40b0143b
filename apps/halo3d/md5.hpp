// MD5 (RFC 1321) of a string, as 32 hexadecimal digits: identifies a result; not used for security.
#pragma once

#include <string>
#include <string_view>

namespace halo3d {

std::string md5(std::string_view text);

}  // namespace halo3d
