"""The functions of torch.distributed, which hand calls to a process group, as PyTorch's do."""

import enum
import types


class ReduceOp(enum.Enum):
    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR, PREMUL_SUM = range(9)


class ProcessGroup:
    def __init__(self, rank, size):
        self.own, self.count = rank, size


class Work:
    pass


class Backend:
    creators = {}

    @classmethod
    def register_backend(cls, name, creator, extended_api, devices):
        assert extended_api and devices
        cls.creators[name] = creator


class HashStore:
    pass


class AllreduceOptions(types.SimpleNamespace):
    reduceOp = ReduceOp.SUM  # noqa: N815


ReduceScatterOptions = AllreduceOptions
_world = None
_name = None


def init_process_group(backend, store, rank, world_size):
    global _world, _name
    assert isinstance(store, HashStore)
    _name = backend
    _world = Backend.creators[backend](types.SimpleNamespace(group_rank=rank, group_size=world_size, global_ranks_in_group=[]), None)
    _world.members = list(range(world_size))
    _world.all = [_world]


def new_group(ranks):
    if _world.own not in ranks:
        return None
    made = Backend.creators[_name](types.SimpleNamespace(group_rank=ranks.index(_world.own), group_size=len(ranks), global_ranks_in_group=ranks), None)
    made.members = ranks
    _world.all.append(made)
    return made


def destroy_process_group():
    for group in _world.all:
        group.shutdown()


def get_rank():
    return _world.own


def all_reduce(tensor, op=ReduceOp.SUM, group=None, async_op=False):
    work = (group or _world).allreduce([tensor], AllreduceOptions(reduceOp=op))
    if async_op:
        return work
    work.wait()
    return None


def broadcast(tensor, src, group=None):
    group = group or _world
    group.broadcast([tensor], types.SimpleNamespace(rootRank=group.members.index(src))).wait()


def all_gather_into_tensor(output, tensor, async_op=False):
    work = _world._allgather_base(output, tensor, None)
    if async_op:
        return work
    work.wait()
    return None


def reduce_scatter_tensor(output, tensor, op=ReduceOp.SUM):
    _world._reduce_scatter_base(output, tensor, ReduceScatterOptions(reduceOp=op)).wait()


def barrier():
    _world.barrier(None).wait()


def isend(tensor, dst, tag=0):
    return _world.send([tensor], dst, tag)


def send(tensor, dst, tag=0):
    _world.send([tensor], dst, tag).wait()


def irecv(tensor, src, tag=0):
    return _world.recv([tensor], src, tag)


def recv(tensor, src, tag=0):
    _world.recv([tensor], src, tag).wait()
