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


def _parts(parts, return_inverse, return_counts):
    output, inverse, counts = parts
    wanted = (output,) + (inverse,) * return_inverse + (counts,) * return_counts
    return wanted if len(wanted) > 1 else output


def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """The different elements in order (along dim: the different slices), and if asked for which of them each element is, and
    how often each occurs."""
    if dim is None:
        return _parts(_dyadic.unique(input, sorted), return_inverse, return_counts)
    return _parts(_dyadic.unique_dim(input, dim, False), return_inverse, return_counts)


def unique_consecutive(input, return_inverse=False, return_counts=False, dim=None):
    """The elements that differ from the one before (along dim: slices), and if asked for which of them each element is, and how
    often each occurs in a row."""
    if dim is None:
        return _parts(_dyadic.unique_consecutive(input), return_inverse, return_counts)
    return _parts(_dyadic.unique_dim(input, dim, True), return_inverse, return_counts)


_dyadic.Tensor.unique, _dyadic.Tensor.unique_consecutive = unique, unique_consecutive
