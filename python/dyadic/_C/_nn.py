"""Functions of nn that PyTorch has in C++."""
from .._dyadic import Tensor, device, dtype


def _parse_to(*args, **kwargs):
    """(device, dtype, non_blocking, memory_format) of the arguments of to()."""
    found = {"device": None, "dtype": None, "non_blocking": False, "memory_format": None, **{k: v for k, v in kwargs.items() if k != "copy"}}
    for value in args:
        if isinstance(value, Tensor):
            found["device"], found["dtype"] = value.device, value.dtype
        elif isinstance(value, dtype):
            found["dtype"] = value
        elif isinstance(value, bool):
            found["non_blocking"] = value
        elif value is not None:
            found["device"] = value
    place = found["device"]
    return place if place is None or isinstance(place, device) else device(place), found["dtype"], found["non_blocking"], found["memory_format"]


def __getattr__(name):
    from ..nn import functional

    if hasattr(functional, name) and not name.startswith("__"):
        return getattr(functional, name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
