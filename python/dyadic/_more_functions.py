"""Functions that PyTorch has beside its ops, made of them."""
from . import _dyadic, linalg
from ._dyadic import Tensor
from ._size import Size
from ._ignored import about_memory as _about_memory
from ._ignored import ignored as _ignored

__all__ = """
as_strided_ detach_ fill_ resize_as_ zero_ fill resolve_conj resolve_neg is_conj is_neg is_signed is_inference get_device
empty_strided float_power frobenius_norm index_reduce isclose isin lerp lu manual_seed nuclear_norm pdist result_type svd
""".split()


def _as_function(name):
    def call(input, *args, **kwargs):
        return getattr(input, name)(*args, **kwargs)

    call.__name__, call.__doc__ = name, f"The method {name} of a tensor: help(dyadic.Tensor.{name})."
    return call


as_strided_, detach_, fill_, resize_as_, zero_ = map(_as_function, ("as_strided_", "detach_", "fill_", "resize_as_", "zero_"))
resolve_conj, resolve_neg, is_conj, is_neg = map(_as_function, ("resolve_conj", "resolve_neg", "is_conj", "is_neg"))
is_signed, is_inference, get_device = map(_as_function, ("is_signed", "is_inference", "get_device"))



def _polygamma(self, n):
    """dyadic.polygamma(n, self)."""
    return _dyadic.polygamma(n, self)


def _written(name, function):
    def write(self, *args, **kwargs):
        return self.copy_(function(self, *args, **kwargs))

    write.__name__, write.__doc__ = name + "_", f"{name}, written into self."
    return write


Tensor.polygamma, Tensor.polygamma_ = _polygamma, _written("polygamma", _polygamma)
for _name in ("cumsum", "cumprod", "nextafter"):
    setattr(Tensor, _name + "_", _written(_name, getattr(_dyadic, _name)))
Tensor.__reversed__ = lambda self: self.flip(list(range(self.ndim)))


def _dim_order(self):
    """The dimensions from the largest stride to the smallest."""
    return tuple(sorted(range(self.ndim), key=lambda d: -self.stride(d)))


def _new(self, *args):
    """A tensor of self's dtype: of these sizes, or with the values of a list."""
    if len(args) == 1 and isinstance(args[0], Size):
        return self.new_empty(args[0])
    if len(args) == 1 and not isinstance(args[0], int):
        return self.new_tensor(args[0])
    return self.new_empty(args)


Tensor.dim_order, Tensor.new = _dim_order, _new


def fill(input, value):
    """A tensor like input, full of a number. The gradient is 0 for input, and the sum for a value that is a tensor."""
    if not isinstance(value, Tensor):
        full = _dyadic.full_like(input, value)
    else:
        full = value.to(input.dtype).expand(input.shape).clone()
    return _dyadic.where(_dyadic.ones((), dtype=_dyadic.bool), full, input) if input.requires_grad else full


