"""Several processes that train together, by PyTorch's names. Start them by mpirun or `dyadic launch -n 4 -- python script.py`; then
init_process_group() joins them. There is one group, of all of them."""
import atexit
import pickle

from .. import _dyadic
from .._absent import names_of
from .._ignored import ignored
from ._parallel import DataParallel

_world = _dyadic._distributed
_joined = False


def is_available():
    """Whether several processes were started together, by mpirun or dyadic launch."""
    return _world.launched() > 1


is_mpi_available = is_available


def is_nccl_available():
    """False: there are no GPUs."""
    return False


is_gloo_available = is_ucc_available = is_xccl_available = is_torchelastic_launched = is_nccl_available


def is_initialized():
    """Whether init_process_group() has been called."""
    return _joined


class ReduceOp:
    """How numbers of all ranks become one. Sums are one fixed tree over the ranks: the same bits on every one, in every run."""

    SUM, AVG, PRODUCT, MIN, MAX = "sum", "avg", "product", "min", "max"


class group:
    """PyTorch's place of the group of all processes."""

    WORLD = None


GroupMember = group


class _World:
    """All processes."""

    def rank(self):
        return _world.rank()

    def size(self):
        return _world.size()


@ignored("init_method", "store", "group_name", "pg_options", "device_id", why="the launcher says who belongs together")
def init_process_group(backend=None, init_method=None, timeout=None, world_size=-1, rank=-1, store=None, group_name="", pg_options=None, device_id=None):
    """Joins the processes that were started together. backend: "mpi" or None; init_method, store and the rest are the launcher's to say.
    timeout: a timedelta that a call waits for the others (30 minutes). A process that was started alone is a world of one.

    ValueError where the backend is another, or where world_size or rank is not what the launcher says."""
    global _joined
    if _joined:
        raise ValueError("distributed.init_process_group: it has been called; destroy_process_group() comes first")
    if backend not in (None, "mpi", "cpu:mpi") and (_world.launched() > 1 or backend != "gloo"):
        raise ValueError(f"distributed.init_process_group: backend is {backend!r}; processes are joined by mpi: start them by dyadic launch or mpirun")
    if world_size not in (-1, _world.launched()):
        raise ValueError(
            f"distributed.init_process_group: world_size is {world_size}, but {_world.launched()} processes were started together: start them by dyadic launch or mpirun"
        )
    if rank not in (-1, _world.rank()):
        raise ValueError(f"distributed.init_process_group: rank is {rank}, but this process is rank {_world.rank()}")
    if timeout is not None:
        _world.set_timeout(timeout.total_seconds())
    _world.barrier()
    _joined = True
    group.WORLD = _World()
    atexit.register(destroy_process_group)


def destroy_process_group(group=None):
    """Leaves the group. It is called at the end of the program, too."""
    global _joined
    if _joined:
        _joined = False
        globals()["group"].WORLD = None
        _world.finish()


def _need(name, of=None):
    if not _joined:
        raise ValueError(f"distributed.{name}: there is no process group; call init_process_group() first, or ask is_initialized()")
    if of is not None and not isinstance(of, _World):
        raise ValueError(f"distributed.{name}: group is {of!r}; there is one group, of all processes")


class Work:
    """A call that has been done: what async_op=True gives. Calls are finished when they return."""

    @ignored("timeout", why="the call has been done")
    def wait(self, timeout=None):
        """True."""
        return True

    def is_completed(self):
        """True."""
        return True

    is_success = is_completed


def _done(async_op):
    return Work() if async_op else None


def get_rank(group=None):
    """Which process this is, from 0."""
    _need("get_rank", group)
    return _world.rank()


def get_world_size(group=None):
    """How many processes there are."""
    _need("get_world_size", group)
    return _world.size()


def get_backend(group=None):
    """ "mpi"."""
    _need("get_backend", group)
    return "mpi"


@ignored("timeout", "backend", "pg_options", "use_local_synchronization", "group_desc", "device_id", why="it is the group of all processes, that is there")
def new_group(ranks=None, timeout=None, backend=None, pg_options=None, use_local_synchronization=False, group_desc=None, device_id=None):
    """The group of all processes; ValueError where `ranks` are fewer."""
    _need("new_group")
    if ranks is not None and sorted(ranks) != list(range(_world.size())):
        raise ValueError(f"distributed.new_group: ranks are {list(ranks)}; there is one group, of all {_world.size()} processes")
    return group.WORLD


def get_process_group_ranks(group=None):
    """All ranks."""
    _need("get_process_group_ranks", group)
    return list(range(_world.size()))


def get_global_rank(group, group_rank):
    """The same: there is one group."""
    _need("get_global_rank", group)
    return group_rank


@ignored("device_ids", why="there is one device")
def barrier(group=None, async_op=False, device_ids=None):
    """Returns when every rank has called it."""
    _need("barrier", group)
    _world.barrier()
    return _done(async_op)


@ignored("timeout", "wait_all_ranks", why="the timeout is that of init_process_group")
def monitored_barrier(group=None, timeout=None, wait_all_ranks=False):
    """barrier(): an error after the timeout names the ranks that did not come."""
    return barrier(group)


def broadcast(tensor, src=None, group=None, async_op=False, group_src=None):
    """Every rank's tensor becomes rank src's."""
    _need("broadcast", group)
    _world.broadcast(tensor, src if src is not None else group_src or 0)
    return _done(async_op)


def all_reduce(tensor, op=ReduceOp.SUM, group=None, async_op=False):
    """Every rank's tensor becomes the sum (or what `op` says) of all. Numbers of 16 bits are added in float32."""
    _need("all_reduce", group)
    _world.all_reduce(tensor, op)
    return _done(async_op)


