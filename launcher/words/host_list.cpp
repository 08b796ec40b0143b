#include "words/host_list.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>

#include <algorithm>
#include <sstream>

#include "base/machine.hpp"
#include "base/own_files.hpp"
#include "words/values.hpp"

namespace hr::launcher {
namespace {

constexpr std::size_t kLargestHostFile = std::size_t{16} << 20;

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

bool is_letter_or_digit(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || (letter >= '0' && letter <= '9');
}

// Reads a number of slots. `where`: the origin of the text, such as "-hosts a,b" or "-f hosts.txt, line 3".
Status read_slots(const std::string& where, std::string_view text, HostSlots* host) {
  if (!read_number(text, &host->slots)) {
    return fail(Errc::kOther, "%s: the number of slots on a host must be an integer from 1 to %d, not \"%.*s\"",
                where.c_str(), kMostRanks, static_cast<int>(text.size()), text.data());
  }
  host->slots_given = true;
  return kOk;
}

// Reads "name" or "name:slots"; an IPv6 address also contains colons.
Status read_host(const std::string& where, std::string_view text, HostSlots* host) {
  const auto colon = text.rfind(':');
  const bool has_slots = colon != std::string_view::npos && text.find(':') == colon;
  host->name = has_slots ? text.substr(0, colon) : text;
  HR_TRY(check_host_name(where, host->name));
  return has_slots ? read_slots(where, text.substr(colon + 1), host) : kOk;
}

Status read_line(const std::string& where, const std::string& line, std::vector<HostSlots>* hosts) {
  std::istringstream words(line.substr(0, line.find('#')));
  std::string word;
  if (!(words >> word)) return kOk;
  HostSlots host;
  HR_TRY(read_host(where, word, &host));
  while (words >> word) {
    // Other words (max_slots, user, ifname) are ignored.
    if (word.starts_with("slots=")) HR_TRY(read_slots(where, std::string_view(word).substr(6), &host));
  }
  add_host(hosts, std::move(host));
  return kOk;
}

}  // namespace

bool is_this_host(std::string_view name) {
  if (alike(name, "localhost") || alike(name, "localhost.localdomain") || name == "::1") return true;
  if (name.starts_with("127.")) return true;
  const std::string own = host_name();
  // The system may have only the short name, and the list the full one, or vice versa.
  const bool both_full = name.find('.') != std::string_view::npos && own.find('.') != std::string::npos;
  if (!name.empty() && (both_full ? alike(name, own) : alike(short_of(name), short_of(own)))) return true;
  return is_own_address(std::string(name));
}

std::string own_host_name() { return host_name(); }

Status check_host_name(const std::string& where, std::string_view name) {
  bool good = !name.empty() && name.size() <= 255 && (is_letter_or_digit(name[0]) || name[0] == ':');
  for (const char letter : name) {
    good = good && (is_letter_or_digit(letter) || std::string_view("._-:@%").find(letter) != std::string_view::npos);
  }
  if (good) return kOk;
  return fail(Errc::kOther, "%s: \"%.*s\" is not a host name: letters, digits, and \"._-:@%%\" after the first of them",
              where.c_str(), static_cast<int>(std::min<std::size_t>(name.size(), 255)), name.data());
}

void add_host(std::vector<HostSlots>* hosts, HostSlots more) {
  const bool is_here = is_this_host(more.name);  // slow, so called once per host, not once per pair of hosts
  for (HostSlots& each : *hosts) {
    if (!alike(each.name, more.name) && !(is_here && is_this_host(each.name))) continue;
    each.slots += more.slots;
    each.slots_given = each.slots_given || more.slots_given;
    return;
  }
  hosts->push_back(std::move(more));
}

Status read_host_list(const std::string& word, std::string_view list, std::vector<HostSlots>* hosts) {
  const std::string where = word + " " + std::string(list);
  hosts->clear();
  for (bool more = true; more;) {
    const auto comma = list.find(',');
    more = comma != std::string_view::npos;
    HostSlots host;
    HR_TRY(read_host(where, list.substr(0, comma), &host));
    add_host(hosts, std::move(host));
    if (more) list.remove_prefix(comma + 1);
  }
  return kOk;
}

Status read_host_file(const std::string& word, const std::string& path, std::vector<HostSlots>* hosts) {
  std::string text;
  if (!read_file(path, kLargestHostFile, &text, Pipes::kGiven).ok())
    return fail(Errc::kOther, "%s %s: it %s", word.c_str(), path.c_str(), take_detail().c_str());
  std::istringstream file(text);
  hosts->clear();
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    HR_TRY(read_line(word + " " + path + ", line " + std::to_string(++number), line, hosts));
  }
  if (hosts->empty()) return fail(Errc::kOther, "%s %s: it names no host", word.c_str(), path.c_str());
  return kOk;
}

}  // namespace hr::launcher
