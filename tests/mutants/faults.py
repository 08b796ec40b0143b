"""Small faults, one change to the library each, which show whether the tests find the errors that they are meant to
find.

A fault is a name, a file of the library, the text that is replaced, and its replacement. Each is subtle enough for
programs to keep running: it changes an order, a bound, a flush, a rank or a release.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple


class Fault(NamedTuple):
    name: str
    file: str
    right: str
    wrong: str

    @contextlib.contextmanager
    def applied(self, tree: Path) -> Iterator[None]:
        """Applies the fault to a source tree, and always restores it. Raises ValueError unless the text occurs exactly
        once."""
        path = tree / self.file
        text = path.read_text()
        if text.count(self.right) != 1:
            raise ValueError(f"{self.file} does not have once: {self.right}")
        try:
            path.write_text(text.replace(self.right, self.wrong))
            yield
        finally:
            path.write_text(text)


ALL = (
    Fault("a ring takes one message more than it has cells", "src/transport/shm/ring.hpp",
          "std::min(cells_consumed_ + kCells, last_backed_)", "std::min(cells_consumed_ + kCells + 1, last_backed_)"),
    Fault("the lower bound of a type is that of its first part alone", "src/layout/typemap.cpp",
          "lb_ = marked_ ? std::min(lb_, low + child.lb) : low + child.lb;", "lb_ = marked_ ? lb_ : low + child.lb;"),
    Fault("the true upper bound forgets all copies but the first", "src/layout/typemap.cpp",
          "std::max(true_ub_, high + child.true_ub)", "std::max(true_ub_, low + child.true_ub)"),
    Fault("a matched receive keeps its request", "src/p2p/message/probe.cpp",
          "  release(request);\n  return completion->error;", "  return completion->error;"),
    Fault("an epoch ends when operations are sent, not when they are done", "src/rma/epoch.cpp",
          "(local ? member.unsent : member.unanswered) == 0", "(local ? member.unsent : member.unsent) == 0"),
    Fault("allgather's ring goes round the wrong way", "src/coll/allgather/ring.cpp",
          "(rank - step + size) % size", "(rank + step) % size"),
    Fault("a flush between hosts is complete when it starts", "src/rma/network.cpp",
          "list(std::move(self), window, rank, false);", "static_cast<void>(self.release());"),
    Fault("of two receives that match, the younger one takes the message", "src/p2p/match/matching.cpp",
          "receive->sequence_ < oldest->sequence_", "receive->sequence_ > oldest->sequence_"),
    Fault("an unexpected message is not put into the bins", "src/p2p/match/matching.cpp",
          "  } else {\n    unexpected_bins_.bucket(message->envelope.source, message->envelope.tag).push_back(*message);\n  }", "  }"),
    Fault("an exclusive lock does not wait for readers", "src/rma/lock_word.hpp",
          "(seen & kWriter) == 0 && (seen & kReaders) == 0", "(seen & kWriter) == 0"),
    Fault("compare-and-swap returns the new value", "src/rma/atomic.hpp",
          "std::memcpy(before, &expected, sizeof expected);", "std::memcpy(before, &wanted, sizeof wanted);"),
    Fault("a reduction that does not commute begins at the root", "src/coll/reduce/binomial.cpp",
          "call.op->commutative() ? call.root : 0", "call.root"),
    Fault("an exclusive scan forgets what came before", "src/coll/scan/linear.cpp",
          "if (inclusive || !last) HR_CO_TRY(combine", "if (inclusive) HR_CO_TRY(combine"),
    Fault("every piece of a strided message is unpacked at its begin", "src/p2p/protocol/stream.cpp",
          "layout::unpack(receive.view_, offset, bytes, payload)", "layout::unpack(receive.view_, 0, bytes, payload)"),
    Fault("of messages that overtook one only the first is delivered", "src/transport/network/in_order.hpp",
          "while (!early_.empty() && early_.begin()->first == next_) {", "if (!early_.empty() && early_.begin()->first == next_) {"),
    Fault("device data is fetched before the default stream is done with it", "src/p2p/protocol/device_get.cpp",
          "if (Pending* const waits = pending(*each.send); waits != nullptr && !waits->fence.passed()) return false;", ""),
    Fault("a broadcast over hosts starts at the first host", "src/coll/compose/bcast.cpp",
          "across.call.root = levels.root_host();", "across.call.root = 0;"),
    Fault("a split ignores the keys", "src/comm/create/split.cpp",
          "return choices[static_cast<std::size_t>(a)].key < choices[static_cast<std::size_t>(b)].key;", "return a < b;"),
    Fault("an access to a file in atomic mode does not wait for its turn", "src/io/shared_words.cpp",
          "me->words->serving.load(std::memory_order_acquire) == me->ticket", "me->words != nullptr"),
    Fault("a partitioned send forgets its first partition if that was ready before it met its receive", "src/p2p/partitioned/partitioned.cpp",
          "(is_receive_ || ready_[i])", "(is_receive_ || (i != 0 && ready_[i]))"),
    # Traps of HIP (tests/fake_hip/README.md).
    Fault("pinned memory of an AMD device is not requested as coherent", "src/mem/hip/driver.cpp",
          "flags | device::kHostRegisterDeviceMap | kHostCoherent", "flags | device::kHostRegisterDeviceMap"),
    Fault("an event of an AMD device does not release to the system", "src/mem/hip/driver.cpp",
          "flags | kEventReleaseToSystem", "flags"),
    Fault("an address inside an allocation of an AMD device is exported as its base", "src/mem/hip/pointer.cpp",
          "*static_cast<DeviceAddress*>(values[i]) = range.start;", "*static_cast<DeviceAddress*>(values[i]) = address;"),
    Fault("the types of HIP's memory are counted from 1 in each version", "src/mem/hip/pointer.cpp",
          "runtime().major < 6 ? found.type + 1 : found.type", "found.type"),
    Fault("the flag for opening HIP's handles is that of ROCm 6 and 7 alone", "src/mem/hip/driver.cpp",
          "if (result != device::kInvalidValue || runtime().major > 5) return result;\n  return quietly(runtime().hipIpcOpenMemHandle(address, handle, 0));",
          "return result;"),
    Fault("an expected error of HIP stays the program's last error", "src/mem/hip/runtime.hpp",
          "if (result != device::kSuccess && was_clean_) [[unlikely]]", "if (result != device::kSuccess && !was_clean_) [[unlikely]]"),
    Fault("all memory of an AMD device counts as chunked", "src/mem/hip/pointer.cpp",
          "kind == Memory::kDevice && is_chunk(address, range.start, found.device)", "kind == Memory::kDevice"),
    Fault("a reference to a chunk that HIP did not count is released", "src/mem/hip/chunks.cpp",
          "if (runtime().version >= kCountsReferences) static_cast<void>", "static_cast<void>"),
    Fault("HIP imports a descriptor by its address alone", "src/mem/hip/chunks.cpp",
          "pointer_ = static_cast<std::byte*>(memory_) + number % page;", "pointer_ = static_cast<std::byte*>(memory_);"),
    Fault("the resident copy kernel is used on AMD devices", "src/mem/hip/driver.cpp",
          "table->stores_appear_early = false;", "table->stores_appear_early = true;"),
    Fault("HIP gets CUDA's handle of the default stream", "src/mem/hip/driver.cpp",
          "return value == device::legacy_stream() ? nullptr : value;", "return value;"),
    Fault("words for streams of an AMD device wrap around", "src/enqueue/words.cpp",
          "if (next.done.host == nullptr || count_of(next) == kHighest)", "if (next.done.host == nullptr)"),
    Fault("the device that is always current in HIP counts as used", "src/mem/hip/driver.cpp",
          "table->always_current = true;", "table->always_current = false;"),
    Fault("the range of memory registered with HIP begins at 0", "src/mem/hip/pointer.cpp",
          "if (address - range.start >= range.bytes &&\n      quietly(runtime().hipPointerGetAttribute(&range.start, kRangeStart, address)) != device::kSuccess)\n    return {};\n  return address - range.start < range.bytes ? range : Range{};",
          "return range;"),
)
