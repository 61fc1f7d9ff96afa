"""Whether several processes can train together: not here. Scripts ask first, and what they may ask for then says so."""
from .._absent import names_of


def is_available():
    """False: training is in one process."""
    return False


def is_initialized():
    """False: there is no process group."""
    return False


is_mpi_available = is_nccl_available = is_gloo_available = is_torchelastic_launched = is_available


def _refusing(name):
    def call(*args, **kwargs):
        raise ValueError(f"distributed.{name}: there is no process group: training is in one process; ask is_initialized() first")

    call.__name__, call.__doc__ = name, "Raises: training is in one process."
    return call


init_process_group, destroy_process_group, new_group = map(_refusing, ("init_process_group", "destroy_process_group", "new_group"))
get_rank, get_world_size, get_backend, barrier = map(_refusing, ("get_rank", "get_world_size", "get_backend", "barrier"))
all_reduce, all_gather, all_gather_object = map(_refusing, ("all_reduce", "all_gather", "all_gather_object"))
broadcast, broadcast_object_list, reduce, gather = map(_refusing, ("broadcast", "broadcast_object_list", "reduce", "gather"))


class group:
    """PyTorch's place of the group of all processes."""

    WORLD = None


GroupMember = group
__getattr__ = names_of(__name__)
