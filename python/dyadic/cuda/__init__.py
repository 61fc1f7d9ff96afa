"""What code for GPUs asks first. There are none: the answers say so, and memory is the CPU's."""
from .. import _dyadic
from . import amp, nvtx  # noqa: F401
from .._no_gpu import device_count, is_available, manual_seed, synchronize  # noqa: F401
from .._dyadic import OutOfMemoryError, empty_cache, max_memory_allocated, memory_allocated, memory_stats, memory_summary, reset_peak_memory_stats
from .._ignored import ignored as _ignored


def is_initialized():
    """False: there is no GPU."""
    return False


@_ignored("including_emulation", why="there is no GPU")
def is_bf16_supported(including_emulation=True):
    """False: there is no GPU."""
    return False


def get_rng_state_all():
    """[]: no GPU has a generator."""
    return []


def set_rng_state_all(new_states):
    """Takes the states of no GPU: []."""
    if len(new_states):
        _none()


manual_seed_all = manual_seed
memory_reserved, max_memory_reserved = memory_allocated, max_memory_allocated


def _none(*args, **kwargs):
    """Raises: there is no GPU."""
    raise RuntimeError("cuda: this build has no GPU; use device \"cpu\", and ask is_available() first")


current_device = get_rng_state = set_rng_state = get_device_name = get_device_properties = get_device_capability = set_device = _none
mem_get_info = current_stream = default_stream = stream = graph = _none


class _NoGpu:
    def __init__(self, *args, **kwargs):
        _none()


class Stream(_NoGpu):
    """For annotations and isinstance: there is no GPU."""


class ExternalStream(Stream):
    """For annotations and isinstance: there is no GPU."""


class StreamContext(_NoGpu):
    """A scope of a stream, of which there is none."""


class Event(_NoGpu):
    """For annotations and isinstance: there is no GPU."""


class CUDAGraph(_NoGpu):
    """For annotations and isinstance: there is no GPU."""


class device(_NoGpu):
    """A scope of a GPU, of which there is none."""


class device_of(_NoGpu):
    """A scope of a tensor's GPU, of which there is none."""


def is_current_stream_capturing():
    """False: there is no GPU."""
    return False


def get_arch_list():
    """[]: there is no GPU."""
    return []


def ipc_collect():
    """No GPU's memory is shared."""


def init():
    """Nothing is to be begun: there is no GPU."""


_dyadic.Tensor.cuda = _none
__all__ = [name for name in dir() if not name.startswith("_")]
