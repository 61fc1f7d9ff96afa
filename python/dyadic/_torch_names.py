"""Functions that PyTorch has under names of its own for what is here: older ones, in-place ones, switches."""
from builtins import range as _upto

from . import _dyadic, autograd, linalg
from ._dyadic import Tensor
from ._functions import _no_kind, _Word, contiguous_format, strided
from ._more_functions import into
from .nn import functional as F
from ._ignored import about_memory as _about_memory
from ._ignored import ignored as _ignored

__all__ = """
SymInt affine_grid_generator alpha_dropout_ channels_last_3d dropout_ empty_permuted feature_alpha_dropout_ feature_dropout
feature_dropout_ get_deterministic_debug_mode get_num_interop_threads grid_sampler grid_sampler_2d grid_sampler_3d gru_cell histogramdd
is_anomaly_check_nan_enabled is_deterministic_algorithms_warn_only_enabled is_warn_always_enabled layout lstm_cell
max_pool1d_with_indices memory_format narrow_copy norm_except_dim pca_lowrank rnn_relu_cell rnn_tanh_cell rrelu_ set_anomaly_enabled
set_default_tensor_type set_deterministic_debug_mode set_flush_denormal set_num_interop_threads set_warn_always svd_lowrank
triangular_solve unsafe_chunk unsafe_split unsafe_split_with_sizes
""".split()

memory_format, layout = type(contiguous_format), type(strided)
channels_last_3d = _Word("channels_last_3d")


# In place.


def _dropping(name):
    def drop_(input, p, train):
        return input.copy_(getattr(F, name)(input, p, train))

    drop_.__name__, drop_.__doc__ = name + "_", f"{name}, written into input."
    return drop_


dropout_, alpha_dropout_, feature_alpha_dropout_ = map(_dropping, ("dropout", "alpha_dropout", "feature_alpha_dropout"))


def feature_dropout(input, p, train):
    """Whole channels of [N, C, ...] set to zero, the others scaled by 1 / (1 - p)."""
    return F.dropout2d(input, p, train) if input.dim() != 5 else F.dropout3d(input, p, train)


def feature_dropout_(input, p, train):
    """feature_dropout, written into input."""
    return input.copy_(feature_dropout(input, p, train))


rrelu_ = F.rrelu_


# Sampling and pooling with PyTorch's numbers for modes.


def grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners):
    """functional.grid_sample; modes by number: bilinear, nearest, bicubic; zeros, border, reflection."""
    modes, paddings = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")
    return _dyadic.grid_sample(input, grid, modes[interpolation_mode], paddings[padding_mode], align_corners)


grid_sampler_2d = grid_sampler_3d = grid_sampler


def affine_grid_generator(theta, size, align_corners):
    """functional.affine_grid."""
    return _dyadic.affine_grid(theta, list(size), align_corners)


