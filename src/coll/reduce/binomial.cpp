// Reduce up a binomial tree: log2 p steps of the whole vector. The top of the tree is the root. For operations that are
// not commutative it is rank 0, so that subtrees are ranges of ranks, and the result is then sent to the root.
#include "coll/reduction.hpp"
#include "coll/registry.hpp"

namespace hr::coll {
namespace {

Task run(const Call& call) {
  const int top = call.op->commutative() ? call.root : 0;
  const bool root = call.rank() == call.root;
  const View& data = contribution(call);
  // The root accumulates in its receive buffer; other processes have none.
  TypedScratch accumulator(root ? 0 : data.count, *data.type);
  TypedScratch room(data.count, *data.type);
  const View mine = root ? call.recv.all() : accumulator.view();
  if (!call.in_place) HR_CO_TRY(layout::copy(data, mine));
  Task tree = tree_reduce(call, top, mine, room.view());
  const Status reduced = co_await tree;
  if (!reduced.ok() || top == call.root) co_return reduced;

  Requests<1> request;
  if (root) HR_CO_TRY(receive_from(call, top, mine, request.next()));
  if (call.rank() == top) HR_CO_TRY(send_to(call, call.root, mine, request.next()));
  const Status status = co_await request.all();
  co_return status;
}

}  // namespace

const Algorithm reduce_binomial = {"binomial", serves(Operation::kReduce), &intra, &run};

}  // namespace hr::coll
