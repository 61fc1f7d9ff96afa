"""Forms of the ops that PyTorch spells with the same name and other arguments."""
from . import _dyadic
from ._more_functions import isclose
from ._functions import broadcast_shapes


def arange(start=None, end=None, step=1, *, dtype=None, device=None, requires_grad=False, **options):
    """arange(end) or arange(start, end, step): start, start + step, ... below end."""
    if end is None:
        start, end = 0, start
    if end is None:
        raise TypeError("arange: an argument is missing: end; arange(end) or arange(start, end, step)")
    start = 0 if start is None else start
    if options.get("out") is not None and dtype is None:
        dtype = options["out"].dtype
    return _dyadic.arange(start, end, step, dtype=dtype, device=device, requires_grad=requires_grad, **options)


def randint(low=None, high=None, size=None, *, dtype=None, device=None, requires_grad=False, **options):
    """randint(high, size) or randint(low, high, size): integers in [low, high), all equally likely."""
    if size is None:
        low, high, size = 0, low, high
    elif high is None:
        low, high = 0, low
    low = 0 if low is None else low
    return _dyadic.randint(low, high, size, dtype=dtype, device=device, requires_grad=requires_grad, **options)


def _parts(parts, return_inverse, return_counts):
    output, inverse, counts = parts
    wanted = (output,) + (inverse,) * return_inverse + (counts,) * return_counts
    return wanted if len(wanted) > 1 else output


def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """The different elements in order (along dim: the different slices), and if asked for which of them each element is, and
    how often each occurs."""
    if dim is None:
        return _parts(_dyadic.unique(input, sorted, return_inverse, return_counts), return_inverse, return_counts)
    return _parts(_dyadic._parts.unique_dim(input, dim, False), return_inverse, return_counts)


def unique_consecutive(input, return_inverse=False, return_counts=False, dim=None):
    """The elements that differ from the one before (along dim: slices), and if asked for which of them each element is, and how
    often each occurs in a row."""
    if dim is None:
        return _parts(_dyadic.unique_consecutive(input, return_inverse, return_counts), return_inverse, return_counts)
    return _parts(_dyadic._parts.unique_dim(input, dim, True), return_inverse, return_counts)


_dyadic.Tensor.unique, _dyadic.Tensor.unique_consecutive = unique, unique_consecutive


def einsum(equation, *operands):
    """einsum("ij,jk->ik", a, b): sums of products in Einstein's notation; the operands one by one or as a list. Or
    einsum(a, [0, 1], b, [1, 2], [0, 2]): dimensions by number, each list behind its operand, the result's last if given."""
    if isinstance(equation, _dyadic.Tensor):
        given = (equation, *operands)
        lists = [*given[1::2], *(given[-1:] if len(given) % 2 else ())]
        terms = ["".join("..." if d is ... else chr(ord("A") + d + 6 * (d > 25)) for d in dims) for dims in lists]
        count = len(given) // 2
        return _dyadic.einsum(",".join(terms[:count]) + ("->" + terms[count] if len(given) % 2 else ""), list(given[: 2 * count : 2]))
    return _dyadic.einsum(equation, list(operands[0]) if len(operands) == 1 and isinstance(operands[0], (list, tuple)) else operands)


def tensor_split(input, indices_or_sections=None, dim=0, *, indices=None, sections=None, tensor_indices_or_sections=None):
    """Views along dim: so many (the first ones larger by one where it does not come out even), or cut before the given indices. A
    tensor is read as the number, or the list, that it holds."""
    given = [x for x in (indices_or_sections, indices, sections, tensor_indices_or_sections) if x is not None]
    if len(given) != 1:
        raise TypeError("tensor_split: one of indices_or_sections, indices and sections is needed")
    return _dyadic.tensor_split(input, given[0].tolist() if isinstance(given[0], _dyadic.Tensor) else given[0], dim)


def tensordot(a, b, dims=2, dims_b=None):
    """Sums of products over the last dimensions of a and the first of b, `dims` of them, or over the pairs of two lists: dims is both, or
    a's beside dims_b. A tensor is read as the number, or the two lists, that it holds."""
    if dims_b is not None:
        dims = dims, dims_b
    if isinstance(dims, _dyadic.Tensor):  # one number, or a row for each
        if dims.numel() > 1 and (dims.ndim != 2 or len(dims) != 2):
            raise TypeError(f"tensordot: dims is a number or two rows of dimensions: it is {dims.tolist()}")
        dims = dims.long().tolist() if dims.numel() > 1 else dims.long().item()
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot: dims is a number of dimensions: it is {dims}")
        return _dyadic.tensordot(a, b, list(range(a.ndim - dims, a.ndim)), list(range(dims)))
    first, last = dims
    return _dyadic.tensordot(a, b, [first] if isinstance(first, int) else first, [last] if isinstance(last, int) else last)