def reduce(tensor, dst=None, op=ReduceOp.SUM, group=None, async_op=False, group_dst=None):
    """all_reduce() on rank dst; elsewhere the tensor stays."""
    _need("reduce", group)
    result = tensor.detach().clone()
    _world.all_reduce(result, op)
    if _world.rank() == (dst if dst is not None else group_dst or 0):
        tensor.detach().copy_(result)
    return _done(async_op)


def all_gather_into_tensor(output_tensor, input_tensor, group=None, async_op=False):
    """Every rank's input, one after the other."""
    _need("all_gather_into_tensor", group)
    _world.all_gather(output_tensor, input_tensor)
    return _done(async_op)


def all_gather(tensor_list, tensor, group=None, async_op=False):
    """tensor_list[r] becomes rank r's tensor; all of one shape and dtype."""
    _need("all_gather", group)
    every = tensor.new_empty((_world.size(), *tensor.shape))
    _world.all_gather(every, tensor)
    for mine, theirs in zip(tensor_list, every):
        mine.detach().copy_(theirs)
    return _done(async_op)


def gather(tensor, gather_list=None, dst=None, group=None, async_op=False, group_dst=None):
    """all_gather() on rank dst."""
    _need("gather", group)
    every = tensor.new_empty((_world.size(), *tensor.shape))
    _world.all_gather(every, tensor)
    if _world.rank() == (dst if dst is not None else group_dst or 0):
        for mine, theirs in zip(gather_list, every):
            mine.detach().copy_(theirs)
    return _done(async_op)


def scatter(tensor, scatter_list=None, src=None, group=None, async_op=False, group_src=None):
    """The tensor becomes rank src's scatter_list[rank]."""
    _need("scatter", group)
    root = src if src is not None else group_src or 0
    every = tensor.new_empty((_world.size(), *tensor.shape))
    if _world.rank() == root:
        for mine, given in zip(every, scatter_list):
            mine.copy_(given)
    _world.broadcast(every, root)
    tensor.detach().copy_(every[_world.rank()])
    return _done(async_op)


def reduce_scatter_tensor(output, input, op=ReduceOp.SUM, group=None, async_op=False):
    """Rank r's part, of as many as there are ranks, of the sum of all inputs."""
    _need("reduce_scatter_tensor", group)
    _world.reduce_scatter(output, input, op)
    return _done(async_op)


def reduce_scatter(output, input_list, op=ReduceOp.SUM, group=None, async_op=False):
    """The sum of all ranks' input_list[rank]."""
    _need("reduce_scatter", group)
    every = output.new_empty((_world.size(), *output.shape))
    for mine, given in zip(every, input_list):
        mine.copy_(given)
    _world.reduce_scatter(output, every, op)
    return _done(async_op)


def all_to_all_single(output, input, output_split_sizes=None, input_split_sizes=None, group=None, async_op=False):
    """Part r of the input goes to rank r, whose part this rank's is there. ValueError for parts that are not equal."""
    _need("all_to_all_single", group)
    for sizes in (output_split_sizes, input_split_sizes):
        if sizes and len(set(sizes)) > 1:
            raise ValueError(f"distributed.all_to_all_single: sizes are {list(sizes)}; parts are equal here")
    _world.all_to_all(output, input)
    return _done(async_op)


def all_to_all(output_tensor_list, input_tensor_list, group=None, async_op=False):
    """output_tensor_list[r] becomes rank r's input_tensor_list[rank]; all of one shape and dtype."""
    _need("all_to_all", group)
    given = input_tensor_list[0].new_empty((_world.size(), *input_tensor_list[0].shape))
    for mine, t in zip(given, input_tensor_list):
        mine.copy_(t)
    got = given.clone()
    _world.all_to_all(got, given)
    for mine, theirs in zip(output_tensor_list, got):
        mine.detach().copy_(theirs)
    return _done(async_op)


def send(tensor, dst=None, group=None, tag=0, group_dst=None):
    """To rank dst, which calls recv()."""
    _need("send", group)
    _world.send(tensor, dst if dst is not None else group_dst, tag)


def recv(tensor, src=None, group=None, tag=0, group_src=None):
    """What rank src sends; gives src, which must be named."""
    _need("recv", group)
    source = src if src is not None else group_src
    if source is None:
        raise ValueError("distributed.recv: src is None; name the rank that sends")
    _world.receive(tensor, source, tag)
    return source


def _objects(thing):
    return [pickle.loads(b) for b in _world.all_gather_bytes(pickle.dumps(thing))]


def all_gather_object(object_list, obj, group=None):
    """object_list[r] becomes rank r's object. Objects are pickled: a rank runs what the others send."""
    _need("all_gather_object", group)
    object_list[:] = _objects(obj)


def gather_object(obj, object_gather_list=None, dst=None, group=None, group_dst=None):
    """all_gather_object() on rank dst."""
    _need("gather_object", group)
    every = _objects(obj)
    if _world.rank() == (dst if dst is not None else group_dst or 0):
        object_gather_list[:] = every


@ignored("device", why="there is one device")
def broadcast_object_list(object_list, src=None, group=None, device=None, group_src=None):
    """Every rank's list becomes rank src's."""
    _need("broadcast_object_list", group)
    root = src if src is not None else group_src or 0
    object_list[:] = _objects(list(object_list) if _world.rank() == root else None)[root]


def scatter_object_list(scatter_object_output_list, scatter_object_input_list=None, src=None, group=None, group_src=None):
    """The first entry of the output becomes rank src's input[rank]."""
    _need("scatter_object_list", group)
    root = src if src is not None else group_src or 0
    scatter_object_output_list[0] = _objects(scatter_object_input_list if _world.rank() == root else None)[root][_world.rank()]


__getattr__ = names_of(__name__)
