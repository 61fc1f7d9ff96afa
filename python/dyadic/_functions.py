"""Questions and small functions that are no ops."""
import math
from builtins import range as _upto

from . import _dyadic, linalg
from ._dyadic import Tensor
from ._size import Size
from ._ignored import ignored as _ignored

__all__ = """
pi e inf nan newaxis strided sparse_coo sparse_csr jagged contiguous_format preserve_format channels_last numel is_floating_point is_complex
is_nonzero is_same_size typename broadcast_shapes can_cast chain_matmul gradient histogram unravel_index
range use_deterministic_algorithms are_deterministic_algorithms_enabled
""".split()

pi, e, inf, nan, newaxis = math.pi, math.e, math.inf, math.nan, None


class _Word:
    """A name that PyTorch has for one of several ways; here there is one."""

    def __init__(self, name):
        self._name, self.__module__ = name, __package__

    def __repr__(self):
        return f"{Tensor.__module__}.{self._name}"

    def __reduce__(self):
        return self._name


strided, sparse_coo, sparse_csr, jagged, contiguous_format = map(_Word, "strided sparse_coo sparse_csr jagged contiguous_format".split())
preserve_format, channels_last = _Word("preserve_format"), _Word("channels_last")
Tensor.layout = property(lambda self: strided, doc="dyadic.strided; sparse and nested tensors have theirs.")
Tensor.is_cpu = property(lambda self: self.device.type == "cpu", doc="Whether it lies in the host's memory.")
Tensor.is_cuda = property(lambda self: self.device.type == "cuda", doc="Whether it lies on a device of the kind cuda.")
_no_kind = property(lambda self: False, doc="False: there are no such tensors here.")
for _name in ("is_mps", "is_sparse", "is_quantized", "is_nested", "is_mkldnn"):
    setattr(Tensor, _name, _no_kind)
Tensor.ndimension, Tensor.nelement = Tensor.dim, Tensor.numel


def _itself(self):
    """self: there is nothing to do here."""
    return self


@_ignored("device", why="there is one device", of="Tensor.pin_memory")
def _pin_memory(self, device=None):
    """self: memory is the CPU's."""
    return self


@_ignored("masked_grad", why="the tensor is dense already", of="Tensor.to_dense")
def _to_dense(self, dtype=None, *, masked_grad=True):
    """self, in dtype if one is given: it is dense already."""
    return self if dtype is None else self.to(dtype)


@_ignored("device", why="there is one device", of="Tensor.is_pinned")
def _is_pinned(self, device=None):
    """False: memory is the CPU's."""
    return False


def _never(self):
    """False: no tensor here is that."""
    return False


def _is_signed(self):
    """Whether the dtype has negative numbers."""
    return self.dtype.is_signed


def _get_device(self):
    """-1: the CPU."""
    return -1


Tensor.resolve_conj = Tensor.resolve_neg = _itself
def _sparse_way(name, doc):
    def to_sparse(self, *args, **kwargs):
        from . import sparse

        return getattr(sparse, "_" + name)(self, *args, **kwargs)

    to_sparse.__name__, to_sparse.__doc__ = name, doc
    return to_sparse


Tensor.to_sparse = _sparse_way("to_sparse", "The elements that are not 0, as sparse_coo or, by layout, sparse_csr.")
Tensor.to_sparse_coo = _sparse_way("to_sparse_coo", "The elements that are not 0, as sparse_coo.")
Tensor.to_sparse_csr = _sparse_way("to_sparse_csr", "The elements of a matrix that are not 0, row by row.")
Tensor.sparse_mask = _sparse_way("sparse_mask", "The elements at the places of a sparse tensor.")
Tensor.smm = _sparse_way("smm", "The product with a dense matrix, of a sparse one.")

Tensor.pin_memory, Tensor.to_dense, Tensor.is_pinned = _pin_memory, _to_dense, _is_pinned
Tensor.is_conj = Tensor.is_neg = _never
Tensor.is_distributed = Tensor.is_coalesced = _never
Tensor.is_signed, Tensor.get_device = _is_signed, _get_device


def numel(input):
    """The number of elements."""
    return input.numel()


def is_floating_point(input):
    """Whether the dtype is a plain float format."""
    return input.is_floating_point()


def is_complex(input):
    """Whether the dtype is complex."""
    return input.is_complex()


def is_nonzero(input):
    """Whether the only element is not zero."""
    if input.numel() != 1:
        raise RuntimeError(f"is_nonzero: needs one element: input has {input.numel()}")
    return bool(input)


def is_same_size(input, other):
    """Whether both have the same shape."""
    return input.shape == other.shape


Tensor.is_nonzero, Tensor.is_same_size = is_nonzero, is_same_size


def typename(obj):
    """The name of an object's type; of a tensor that of its dtype's."""
    return obj.type() if isinstance(obj, Tensor) else f"{type(obj).__module__}.{type(obj).__qualname__}"


def broadcast_shapes(*shapes):
    """The shape of what is made of tensors with these shapes."""
    shapes = [(s,) if isinstance(s, int) else tuple(s) for s in shapes]
    out = [1] * max(map(len, shapes), default=0)
    for shape in shapes:
        for i, n in enumerate(reversed(shape)):
            if n != 1 and out[-1 - i] not in (1, n):
                raise RuntimeError(f"broadcast_shapes: the sizes do not fit: {', '.join(str(list(s)) for s in shapes)}")
            out[-1 - i] = n if n != 1 else out[-1 - i]
    return Size(out)


def can_cast(from_, to):
    """Whether promotion may turn one dtype into the other: floats do not become integers, nor complex numbers real ones, nor
    numbers bool."""
    from_, to = _dyadic.dtype(from_), _dyadic.dtype(to)
    if from_.is_complex and not to.is_complex:
        return False
    if from_.is_floating_point and not (to.is_floating_point or to.is_complex):
        return False
    return to != _dyadic.bool or from_ == _dyadic.bool


