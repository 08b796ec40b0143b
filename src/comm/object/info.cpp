#include "comm/info.hpp"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "base/abi.hpp"
#include "boot/boot.hpp"

namespace hr::comm {

namespace {

std::string own_command_line_word(bool first) {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string words((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const std::size_t end = words.find('\0');
  if (first) return words.substr(0, end);
  if (end == std::string::npos) return {};
  std::string rest = words.substr(end + 1);
  while (!rest.empty() && rest.back() == '\0') rest.pop_back();
  std::replace(rest.begin(), rest.end(), '\0', ' ');
  return rest;
}

// Sets a key unless its value is empty or too long for an info.
void set_if_fits(Info& info, std::string_view key, std::string_view value) {
  if (!value.empty() && value.size() < abi::kMaxInfoVal) static_cast<void>(info.set(key, value));
}

// Sets the keys of section 11.2.1 (MPI_Info_create_env) whose values are known. "thread_level" is omitted: its value is
// a level requested before the program started (impossible here), not the level that MPI_Init provides.
void fill(Info& info, const std::string& command, const std::string& arguments) {
  set_if_fits(info, "command", command);
  set_if_fits(info, "argv", arguments);
  set_if_fits(info, "maxprocs", std::to_string(boot::identity().size));
  char text[1024];
  if (::gethostname(text, sizeof text) == 0) set_if_fits(info, "host", text);
  utsname system{};
  if (::uname(&system) == 0) set_if_fits(info, "arch", system.machine);
  if (::getcwd(text, sizeof text) != nullptr) set_if_fits(info, "wdir", text);
}

}  // namespace

Status check_info_key(std::string_view key) {
  if (key.empty()) return fail(Errc::kInfoKey, "the info key is empty");
  if (key.size() >= abi::kMaxInfoKey) {
    return fail(Errc::kInfoKey, "the info key has %zu characters: MPI_MAX_INFO_KEY - 1 = %d are allowed", key.size(),
                abi::kMaxInfoKey - 1);
  }
  return kOk;
}

Status Info::set(std::string_view key, std::string_view value) {
  HR_TRY(check_info_key(key));
  if (value.size() >= abi::kMaxInfoVal) {
    return fail(Errc::kInfoValue,
                "the value of info key '%.*s' has %zu characters: MPI_MAX_INFO_VAL - 1 = %d are allowed",
                static_cast<int>(key.size()), key.data(), value.size(), abi::kMaxInfoVal - 1);
  }
  for (auto& entry : entries_) {
    if (entry.first == key) {
      entry.second = value;
      return kOk;
    }
  }
  entries_.emplace_back(key, value);
  return kOk;
}

const std::string* Info::get(std::string_view key) const noexcept {
  for (const auto& entry : entries_) {
    if (entry.first == key) return &entry.second;
  }
  return nullptr;
}

Status Info::erase(std::string_view key) {
  HR_TRY(check_info_key(key));
  const auto found = std::find_if(entries_.begin(), entries_.end(), [key](const auto& e) { return e.first == key; });
  if (found == entries_.end()) {
    return fail(Errc::kInfoNokey, "the info has no key '%.*s'", static_cast<int>(key.size()), key.data());
  }
  entries_.erase(found);
  return kOk;
}

void Info::merge(const Info& other) {
  for (const auto& [key, value] : other.entries_) static_cast<void>(set(key, value));
}

Ref<Info> Info::dup() const {
  Ref<Info> copy = create_info();
  if (copy) copy->entries_ = entries_;
  return copy;
}

Ref<Info> create_info() { return Ref<Info>::adopt(Arena<Info>::instance().create()); }

Info& info_env() {
  static Info* const env = [] {
    Info* info = Arena<Info>::instance().create();
    info->set_predefined_handle(abi::kInfoEnv);
    fill(*info, own_command_line_word(true), own_command_line_word(false));
    return info;
  }();
  return *env;
}

Ref<Info> create_info_env(int argc, char** argv) {
  Ref<Info> info = create_info();
  if (!info) return info;
  if (argc > 0 && argv != nullptr && argv[0] != nullptr) {
    std::string arguments;
    for (int i = 1; i < argc && argv[i] != nullptr; ++i) {
      if (i > 1) arguments += ' ';
      arguments += argv[i];
    }
    fill(*info, argv[0], arguments);
  } else {
    fill(*info, own_command_line_word(true), own_command_line_word(false));
  }
  return info;
}

}  // namespace hr::comm
