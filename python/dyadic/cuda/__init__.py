"""Devices of the kind cuda by torch.cuda's names. They are there where the plug-in (./dev build --cuda) and NVIDIA's driver are; elsewhere
is_available() is False, what asks for a device says in a line why there is none, and memory is the CPU's."""
from .. import _dyadic
from . import amp, nvtx  # noqa: F401
from .._dyadic import OutOfMemoryError, _cuda, empty_cache  # noqa: F401
from .._dyadic._cuda import Event, Stream, cpu_fallback, cpu_fallback_calls, device_count, is_available, stream  # noqa: F401
from .._ignored import ignored as _ignored


def _index(device):
    """-1: the current one."""
    if device is None:
        return -1
    if isinstance(device, int):
        return device
    named = _dyadic.device(device)
    if named.type != "cuda":
        raise ValueError(f"cuda: a device of the kind cuda is needed: it is {named}")
    return -1 if named.index is None else named.index


def _place(device):
    """Whose memory is asked for: the CPU's where there is no other."""
    if not is_available():
        return "cpu"
    i = _index(device)
    return f"cuda:{_cuda.current_device() if i < 0 else i}"


def is_initialized():
    """Whether there is a device."""
    return is_available()


def init():
    """Nothing is to be begun: devices begin when they are first used."""


@_ignored("including_emulation", why="every device here computes with bfloat16, some in float32")
def is_bf16_supported(including_emulation=True):
    """Whether there is a device: all compute with bfloat16."""
    return is_available()


def current_device():
    """The index of what device "cuda" is in this thread."""
    return _cuda.current_device()


def set_device(device):
    """device "cuda" is this one in this thread, from now on."""
    i = _index(device)
    if i >= 0:
        _cuda.set_device(i)


class device:
    """A scope in which device "cuda" is this one."""

    def __init__(self, device):
        self.idx = _index(device)

    def __enter__(self):
        self._before = _cuda.current_device()
        set_device(self.idx)

    def __exit__(self, *exception):
        _cuda.set_device(self._before)


class device_of(device):
    """A scope in which device "cuda" is the one that a tensor lies on."""

    def __init__(self, obj):
        super().__init__(obj.device.index if obj.is_cuda else None)


def get_device_properties(device=None):
    """name, total_memory (bytes), major and minor, multi_processor_count, L2_cache_size (bytes)."""
    return _cuda.properties(_index(device))


def get_device_name(device=None):
    """What its maker calls it."""
    return get_device_properties(device).name


def get_device_capability(device=None):
    """(major, minor)."""
    p = get_device_properties(device)
    return p.major, p.minor


@_ignored("device", "peer_device", why="devices copy by way of the driver")
def can_device_access_peer(device, peer_device):
    """False: devices copy by way of the host."""
    return False


def synchronize(device=None):
    """Waits until all that was called has run; raises what kernels have found wrong. Without a device nothing is behind."""
    if is_available():
        _cuda.synchronize(_index(device))


def current_stream(device=None):
    """The Stream that this thread's calls go to."""
    return _cuda.current_stream(_index(device))


def default_stream(device=None):
    """A device's first Stream."""
    return _cuda.default_stream(_index(device))


StreamContext = stream


class ExternalStream(Stream):
    """Another library's stream: not taken."""

    def __init__(self, *args, **kwargs):
        raise RuntimeError("cuda: streams of other libraries are not taken; make one with cuda.Stream()")


def memory_allocated(device=None):
    """Bytes that tensors hold."""
    return _dyadic.memory_allocated(_place(device))


def max_memory_allocated(device=None):
    """The most that tensors have held, in bytes, since reset_peak_memory_stats()."""
    return _dyadic.max_memory_allocated(_place(device))


def memory_reserved(device=None):
    """Bytes that the pool has taken from the driver."""
    return _cuda.memory_reserved(_index(device)) if is_available() else memory_allocated()


def max_memory_reserved(device=None):
    """The pool keeps what it takes: memory_reserved(), and at least what tensors have held."""
    return max(memory_reserved(device), max_memory_allocated(device))


def memory_stats(device=None):
    """The ledger's figures: live and peak bytes by category, and in all."""
    return _dyadic.memory_stats(_place(device))


@_ignored("abbreviated", why="the table is short")
def memory_summary(device=None, abbreviated=False):
    """The ledger as a table."""
    return _dyadic.memory_summary(_place(device))


def reset_peak_memory_stats(device=None):
    """Peaks become what is live now."""
    _dyadic.reset_peak_memory_stats(_place(device))


reset_max_memory_allocated = reset_max_memory_cached = reset_peak_memory_stats


def mem_get_info(device=None):
    """(free, total) bytes, as the driver says."""
    return _cuda.mem_get_info(_index(device))


def set_per_process_memory_fraction(fraction, device=None):
    """Allocations beyond this part of the device's memory raise OutOfMemoryError."""
    if not 0 <= fraction <= 1:
        raise ValueError(f"set_per_process_memory_fraction: fraction is {fraction}; it is 0 to 1")
    _dyadic.set_memory_limit(int(get_device_properties(device).total_memory * fraction), _place(device))


def ipc_collect():
    """No process shares a device's memory."""


def manual_seed(seed):
    """The seed of the one generator that all devices draw from: random numbers are the same on each."""
    if is_available():
        _dyadic.manual_seed(seed)


manual_seed_all = manual_seed


def initial_seed():
    """The seed of the generator that all devices draw from."""
    return _dyadic.initial_seed()


@_ignored("device", why="all devices draw from one generator")
def get_rng_state(device="cuda"):
    """The state of the generator that all devices draw from."""
    _cuda.current_device()
    return _dyadic.get_rng_state()


@_ignored("device", why="all devices draw from one generator")
def set_rng_state(new_state, device="cuda"):
    """The generator that all devices draw from goes on from this state."""
    _cuda.current_device()
    _dyadic.set_rng_state(new_state)


def get_rng_state_all():
    """A state for each device; the same, as there is one generator."""
    return [get_rng_state(i) for i in range(device_count())]


def set_rng_state_all(new_states):
    """States that get_rng_state_all() has given."""
    if len(new_states) and not is_available():
        raise RuntimeError(_cuda.why_unavailable())
    for state in new_states[:1]:
        set_rng_state(state)


def is_current_stream_capturing():
    """False: streams are not captured by name; compile does it."""
    return False


def get_arch_list():
    """The architectures that the plug-in has machine code of, where a device is."""
    return _cuda.architectures().split() if is_available() else []


class CUDAGraph:
    """Streams are not captured by hand: compile(mode="reduce-overhead") does it."""

    def __init__(self, *args, **kwargs):
        raise RuntimeError('cuda: streams are not captured by hand; compile(mode="reduce-overhead") replays whole steps')


graph = CUDAGraph


@_ignored("non_blocking", why="what is called later on the device waits for the copy", of="Tensor.cuda")
@_ignored("memory_format", why="results are dense in the order of their sizes", warn=True, of="Tensor.cuda")
def _to_cuda(self, device=None, non_blocking=False, memory_format=None):
    """The tensor on a device of the kind cuda; itself if it is there."""
    i = _index(device)
    return self.to("cuda" if i < 0 else f"cuda:{i}")


_dyadic.Tensor.cuda = _to_cuda
__all__ = [name for name in dir() if not name.startswith("_")]