def max_pool1d_with_indices(input, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
    """(values, indices) of max_pool1d."""
    return F.max_pool1d(input, kernel_size, stride or None, padding, dilation, ceil_mode, True)


# Single steps of recurrent layers.


def _gates(input, hx, w_ih, w_hh, b_ih, b_hh):
    return _dyadic.linear(input, w_ih, b_ih), _dyadic.linear(hx, w_hh, b_hh)


def lstm_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """The next (h, c) of an LSTM; hx = (h, c), gates in the order input, forget, cell, output."""
    h, c = hx
    x, y = _gates(input, h, w_ih, w_hh, b_ih, b_hh)
    i, f, g, o = (x + y).chunk(4, -1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


def gru_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """The next h of a GRU; gates in the order reset, update, new."""
    (xr, xz, xn), (hr, hz, hn) = (g.chunk(3, -1) for g in _gates(input, hx, w_ih, w_hh, b_ih, b_hh))
    z = (xz + hz).sigmoid()
    return (1 - z) * (xn + (xr + hr).sigmoid() * hn).tanh() + z * hx


def rnn_tanh_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """tanh(W_ih input + b_ih + W_hh h + b_hh)."""
    return sum(_gates(input, hx, w_ih, w_hh, b_ih, b_hh)).tanh()


def rnn_relu_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """relu(W_ih input + b_ih + W_hh h + b_hh)."""
    return sum(_gates(input, hx, w_ih, w_hh, b_ih, b_hh)).relu()


# Linear algebra from before linalg.


def triangular_solve(b, A, upper=True, transpose=False, unitriangular=False, *, out=None):
    """(X, A) with A X = b, or A^T X = b: linalg.solve_triangular."""
    matrix, upper = (A.mT, not upper) if transpose else (A, upper)
    return _Solution(into(out, (linalg.solve_triangular(matrix, b, upper=upper, unitriangular=unitriangular), A)))


class _Solution(tuple):
    solution = property(lambda self: self[0])
    cloned_coefficient = property(lambda self: self[1])


def svd_lowrank(A, q=6, niter=2, M=None):
    """(U, S, V): about the q largest singular values of A (less M) and their vectors, by products with a random matrix and niter
    rounds of iteration (Halko et al. 2011)."""
    a = A if M is None else A - M.expand(A.shape)
    q = min(6 if q is None else q, *a.shape[-2:])
    basis = linalg.qr(a @ _dyadic.randn([*a.shape[:-2], a.size(-1), q], dtype=a.dtype))[0]
    for _ in range(niter):
        basis = linalg.qr(a @ linalg.qr(a.mH @ basis)[0])[0]
    u, s, vh = linalg.svd(basis.mH @ a, False)
    return basis @ u, s, vh.mH


def pca_lowrank(A, q=None, center=True, niter=2):
    """svd_lowrank of A [..., m, n], less the mean of its rows unless center is False."""
    q = min(6, *A.shape[-2:]) if q is None else q
    return svd_lowrank(A - A.mean(-2, True) if center else A, q, niter)


def norm_except_dim(v, pow=2, dim=0):
    """The norms of v's slices along dim, with all dimensions kept."""
    others = [d for d in range(v.dim()) if d != dim % v.dim()]
    return v.norm(pow) if dim == -1 else linalg.vector_norm(v, pow, others, True) if others else v.abs()


# Parts and memory.


def unsafe_split(input, split_size, dim=0):
    """split."""
    return input.split(split_size, dim)


def unsafe_split_with_sizes(input, split_sizes, dim=0):
    """split with a list."""
    return input.split(list(split_sizes), dim)


def unsafe_chunk(input, chunks, dim=0):
    """chunk."""
    return input.chunk(chunks, dim)


def narrow_copy(input, dim, start, length):
    """narrow, in memory of its own."""
    return input.narrow(dim, start, length).clone()


@_ignored("pin_memory", why="there is one device")
def empty_permuted(size, physical_layout, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """A tensor of these sizes whose dimensions lie in memory in the order of physical_layout, not initialized."""
    _about_memory("empty_permuted", "layout", layout)
    order = list(physical_layout)
    t = _dyadic.empty([size[d] for d in order], dtype=dtype, device=device).permute([order.index(d) for d in range(len(order))])
    return t.requires_grad_() if requires_grad else t


Tensor.narrow_copy, Tensor.triangular_solve = narrow_copy, triangular_solve
Tensor.unsafe_split, Tensor.unsafe_split_with_sizes, Tensor.unsafe_chunk = unsafe_split, unsafe_split_with_sizes, unsafe_chunk
for _name in ("ipu", "maia", "mtia", "sparse_csr", "vulkan", "xla", "xpu"):
    setattr(Tensor, "is_" + _name, _no_kind)


def _array_wrap(self, array, context=None, return_scalar=False):
    """What numpy's functions make of a tensor is a tensor; of bool, as in PyTorch, uint8."""
    return _dyadic.from_numpy(array.astype("uint8") if array.dtype == bool else array)


Tensor.__array_wrap__ = _array_wrap


class _Histogramdd(tuple):
    hist = property(lambda self: self[0])
    bin_edges = property(lambda self: self[1])


def histogramdd(input, bins, *, range=None, weight=None, density=False):
    """(hist, bin_edges) of points [..., D]: how many (or how much weight) lie in each cell. bins: a number, one per dimension, or
    the edges of each; range: low and high of each dimension, one behind the other."""
    points = input.reshape(-1, input.size(-1))
    dims = points.size(1)
    edges, place, inside = [], _dyadic.zeros([len(points)], dtype=_dyadic.int64), _dyadic.ones([len(points)], dtype=_dyadic.bool)
    for d in _upto(dims):
        x, given = points[:, d], bins if isinstance(bins, int) else bins[d]
        if not isinstance(given, Tensor):
            low, high = range[2 * d : 2 * d + 2] if range is not None else (x.min().item(), x.max().item()) if len(x) else (0.0, 0.0)
            low, high = (low - 0.5, high + 0.5) if low == high else (low, high)
            given = _dyadic.linspace(low, high, given + 1, dtype=input.dtype)
        n = given.numel() - 1
        at = _dyadic.where(x == given[-1], n - 1, _dyadic.searchsorted(given, x.contiguous(), right=True) - 1)
        inside, place = inside & (at >= 0) & (at < n), place * n + at
        edges.append(given)
    sizes = [e.numel() - 1 for e in edges]
    weights = _dyadic.ones_like(points[:, 0]) if weight is None else weight.reshape(-1)
    total = 1
    for n in sizes:
        total *= n
    hist = _dyadic.bincount(place[inside], weights[inside], total).to(input.dtype).reshape(sizes)
    if density:
        hist = hist / hist.sum()
        for d, e in enumerate(edges):
            hist = hist / (e[1:] - e[:-1]).reshape([-1 if k == d else 1 for k in _upto(dims)])
    return _Histogramdd((hist, tuple(edges)))


# Switches.


def set_default_tensor_type(t):
    """set_default_dtype, by a tensor type's name or by the type: torch.DoubleTensor, "torch.DoubleTensor"."""
    kinds = {"Float": _dyadic.float32, "Double": _dyadic.float64, "Half": _dyadic.float16, "BFloat16": _dyadic.bfloat16}
    name = (t if isinstance(t, str) else getattr(t, "__name__", str(t))).rpartition(".")[2].removesuffix("Tensor")
    if name not in kinds:
        raise TypeError(f"set_default_tensor_type: {t} is no type of floating-point tensors; the known ones are {', '.join(kinds)}")
    _dyadic.set_default_dtype(kinds[name])


def set_anomaly_enabled(mode, check_nan=True):
    """autograd.set_detect_anomaly."""
    autograd.set_detect_anomaly(mode, check_nan)


def is_anomaly_check_nan_enabled():
    """True: detect_anomaly looks for NaN."""
    return True


@_ignored("debug_mode", why="results are always the same bits for the same inputs")
def set_deterministic_debug_mode(debug_mode):
    """Accepted: results are always the same bits for the same inputs."""


def get_deterministic_debug_mode():
    """2, PyTorch's "error": results are always the same bits for the same inputs."""
    return 2


def is_deterministic_algorithms_warn_only_enabled():
    """False: there is nothing to warn of."""
    return False


def set_flush_denormal(mode):
    """False: subnormal numbers are kept, and this cannot be changed."""
    return not mode


@_ignored("mode", why="warnings are Python's, whose filters say how often one is shown")
def set_warn_always(mode):
    """Accepted: warnings are Python's, whose filters say how often one is shown."""


def is_warn_always_enabled():
    """False: warnings are Python's, shown once per place."""
    return False


def get_num_interop_threads():
    """1: ops run one after the other."""
    return 1


@_ignored("n", why="ops run one after the other, each on get_num_threads() threads")
def set_num_interop_threads(n):
    """Accepted: ops run one after the other, each on get_num_threads() threads."""


class SymInt:
    """Of sizes that are not known yet, which isinstance asks for: there are none."""
