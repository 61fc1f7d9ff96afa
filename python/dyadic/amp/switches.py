"""PyTorch's switches beside the scopes. Whatever device they name, ops run on the CPU: there is one state per thread. What differs
is the dtype that a region takes when none is given: bfloat16 for the CPU, float16 for a GPU."""
from .. import _dyadic
from .._dyadic import clear_autocast_cache, float16, is_autocast_cache_enabled, set_autocast_cache_enabled

__all__ = [
    "autocast_decrement_nesting",
    "autocast_increment_nesting",
    "clear_autocast_cache",
    "get_autocast_cpu_dtype",
    "get_autocast_dtype",
    "get_autocast_gpu_dtype",
    "is_autocast_cache_enabled",
    "is_autocast_cpu_enabled",
    "is_autocast_enabled",
    "set_autocast_cache_enabled",
    "set_autocast_cpu_dtype",
    "set_autocast_cpu_enabled",
    "set_autocast_dtype",
    "set_autocast_enabled",
    "set_autocast_gpu_dtype",
]
DEVICES = ("cpu", "cuda", "meta")
_ELSEWHERE = ("hpu", "ipu", "maia", "mps", "mtia", "privateuseone", "xla", "xpu")  # PyTorch's that no machine has for us
_gpu_dtype = float16


def device_name(device_type, who):
    """"cuda" of "cuda:0" or a device."""
    name = str(getattr(device_type, "type", device_type)).split(":")[0]
    if name not in DEVICES:
        raise RuntimeError(f"{who}: an unknown device: device_type is {device_type!r}; there are {', '.join(DEVICES)}")
    return name


def is_autocast_enabled(device_type=None):
    """Whether ops of this thread run by autocast's policies."""
    if device_type in _ELSEWHERE:
        return False
    if device_type is not None:
        device_name(device_type, "is_autocast_enabled")
    return _dyadic._autocast_enabled()


def set_autocast_enabled(device_type, enabled=None):
    """set_autocast_enabled(device_type, enabled), or (enabled) alone."""
    if enabled is None:
        enabled = device_type
    else:
        device_name(device_type, "set_autocast_enabled")
    _dyadic._set_autocast_enabled(enabled)


def get_autocast_dtype(device_type):
    """The low precision of the region that was entered last, or that one of the device would have."""
    gpu = device_name(device_type, "get_autocast_dtype") == "cuda"
    return _gpu_dtype if gpu and not is_autocast_enabled() else _dyadic._autocast_dtype()


def set_autocast_dtype(device_type, dtype):
    """The low precision of regions from here on: of the device's."""
    global _gpu_dtype
    if device_name(device_type, "set_autocast_dtype") == "cuda":
        _gpu_dtype = dtype
        if not is_autocast_enabled():
            return
    _dyadic._set_autocast_dtype(dtype)


def get_autocast_cpu_dtype():
    """get_autocast_dtype("cpu")."""
    return get_autocast_dtype("cpu")


def get_autocast_gpu_dtype():
    """get_autocast_dtype("cuda")."""
    return get_autocast_dtype("cuda")


def set_autocast_cpu_dtype(dtype):
    """set_autocast_dtype("cpu", dtype)."""
    set_autocast_dtype("cpu", dtype)


def set_autocast_gpu_dtype(dtype):
    """set_autocast_dtype("cuda", dtype)."""
    set_autocast_dtype("cuda", dtype)


def is_autocast_cpu_enabled():
    """is_autocast_enabled()."""
    return is_autocast_enabled()


def set_autocast_cpu_enabled(enabled):
    """set_autocast_enabled(enabled)."""
    set_autocast_enabled(enabled)


_nesting = 0


def autocast_increment_nesting():
    """For code that enters a region by the switches: how deep it is."""
    global _nesting
    _nesting += 1
    return _nesting


def autocast_decrement_nesting():
    """autocast_increment_nesting undone: how deep the region still is."""
    global _nesting
    _nesting -= 1
    return _nesting
