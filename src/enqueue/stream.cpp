#include "enqueue/stream.hpp"

#include <cstring>
#include <optional>

#include "enqueue/operation.hpp"

namespace hr::enqueue {
namespace {

constexpr char kDigits[] = "0123456789abcdef";

std::optional<unsigned> digit(char text) noexcept {
  const char* const found = std::strchr(kDigits, text >= 'A' && text <= 'F' ? text + ('a' - 'A') : text);
  if (text == '\0' || found == nullptr) return std::nullopt;
  return static_cast<unsigned>(found - kDigits);
}

// Reads the bytes of a handle; false if the text does not consist of `bytes` pairs of hexadecimal digits.
bool read_hex(std::string_view text, void* to, std::size_t bytes) noexcept {
  if (text.size() != 2 * bytes) return false;
  for (std::size_t i = 0; i < bytes; ++i) {
    const auto high = digit(text[2 * i]), low = digit(text[2 * i + 1]);
    if (!high || !low) return false;
    static_cast<unsigned char*>(to)[i] = static_cast<unsigned char>(*high << 4 | *low);
  }
  return true;
}

// Returns the name of the stream type of the devices on this host.
const char* stream_type() {
  const mem::device::Driver* const driver = mem::device::find_driver();
  return driver == nullptr ? "cudaStream_t" : driver->names.stream_type;
}

// Programs also use cudaStream_t with devices of other vendors.
bool is_stream_type(const std::string& type) { return type == "cudaStream_t" || type == stream_type(); }

Status open_words(const mem::device::ProgramStream& stream, WordPool** words) {
  mem::device::Context* const context = stream.context();
  if (context == nullptr) return fail(Errc::kOther, "the context of the stream has been destroyed");
  for (const auto& known : state->words) {
    if (!known->is_of(*context)) continue;
    *words = known.get();
    return kOk;
  }
  const mem::device::Current current(*context);
  HR_TRY(current.status());
  auto made = std::make_unique<WordPool>();
  HR_TRY(made->open(*context));
  *words = made.get();
  state->words.push_back(std::move(made));
  return kOk;
}

}  // namespace

std::string hex_of(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte each : bytes) {
    text += kDigits[std::to_integer<unsigned>(each) >> 4];
    text += kDigits[std::to_integer<unsigned>(each) & 15];
  }
  return text;
}

Status create_stream(const comm::Info* info, Ref<Stream>* made) {
  *made = Ref<Stream>::adopt(Arena<Stream>::instance().create());
  if (!*made) return fail(Errc::kNoMem, "no memory for another stream: free those no longer needed");
  const std::string* const type = info == nullptr ? nullptr : info->get("type");
  if (type == nullptr) return kOk;
  if (!is_stream_type(*type)) {
    return fail(Errc::kUnsupportedOperation, "streams of type \"%s\" are not supported: type must be %s", type->c_str(),
                stream_type());
  }
  const std::string* const value = info->get("value");
  if (value == nullptr) {
    return fail(Errc::kInfoNokey,
                "info has a type but no value: set it with MPIX_Info_set_hex(info, \"value\", "
                "&stream, sizeof stream)");
  }
  void* handle = nullptr;
  if (!read_hex(*value, &handle, sizeof handle)) {
    return fail(Errc::kInfoValue,
                "the value \"%s\" is not a %s: it must have %zu hexadecimal digits, as MPIX_Info_set_hex writes them",
                value->c_str(), type->c_str(), 2 * sizeof handle);
  }
  Stream& stream = **made;
  HR_TRY(mem::device::ProgramStream::open(handle, &stream.device_));
  return open_words(stream.device_, &stream.words_);
}

}  // namespace hr::enqueue
