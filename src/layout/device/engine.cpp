#include "layout/device/engine.hpp"

#include <algorithm>
#include <memory>
#include <new>

#include "layout/device/by_copy_engine.hpp"
#include "layout/device/local_copy.hpp"
#include "layout/device/side.hpp"
#include "mem/device/device_buffer.hpp"
#include "mem/device/host_copy.hpp"

namespace hr::layout::device {
namespace {

using mem::device::Context;
using mem::device::Current;
using mem::device::DeviceAddress;
using mem::device::Staging;

// A piece starts in the staging buffer at the remainder of its packed offset modulo kPhase, so that both sides have the
// same alignment for wide accesses.
constexpr std::size_t kPhase = 16;

// Returns the size of the pieces, at most what fits into a staging buffer together with a phase. If there are several
// pieces, it is a multiple of kPhase, so that every piece has the phase of the first.
std::size_t piece_of(std::size_t bytes) noexcept { return std::min(bytes, mem::device::staging_piece() - kPhase); }

// Makes the view's context current and calls `work(context, side, staging address, ...)` for each piece. If there are
// no kernels, does nothing, and *launched stays false.
template <class Work>
Status in_pieces(const View& view, std::size_t offset, std::size_t bytes, bool* launched, const Work& work) {
  *launched = false;
  Context* context = nullptr;
  HR_TRY(Context::of(view.where, &context));
  Current current(*context);
  HR_TRY(current.status());
  const std::size_t piece = piece_of(bytes);
  Staging staging;
  HR_TRY(staging.take(*context, piece + kPhase));
  const DeviceAddress packed = staging.address() + offset % kPhase;
  SideShape side;
  HR_TRY(side_of(view, *context, &side));
  for (std::size_t done = 0; done < bytes; done += piece) {
    HR_TRY(work(*context, side, packed, done, std::min(piece, bytes - done), launched));
    if (!*launched) return kOk;
  }
  return context->synchronize("packing");
}

// Copies to memory that the source's device cannot access: packs on the source, copies, and unpacks on the target,
// never through the host.
Status copy_staged(const View& from, Context& from_context, const View& to, Context& to_context, std::size_t bytes,
                   bool* launched) {
  const std::size_t piece = piece_of(bytes);
  HR_TRY(to_context.order_after(from_context));
  Current outer(from_context);
  HR_TRY(outer.status());
  Staging packed;
  HR_TRY(packed.take(from_context, piece));
  SideShape from_side;
  HR_TRY(side_of(from, from_context, &from_side));
  Current current(to_context);
  HR_TRY(current.status());
  Staging arrived;
  HR_TRY(arrived.take(to_context, piece));
  SideShape to_side;
  HR_TRY(side_of(to, to_context, &to_side));
  for (std::size_t done = 0; done < bytes; done += piece) {
    const std::size_t length = std::min(piece, bytes - done);
    {
      Current packing(from_context);
      HR_TRY(packing.status());
      // `piece` is a multiple of kPhase, so each piece starts at remainder 0.
      HR_TRY(launch_copy(from_context, from_context.stream(), from_side, packed_side(packed.address(), done), done,
                         length, launched));
      if (!*launched) return kOk;
      HR_TRY(from_context.synchronize("packing"));
    }
    HR_DEVICE(
        to_context.device(), copy_peer_async,
        (arrived.address(), to_context.handle(), packed.address(), from_context.handle(), length, to_context.stream()),
        "%zu packed bytes from device %d", length, from_context.device());
    HR_TRY(launch_copy(to_context, to_context.stream(), packed_side(arrived.address(), done), to_side, done, length,
                       launched));
    if (!*launched) return kOk;
    HR_TRY(to_context.synchronize("unpacking"));
  }
  return kOk;
}

// Copies through host memory, without kernels.
Status copy_through_host(const View& from, const View& to, std::size_t bytes) {
  const std::size_t piece = std::min(bytes, mem::device::staging_piece());
  const std::unique_ptr<std::byte[]> host(new (std::nothrow) std::byte[piece]);
  if (host == nullptr) return fail(Errc::kNoMem, "no memory for %zu bytes to stage a copy through", piece);
  for (std::size_t done = 0; done < bytes; done += piece) {
    const std::size_t length = std::min(piece, bytes - done);
    HR_TRY(layout::pack(from, done, length, host.get()));
    HR_TRY(layout::unpack(to, done, length, host.get()));
  }
  return kOk;
}

}  // namespace

Status pack(const View& from, std::size_t offset, std::size_t bytes, std::byte* to_host) {
  bool launched = false;
  HR_TRY(in_pieces(from, offset, bytes, &launched,
                   [&](Context& context, const SideShape& side, DeviceAddress packed, std::size_t done,
                       std::size_t length, bool* started) {
                     HR_TRY(launch_copy(context, context.stream(), side, packed_side(packed, offset + done),
                                        offset + done, length, started));
                     if (!*started) return kOk;
                     return mem::device::start_copy_to_host(context, to_host + done, packed, length);
                   }));
  return launched ? kOk : pack_by_copy_engine(from, offset, bytes, to_host);
}

Status unpack(const View& to, std::size_t offset, std::size_t bytes, const std::byte* from_host) {
  bool launched = false;
  HR_TRY(in_pieces(to, offset, bytes, &launched,
                   [&](Context& context, const SideShape& side, DeviceAddress packed, std::size_t done,
                       std::size_t length, bool* started) {
                     HR_TRY(mem::device::start_copy_from_host(context, packed, from_host + done, length));
                     return launch_copy(context, context.stream(), packed_side(packed, offset + done), side,
                                        offset + done, length, started);
                   }));
  return launched ? kOk : unpack_by_copy_engine(to, offset, bytes, from_host);
}

Status copy(const View& from, const View& to) {
  const std::size_t bytes = std::min(from.packed, to.packed);
  Context* from_context = nullptr;
  Context* to_context = nullptr;
  HR_TRY(Context::of(from.where, &from_context));
  HR_TRY(Context::of(to.where, &to_context));
  bool launched = false;
  {
    Current current(*from_context);
    HR_TRY(current.status());
    HR_TRY(start_copy(from, *from_context, to, bytes, from_context->stream(), &launched));
    if (launched) return from_context->synchronize("a copy");
    HR_TRY(copy_staged(from, *from_context, to, *to_context, bytes, &launched));
    if (launched) return kOk;
  }
  return copy_through_host(from, to, bytes);
}

}  // namespace hr::layout::device
