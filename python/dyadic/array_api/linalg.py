"""The standard's extension for linear algebra, on dyadic.linalg. Matrices are the last two axes."""
from collections import namedtuple

from .. import _dyadic
from .. import linalg as _linalg
from .._functions import broadcast_shapes
from ._dtypes import result_type
from ._manipulation import matmul, matrix_transpose, tensordot, vecdot
from ._statistics import _sum_dtype

__all__ = """
cholesky cross det diagonal eigh eigvalsh inv matmul matrix_norm matrix_power matrix_rank matrix_transpose outer pinv qr slogdet solve svd
svdvals tensordot trace vecdot vector_norm
""".split()

_Eigh = namedtuple("eigh_result", ["eigenvalues", "eigenvectors"])
_QR = namedtuple("qr_result", ["Q", "R"])
_Slogdet = namedtuple("slogdet_result", ["sign", "logabsdet"])
_SVD = namedtuple("svd_result", ["U", "S", "Vh"])


def cholesky(x, /, *, upper=False):
    """The triangular factor of a positive definite matrix."""
    return _linalg.cholesky(x, upper=upper)


def cross(x1, x2, /, *, axis=-1):
    """The cross product of vectors of 3."""
    if x1.shape[axis] != 3 or x2.shape[axis] != 3:
        raise ValueError(f"cross: vectors have 3 elements: x1 is {list(x1.shape)}, x2 is {list(x2.shape)}, axis is {axis}")
    dtype = result_type(x1, x2)
    first, second = _dyadic.broadcast_tensors([x1.to(dtype), x2.to(dtype)])
    return _dyadic.cross(first, second, dim=axis)


def det(x, /):
    """Determinants."""
    return _linalg.det(x)


def diagonal(x, /, *, offset=0):
    """The diagonals of matrices."""
    return _dyadic.diagonal(x, offset, -2, -1)


def eigh(x, /):
    """Eigenvalues, ascending, and eigenvectors of symmetric or Hermitian matrices."""
    return _Eigh(*_linalg.eigh(x))


def eigvalsh(x, /):
    """The eigenvalues of symmetric or Hermitian matrices, ascending."""
    return _linalg.eigvalsh(x)


def inv(x, /):
    """Inverses."""
    return _linalg.inv(x)


def matrix_norm(x, /, *, keepdims=False, ord="fro"):
    """Norms of matrices: "fro", "nuc", 1, 2, inf and their negatives."""
    return _linalg.matrix_norm(x, ord, keepdim=keepdims)


def matrix_power(x, n, /):
    """Matrices times themselves, n times."""
    return _linalg.matrix_power(x, n)


def matrix_rank(x, /, *, rtol=None):
    """How many singular values are above rtol times the largest."""
    s = _linalg.svdvals(x)
    if s.shape[-1] == 0:
        return _dyadic.zeros(list(s.shape[:-1]), dtype=_dyadic.int64)
    rtol = max(x.shape[-2:]) * _dyadic.finfo(s.dtype).eps if rtol is None else rtol
    rtol = rtol.unsqueeze(-1) if isinstance(rtol, _dyadic.Tensor) else rtol
    return _dyadic.sum(s > s[..., :1] * rtol, [-1])


def outer(x1, x2, /):
    """All products of two vectors' elements."""
    dtype = result_type(x1, x2)
    return _dyadic.outer(x1.to(dtype), x2.to(dtype))


def pinv(x, /, *, rtol=None):
    """Pseudo-inverses; singular values up to rtol times the largest count as 0."""
    return _linalg.pinv(x, rtol=max(x.shape[-2:]) * _dyadic.finfo(x.dtype.to_real()).eps if rtol is None else rtol)


def qr(x, /, *, mode="reduced"):
    """An orthogonal and an upper triangular factor; mode "reduced" or "complete"."""
    return _QR(*_linalg.qr(x, mode))


def slogdet(x, /):
    """The signs of determinants and the logarithms of their absolute values."""
    return _Slogdet(*_linalg.slogdet(x))


def solve(x1, x2, /):
    """X of x1 X = x2; x2 is a vector where it has one axis, else matrices."""
    dtype = result_type(x1, x2)
    x1, x2 = x1.to(dtype), x2.to(dtype)
    if x2.ndim == 1:
        return _linalg.solve(x1, x2.unsqueeze(-1).expand([*x1.shape[:-2], -1, 1])).squeeze(-1)
    shape = broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    return _linalg.solve(x1.expand([*shape, *x1.shape[-2:]]), x2.expand([*shape, *x2.shape[-2:]]))


def svd(x, /, *, full_matrices=True):
    """U, S and Vh with x = U diag(S) Vh."""
    return _SVD(*_linalg.svd(x, full_matrices=full_matrices))


def svdvals(x, /):
    """Singular values, descending."""
    return _linalg.svdvals(x)


def trace(x, /, *, offset=0, dtype=None):
    """The sums of diagonals."""
    dtype = _sum_dtype(x, dtype)
    return _dyadic.sum(diagonal(x, offset=offset).to(dtype), [-1]).to(dtype)


def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
    """The ord-norm of all elements, or along axes."""
    axes = list(range(x.ndim)) if axis is None else [axis] if isinstance(axis, int) else list(axis)
    if not axes:
        return _dyadic.abs(x) if ord != 0 else (x != 0).to(x.dtype.to_real())
    return _dyadic.vector_norm(x, ord, axes, keepdims)