def nonzero(input, *, out=None, as_tuple=False):
    """Where the elements are not zero: rows of coordinates, or a tensor of coordinates per dimension."""
    if as_tuple:
        return _dyadic.nonzero(input, as_tuple=True)
    return _dyadic.nonzero(input, out=out)


def _where(self, condition, other):
    """self where the condition holds, else other."""
    return _dyadic.where(condition, self, other)


def _sum_to_size(self, *size):
    """Summed over the dimensions in which size is 1, or that it lacks: the reverse of expand."""
    size = size[0] if len(size) == 1 and not isinstance(size[0], int) else size
    if len(size) > self.ndim or any(n not in (1, m) for n, m in zip(reversed(size), reversed(self.shape))):
        raise RuntimeError(f"sum_to_size: {list(size)} does not expand to self, which is {list(self.shape)}")
    extra = self.ndim - len(size)
    dims = [d for d in range(self.ndim) if d < extra or size[d - extra] == 1 and self.shape[d] != 1]
    return (self.sum(dims, True) if dims else self).reshape(list(size))


def _apply(self, callable):
    """Replaces every element by what a Python function makes of it: slow, for tests and odd cases."""
    return self.copy_(_dyadic.tensor([callable(v) for v in self.reshape(-1).tolist()], dtype=self.dtype).reshape(self.shape))


def _map(self, tensor, callable):
    """Replaces every element by a Python function of it and of the other tensor's."""
    pairs = zip(self.reshape(-1).tolist(), tensor.expand(self.shape).reshape(-1).tolist())
    return self.copy_(_dyadic.tensor([callable(a, b) for a, b in pairs], dtype=self.dtype).reshape(self.shape))


_dyadic.Tensor.nonzero, _dyadic.Tensor.where, _dyadic.Tensor.sum_to_size = nonzero, _where, _sum_to_size
_dyadic.Tensor.apply_, _dyadic.Tensor.map_, _dyadic.Tensor.tensor_split = _apply, _map, tensor_split


def _spread(name):
    op = getattr(_dyadic, name)

    def spread(input, dim=None, unbiased=True, keepdim=False, *, correction=None, **options):
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        if "axis" in options:
            dim = options.pop("axis")
        if "keepdims" in options:
            keepdim = options.pop("keepdims")
        return op(input, dim, int(unbiased) if correction is None else correction, keepdim, **options)

    spread.__name__ = name
    spread.__doc__ = op.__doc__.split("\n\n")[0] + " unbiased: correction is 1, else 0."
    return spread


var, std, var_mean, std_mean = map(_spread, ("var", "std", "var_mean", "std_mean"))
_dyadic.Tensor.var, _dyadic.Tensor.std = var, std


def _over(name):
    op = getattr(_dyadic, name)

    def reduce(input, dim=None, *args, **options):
        if isinstance(dim, (tuple, list)) and not dim:  # over no dimension: of each element
            truth = _dyadic.ne(input, 0, out=options.get("out"))
            return truth.to(_dyadic.uint8) if input.dtype == _dyadic.uint8 else truth
        return op(input, *args, **options) if dim is None and not args else op(input, dim, *args, **options)

    reduce.__name__, reduce.__doc__ = name, op.__doc__
    return reduce


any_, all_ = map(_over, ("any", "all"))
_dyadic.Tensor.any, _dyadic.Tensor.all = any_, all_


def bucketize(input, boundaries, *, out_int32=False, right=False, out=None):
    """For each element (or a number) the bucket between sorted boundaries it is in: searchsorted(boundaries, input)."""
    op = _dyadic.bucketize if isinstance(input, _dyadic.Tensor) else _bucket_of_number
    return op(input, boundaries, out_int32=out_int32, right=right, out=out)


def _bucket_of_number(number, boundaries, **options):
    return _dyadic.searchsorted(boundaries, number, **options)


def equal(input, other):
    """Whether two tensors have the same shape and the same elements."""
    return tuple(input.shape) == tuple(other.shape) and bool(_dyadic.all(_dyadic.eq(input, other)).item())


def allclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether all elements are within atol + rtol |other| of each other."""
    return bool(_dyadic.all(isclose(input, other, rtol, atol, equal_nan)).item())


_dyadic.Tensor.equal, _dyadic.Tensor.allclose = equal, allclose


def repeat_interleave(input, repeats=None, dim=None, *, output_size=None):
    """Each element (along dim: each slice) as often as repeats says, an int or a Tensor of counts; of counts alone, the position of each
    as often as it says."""
    if repeats is None:
        input, repeats = _dyadic.arange(0, input.numel(), device=input.device), input
    return _dyadic.repeat_interleave(input, repeats, dim, output_size=output_size)


def cross(input, other, dim=None, *, out=None):
    """The vectors perpendicular to those of input and other along dim, of three entries: the first such dimension unless given."""
    if dim is None:
        shape = broadcast_shapes(input.shape, other.shape)
        dim = shape.index(3) if 3 in shape else -1
        dim -= len(shape)
    return _dyadic.cross(input, other, dim, out=out)


_dyadic.Tensor.cross = cross