def chain_matmul(*matrices, out=None):
    """The product of several matrices, in the order that takes the fewest multiplications: linalg.multi_dot of one, too."""
    result = matrices[0] if len(matrices) == 1 else linalg.multi_dot(matrices)
    return result if out is None else _dyadic.add(result, 0, out=out)


def gradient(input, *, spacing=None, dim=None, edge_order=1):
    """Central differences along each dimension (or those of dim), one-sided at the edges; spacing: one distance, or one per
    dimension, or the places."""
    dims = list(_upto(input.dim())) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    spacing = 1 if spacing is None else spacing
    spacings = [spacing] * len(dims) if not isinstance(spacing, (list, tuple)) else list(spacing)
    out = []
    for d, h in zip(dims, spacings):
        x, n = input.movedim(d, -1), input.size(d)
        if n <= edge_order:
            raise RuntimeError(f"gradient: too few elements: dimension {d} has {n}, edge_order is {edge_order}")
        x = x if x.is_floating_point() or x.is_complex() else x.to(_dyadic.get_default_dtype())
        at = h.to(x.dtype) if isinstance(h, Tensor) else _dyadic.arange(0, n, dtype=x.dtype) * h
        step = at[1:] - at[:-1]
        slope = (x[..., 1:] - x[..., :-1]) / step
        left, right = step[:-1], step[1:]
        inner = (slope[..., :-1] * right + slope[..., 1:] * left) / (left + right)
        first, last = slope[..., :1], slope[..., -1:]
        if edge_order == 2:
            bend = (slope[..., 1:] - slope[..., :-1]) / (left + right)
            first, last = first - bend[..., :1] * step[:1], last + bend[..., -1:] * step[-1:]
        out.append(_dyadic.cat([first, inner, last], -1).movedim(-1, d))
    return tuple(out)


def histogram(input, bins=100, *, range=None, weight=None, density=False):
    """(hist, bin_edges): how many elements (or how much weight) are between edges, the last one included. bins: edges or a number of
    bins of equal width over range, which is the elements' own unless given."""
    x = input.reshape(-1)
    if isinstance(bins, Tensor):
        edges = bins
    else:
        low, high = range or ((x.min().item(), x.max().item()) if x.numel() else (0.0, 0.0))
        low, high = (low - 0.5, high + 0.5) if low == high else (low, high)
        edges = _dyadic.linspace(low, high, bins + 1, dtype=input.dtype)
    n = edges.numel() - 1
    place = _dyadic.searchsorted(edges, x, right=True) - 1
    place = _dyadic.where(x == edges[-1], n - 1, place)
    inside = (place >= 0) & (place < n)
    weights = _dyadic.ones_like(x) if weight is None else weight.reshape(-1)
    hist = _dyadic.bincount(place[inside], weights[inside], n).to(input.dtype)
    if density:
        hist = hist / hist.sum() / (edges[1:] - edges[:-1])
    return _Histogram((hist, edges))


class _Histogram(tuple):
    hist = property(lambda self: self[0])
    bin_edges = property(lambda self: self[1])

    def __repr__(self):
        return f"dyadic.return_types.histogram(\nhist={self[0]!r},\nbin_edges={self[1]!r})"


Tensor.histogram = histogram


def unravel_index(indices, shape):
    """The coordinates of flat indices into a tensor of this shape, one tensor per dimension."""
    out = []
    for n in reversed([shape] if isinstance(shape, int) else list(shape)):
        out.append(indices % n)
        indices = indices // n
    return tuple(reversed(out))


def _fill_diagonal(self, fill_value, wrap=False):
    """Writes a number onto the main diagonal (wrap: on, below the square part of a tall matrix, as well)."""
    rows, columns = self.size(0), self.size(-1)
    if self.dim() > 2 and len(set(self.shape)) != 1:
        raise RuntimeError(f"fill_diagonal_: all dimensions have one size: self is {list(self.shape)}")
    step = sum(self.stride())
    n = min(rows, columns)
    self.as_strided([n], [step], self.storage_offset()).fill_(fill_value)
    if wrap and self.dim() == 2 and rows > columns + 1:
        self[columns + 1 :].fill_diagonal_(fill_value, True)
    return self


Tensor.fill_diagonal_ = _fill_diagonal


def range(start, end=None, step=1, *, dtype=None, device=None, requires_grad=False):
    """start, start + step, ... up to end, which is included; floats unless a dtype is given."""
    start, end = (0, start) if end is None else (start, end)
    n = math.floor((end - start) / step) + 1
    dtype = dtype or _dyadic.get_default_dtype()
    return _dyadic.arange(start, start + n * step, step, dtype=dtype, device=device, requires_grad=requires_grad)


@_ignored("mode", "warn_only", why="results are always the same bits for the same inputs")
def use_deterministic_algorithms(mode, *, warn_only=False):
    """Accepted: results are always the same bits for the same inputs."""


def are_deterministic_algorithms_enabled():
    """True: results are always the same bits for the same inputs."""
    return True


def _namespace(self, /, *, api_version=None):
    """dyadic.array_api."""
    import dyadic.array_api as xp

    if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12"):
        raise ValueError(f"__array_namespace__: version {api_version} of the array API is not known; {xp.__array_api_version__} is")
    return xp


@_ignored("stream", why="there is one device", of="Tensor.to_device")
def _to_device(self, device, /, *, stream=None):
    """The tensor on another device."""
    return self.to(device=device)


Tensor.__array_namespace__, Tensor.to_device = _namespace, _to_device
