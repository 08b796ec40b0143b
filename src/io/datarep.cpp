#include "io/datarep.hpp"

#include <memory>
#include <new>
#include <utility>

#include "base/abi.hpp"
#include "io/file_form.hpp"
#include "io/state.hpp"
#include "layout/external32.hpp"

namespace hr::io {
namespace {

constexpr std::size_t kMostCharacters = 127;  // MPI_MAX_DATAREP_STRING - 1

const Representation kNative{"native", true, false, {}, {}, {}};
const Representation kInternal{"internal", true, false, {}, {}, {}};
const Representation kExternal32{"external32", false, true, {}, {}, {}};

// A view's elements in memory that the CPU can access, in the layout of their type, for the program's functions. For
// device memory, a copy of all bytes that the elements span.
class HostElements {
 public:
  explicit HostElements(const layout::View& view) : view_(view) {}

  Status make() {
    address_ = view_.address;
    if (!view_.where.is_device() || view_.packed == 0) return kOk;
    std::byte* first = nullptr;
    std::size_t bytes = 0;
    layout::span_of(view_, &first, &bytes);
    copy_.reset(new (std::nothrow) std::byte[bytes]);
    if (copy_ == nullptr) return fail(Errc::kNoMem, "no memory for %zu bytes to convert data of a device in", bytes);
    address_ = copy_.get() + (view_.address - first);
    host_ = view_;
    host_.address = address_;
    host_.where = {};
    return kOk;
  }
  Status fetch() { return copy_ == nullptr ? kOk : layout::copy(view_, host_); }
  Status store() { return copy_ == nullptr ? kOk : layout::copy(host_, view_); }
  [[nodiscard]] std::byte* address() const noexcept { return address_; }

 private:
  const layout::View& view_;
  layout::View host_{};
  std::unique_ptr<std::byte[]> copy_;
  std::byte* address_ = nullptr;
};

layout::Datatype& type_of(const layout::View& view) { return const_cast<layout::Datatype&>(*view.type); }

}  // namespace

const Representation& native() noexcept { return kNative; }

const Representation* find_representation(const char* name) {
  for (const Representation* each : {&kNative, &kInternal, &kExternal32}) {
    if (each->name == name) return each;
  }
  for (const auto& each : state().representations) {
    if (each->name == name) return each.get();
  }
  return nullptr;
}

Status register_representation(Representation made) {
  if (made.name.empty() || made.name.size() > kMostCharacters) {
    return fail(Errc::kArg, "the name of a data representation has 1 to %zu characters, not %zu", kMostCharacters,
                made.name.size());
  }
  if (find_representation(made.name.c_str()) != nullptr) {
    return fail(Errc::kDupDatarep, "there is a data representation \"%s\" already; choose another name",
                made.name.c_str());
  }
  state().representations.push_back(std::make_unique<Representation>(std::move(made)));
  return kOk;
}

Status file_size(const Representation& representation, layout::Datatype& type, Count* bytes) {
  *bytes = type.size();
  if (representation.memorys) return kOk;
  if (representation.external32) {
    *bytes = layout::external32_size(type);
    return kOk;
  }
  Ref<layout::Datatype> form;
  HR_TRY(file_form(type, representation, &form));
  *bytes = form->size();
  return kOk;
}

Status encode(const Representation& representation, const layout::View& from, std::byte* to) {
  if (representation.external32) return layout::pack_external32(from, to);
  if (!representation.write) return layout::pack(from, 0, from.packed, to);
  HostElements elements(from);
  HR_TRY(elements.make());
  HR_TRY(elements.fetch());
  return representation.write(elements.address(), type_of(from), from.count, to, 0);
}

Status decode(const Representation& representation, const layout::View& to, const std::byte* from) {
  if (representation.external32) return layout::unpack_external32(to, from);
  if (!representation.read) return layout::unpack(to, 0, to.packed, from);
  HostElements elements(to);
  HR_TRY(elements.make());
  HR_TRY(elements.fetch());
  HR_TRY(representation.read(elements.address(), type_of(to), to.count, const_cast<std::byte*>(from), 0));
  return elements.store();
}

}  // namespace hr::io