@_ignored("pin_memory", why="there is one device")
def empty_strided(size, stride, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """A tensor of these sizes and strides over memory of its own, not initialized."""
    _about_memory("empty_strided", "layout", layout)
    reach = 1 + sum((n - 1) * s for n, s in zip(size, stride)) if 0 not in size else 0
    t = _dyadic.empty([reach], dtype=dtype, device=device).as_strided(list(size), list(stride))
    return t.requires_grad_() if requires_grad else t


@_ignored("pin_memory", why="there is one device", of="Tensor.new_empty_strided")
def _new_empty_strided(self, size, stride, dtype=None, *, layout=None, device=None, requires_grad=False, pin_memory=False):
    """empty_strided in self's dtype."""
    return empty_strided(size, stride, dtype=dtype or self.dtype, layout=layout, device=device or self.device, requires_grad=requires_grad)


Tensor.new_empty_strided = _new_empty_strided


def into(out, result):
    """result; where there is an out, a tensor or as many as results, that with result's shape and values."""
    if out is None:
        return result
    for target, values in [(out, result)] if isinstance(out, Tensor) else zip(out, result, strict=True):
        if target.shape != values.shape:
            target.resize_(values.shape)
        target.copy_(values)
    return out


def svd(input, some=True, compute_uv=True, *, out=None):
    """(U, S, V) with input = U diag(S) V^H: linalg.svd, which gives V^H."""
    if not compute_uv:
        m, n = input.shape[-2:]
        s = linalg.svdvals(input)
        return _SVD(into(out, (input.new_zeros((*input.shape[:-2], m, m)), s, input.new_zeros((*input.shape[:-2], n, n)))))
    u, s, vh = linalg.svd(input, not some)
    return _SVD(into(out, (u, s, vh.mH)))


class _SVD(tuple):
    U = property(lambda self: self[0])
    S = property(lambda self: self[1])
    V = property(lambda self: self[2])

    def __repr__(self):
        return f"dyadic.return_types.svd(\nU={self[0]},\nS={self[1]},\nV={self[2]})"


def lu(A, pivot=True, get_infos=False, out=None):
    """(LU, pivots), and with get_infos the number of the first zero pivot: linalg.lu_factor_ex."""
    factored, pivots, info = linalg.lu_factor_ex(A, pivot=pivot)
    return into(out, (factored, pivots, info) if get_infos else (factored, pivots))


Tensor.svd, Tensor.lu = svd, lu


def frobenius_norm(input, dim=(), keepdim=False, *, out=None):
    """The root of the sum of squares over dim, all dimensions if it is empty."""
    return into(out, linalg.vector_norm(input, 2, list([dim] if isinstance(dim, int) else dim) or None, keepdim))


def nuclear_norm(input, dim=(-2, -1), keepdim=False, *, out=None):
    """The sum of the singular values of matrices."""
    return into(out, linalg.matrix_norm(input, "nuc", list(dim), keepdim))


def pdist(input, p=2.0):
    """The distances between all pairs of rows, those above the diagonal of cdist(input, input)."""
    row, column = _dyadic.triu_indices(input.size(0), input.size(0), 1).unbind(0)
    return _dyadic.pairwise_distance(input[row], input[column], p, 0.0)


def index_reduce(input, dim, index, source, reduce, *, include_self=True):
    """input with the entries of source combined along dim where index says: reduce is "prod", "mean", "amax" or "amin"."""
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(f"index_reduce: reduce is {reduce!r}; it is 'prod', 'mean', 'amax' or 'amin'")
    if index.dim() > 1:
        raise IndexError(f"index_reduce: the index is a vector: it is {list(index.shape)}")
    dim = dim + input.dim() if dim < 0 else dim
    if not input.dim():
        return index_reduce(input.reshape(1), 0, index, source.reshape(-1), reduce, include_self=include_self).reshape(())
    shape = [1] * max(source.dim(), 1)
    shape[dim] = index.numel()
    places = index.to(_dyadic.int64).reshape(shape).expand(source.shape if source.dim() else [1])
    return _dyadic.scatter_reduce(input, dim, places, source, reduce, include_self=include_self)


def _index_reduce(self, dim, index, source, reduce, *, include_self=True):
    """index_reduce, written into self."""
    return self.copy_(index_reduce(self, dim, index, source, reduce, include_self=include_self))


Tensor.index_reduce, Tensor.index_reduce_ = index_reduce, _index_reduce


def isin(elements, test_elements, *, assume_unique=False, invert=False):
    """For each element whether it is among test_elements; one of the two may be a number."""
    elements, test_elements = (x if isinstance(x, Tensor) else _dyadic.tensor(x) for x in (elements, test_elements))
    return _dyadic.isin(elements, test_elements, assume_unique=assume_unique, invert=invert)


def result_type(tensor, other):
    """The dtype of what is made of both: tensors or numbers."""
    if not isinstance(tensor, Tensor) and not isinstance(other, Tensor):
        return _dyadic.promote_types(_dyadic.tensor(tensor).dtype, _dyadic.tensor(other).dtype)
    small = [_dyadic.empty([0] * x.dim(), dtype=x.dtype) if isinstance(x, Tensor) else x for x in (tensor, other)]
    return _dyadic.mul(*small).dtype if isinstance(tensor, Tensor) else _dyadic.mul(small[1], small[0]).dtype


def manual_seed(seed):
    """Restarts the random numbers; returns the generator they come from."""
    _dyadic.manual_seed(seed)
    return _dyadic.default_generator


def lerp(input, end, weight, *, out=None):
    """input + weight * (end - input), from the nearer end: exact at weight 0 and 1; weight is a number or a tensor."""
    if not isinstance(weight, Tensor):
        return _dyadic.lerp(input, end, weight, out=out)
    step = end - input
    return _dyadic.where(weight.abs() < 0.5, input + weight * step, end - step * (1 - weight), out=out)


Tensor.lerp, Tensor.lerp_ = lerp, _written("lerp", lerp)


def isclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether each element is within atol + rtol |other| of the other's; equal_nan: NaN is close to NaN."""
    if not (input.is_complex() or other.is_complex()):
        return _dyadic.isclose(input, other, rtol, atol, equal_nan)
    near = (input - other).abs() <= atol + rtol * other.abs()
    near = (near & other.isfinite()) | (input == other)
    return near | (input.isnan() & other.isnan()) if equal_nan else near


Tensor.isclose = isclose



def _wide(x):
    return x if isinstance(x, Tensor) else _dyadic.tensor(x, dtype=_dyadic.complex128 if isinstance(x, complex) else _dyadic.float64)


def float_power(input, exponent, *, out=None):
    """input to the power exponent, in float64 (or complex128); one of the two may be a number."""
    return _dyadic.float_power(_wide(input), _wide(exponent), out=out)


def _float_power_(self, exponent):
    """float_power, written into self, which is float64 or complex128."""
    if self.dtype not in (_dyadic.float64, _dyadic.complex128):
        raise RuntimeError(f"float_power_: the result is float64 or complex128; self is {self.dtype}")
    return self.copy_(float_power(self, exponent))


Tensor.float_power, Tensor.float_power_ = float_power, _float_power_
