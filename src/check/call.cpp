#include "check/call.hpp"

#include "comm/communicator.hpp"
#include "comm/group.hpp"
#include "io/file.hpp"
#include "layout/datatype.hpp"
#include "layout/op.hpp"
#include "p2p/request.hpp"
#include "rma/window.hpp"

namespace hr::check {
namespace {

template <class T>
T* predefined(std::uintptr_t) noexcept {
  return nullptr;
}
template <>
comm::Communicator* predefined(std::uintptr_t value) noexcept {
  return comm::predefined_communicator(value);
}
template <>
comm::Group* predefined(std::uintptr_t value) noexcept {
  return comm::predefined_group(value);
}
template <>
layout::Datatype* predefined(std::uintptr_t value) noexcept {
  return layout::predefined_type(value);
}
template <>
layout::Op* predefined(std::uintptr_t value) noexcept {
  return layout::predefined_op(value);
}

}  // namespace

const Argument* Call::find(std::string_view name) const noexcept {
  for (const Argument& each : arguments_) {
    if (name == each.name) return &each;
  }
  return nullptr;
}

const void* Call::address(std::string_view name) const noexcept {
  const Argument* const found = find(name);
  return found == nullptr ? nullptr : found->address;
}

long long Call::number(std::string_view name) const noexcept {
  const Argument* const found = find(name);
  return found == nullptr ? 0 : found->amount;
}

template <class T>
T* Call::object(std::string_view name) const noexcept {
  const Argument* const found = find(name);
  if (found == nullptr || found->address == nullptr) return nullptr;
  const void* handle = found->address;
  if (found->use != Argument::Use::kHandle) {
    if (found->amount != 1) return nullptr;
    handle = found->values()[0];
  }
  const auto value = reinterpret_cast<std::uintptr_t>(handle);
  if (value < 0x1000) return predefined<T>(value);
  return Arena<T>::instance().owns(handle) ? static_cast<T*>(const_cast<void*>(handle)) : nullptr;
}

template comm::Communicator* Call::object(std::string_view) const noexcept;
template comm::Group* Call::object(std::string_view) const noexcept;
template layout::Datatype* Call::object(std::string_view) const noexcept;
template layout::Op* Call::object(std::string_view) const noexcept;
template p2p::Request* Call::object(std::string_view) const noexcept;
template rma::Window* Call::object(std::string_view) const noexcept;
template io::File* Call::object(std::string_view) const noexcept;

}  // namespace hr::check
