#include "hosts.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "values.hpp"

namespace hr::launcher {
namespace {

std::string own_name() {
  char name[256] = "";
  ::gethostname(name, sizeof name - 1);
  return name;
}

std::string_view short_of(std::string_view name) { return name.substr(0, name.find('.')); }

bool is_own_address(const std::string& name) {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return false;
  bool found = false;
  for (const ifaddrs* each = list; each != nullptr && !found; each = each->ifa_next) {
    if (each->ifa_addr == nullptr) continue;
    char text[INET6_ADDRSTRLEN] = "";
    if (each->ifa_addr->sa_family == AF_INET) {
      ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(each->ifa_addr)->sin_addr, text, sizeof text);
    } else if (each->ifa_addr->sa_family == AF_INET6) {
      ::inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6*>(each->ifa_addr)->sin6_addr, text, sizeof text);
    }
    found = *text != '\0' && name == text;
  }
  ::freeifaddrs(list);
  return found;
}

// `where` as in "-hosts a,b" or "-f hosts.txt, line 3".
Status check_host(const std::string& where, const std::string& name) {
  if (is_this_host(name)) return kOk;
  return fail(Errc::kOther,
              "%s: host %s is not this machine (%s), and this version of Headrace starts ranks on one host only; leave "
              "the option out, or name localhost",
              where.c_str(), name.c_str(), own_name().c_str());
}

Status add_slots(const std::string& where, std::string_view text, int* slots) {
  int number = 0;
  if (!read_number(text, &number)) {
    return fail(Errc::kOther, "%s: the slots of a host are a whole number from 1 to %d, not \"%.*s\"", where.c_str(),
                kMostRanks, static_cast<int>(text.size()), text.data());
  }
  *slots += number;
  return kOk;
}

// "name" or "name:slots"; an IPv6 address has colons of its own.
Status read_host(const std::string& where, std::string_view text, int* slots) {
  const auto colon = text.rfind(':');
  const bool has_slots = colon != std::string_view::npos && text.find(':') == colon;
  HR_TRY(check_host(where, std::string(has_slots ? text.substr(0, colon) : text)));
  return has_slots ? add_slots(where, text.substr(colon + 1), slots) : kOk;
}

Status read_line(const std::string& where, const std::string& line, int* slots) {
  std::istringstream words(line.substr(0, line.find('#')));
  std::string word;
  if (!(words >> word)) return kOk;
  int own = 0;
  HR_TRY(read_host(where, word, &own));
  while (words >> word) {
    // What else may stand there (max_slots, user, ifname) has no meaning on one machine.
    if (word.starts_with("slots=")) HR_TRY(add_slots(where, std::string_view(word).substr(6), &own));
  }
  *slots += own;
  return kOk;
}

}  // namespace

bool is_this_host(std::string_view name) {
  if (alike(name, "localhost") || alike(name, "localhost.localdomain") || name == "::1") return true;
  if (name.starts_with("127.")) return true;
  const std::string own = own_name();
  // The system may know the short name only, and the list the full one, or the other way round.
  const bool both_full = name.find('.') != std::string_view::npos && own.find('.') != std::string::npos;
  if (!name.empty() && (both_full ? alike(name, own) : alike(short_of(name), short_of(own)))) return true;
  return is_own_address(std::string(name));
}

Status read_host_list(const std::string& word, std::string_view list, int* slots) {
  const std::string where = word + " " + std::string(list);
  *slots = 0;
  for (bool more = true; more;) {
    const auto comma = list.find(',');
    more = comma != std::string_view::npos;
    HR_TRY(read_host(where, list.substr(0, comma), slots));
    if (more) list.remove_prefix(comma + 1);
  }
  return kOk;
}

Status read_host_file(const std::string& word, const std::string& path, int* slots) {
  std::ifstream file(path);
  if (!file) return fail(Errc::kOther, "%s %s: %s", word.c_str(), path.c_str(), std::strerror(errno));
  *slots = 0;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    HR_TRY(read_line(word + " " + path + ", line " + std::to_string(++number), line, slots));
  }
  if (file.bad()) return fail(Errc::kOther, "%s %s: it cannot be read; is it a file?", word.c_str(), path.c_str());
  return kOk;
}

}  // namespace hr::launcher
