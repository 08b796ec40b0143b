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
)
