"""Forms of the ops that PyTorch spells with the same name and other arguments."""
from . import _dyadic


def arange(start, end=None, step=1, *, dtype=None, device=None, requires_grad=False):
    """arange(end) or arange(start, end, step): start, start + step, ... below end."""
    if end is None:
        start, end = 0, start
    return _dyadic.arange(start, end, step, dtype=dtype, device=device, requires_grad=requires_grad)


def randint(low, high, size=None, *, dtype=None, device=None, requires_grad=False):
    """randint(high, size) or randint(low, high, size): integers in [low, high), all equally likely."""
    if size is None:
        low, high, size = 0, low, high
    return _dyadic.randint(low, high, size, dtype=dtype, device=device, requires_grad=requires_grad)
