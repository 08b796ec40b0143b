#include "mem/device/exported_buffer.hpp"

namespace hr::mem::device {

Status ExportedBuffer::allocate(const Location& like, std::size_t bytes) {
  Context* context = nullptr;
  HR_TRY(Context::of(like, &context));
  Current current(*context);
  HR_TRY(current.status());
  HR_TRY(buffer_.allocate(*context, bytes));
  return classify(reinterpret_cast<const void*>(static_cast<std::uintptr_t>(buffer_.address())), &where_);
}

bool ExportedBuffer::serves(const Location& like) const {
  Context* context = nullptr;
  return Context::of(like, &context).ok() && buffer_.belongs_to(*context);
}

}  // namespace hr::mem::device
