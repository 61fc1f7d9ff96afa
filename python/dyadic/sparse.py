"""Sparse tensors: products, sums and softmax of them, by PyTorch's names. They are made by dyadic.sparse_coo_tensor, sparse_csr_tensor and
Tensor.to_sparse."""
from . import _absent, _dyadic, _sparse_tensor
from ._dyadic import Tensor, _sparse
from ._ignored import ignored as _ignored
from ._functions import sparse_coo, sparse_csr
from ._sparse_tensor import SparseTensor, _wrap

__all__ = ["addmm", "check_sparse_tensor_invariants", "log_softmax", "mm", "sampled_addmm", "softmax", "spdiags", "sum"]
__getattr__ = _absent.names_of(__name__)


def _leaf_of(values, dtype, requires_grad, device):
    """The elements of a new tensor, with no history; the device is looked at."""
    if device is not None and str(device).split(":")[0] != "cpu":
        raise RuntimeError(f"sparse tensors lie in the CPU's memory: device is {device}")
    values = values if isinstance(values, Tensor) else _dyadic.tensor(values)
    values = values if dtype is None else values.to(dtype)
    return values.detach().clone().requires_grad_() if requires_grad else values


@_ignored("pin_memory", why="memory is the CPU's")
@_ignored("check_invariants", why="indices are always checked")
def sparse_coo_tensor(
    indices=None, values=None, size=None, *, dtype=None, device=None, pin_memory=False, requires_grad=False, check_invariants=None, is_coalesced=None
):
    """A tensor with values [nnz, dense sizes ...] at the columns of indices [sparse_dim, nnz]; what stands at one place twice is added up.
    Without a size it is the smallest that holds them; a size alone makes one without elements. Gradients reach the values."""
    if values is None:  # a size alone
        size = indices if size is None else size
        values = _dyadic.zeros([0], dtype=dtype)
        indices = _dyadic.zeros([len(size), 0], dtype=_dyadic.int64)
    indices = indices if isinstance(indices, Tensor) else _dyadic.tensor(indices)
    return _wrap(_sparse.coo(indices, _leaf_of(values, dtype, requires_grad, device), size, bool(is_coalesced)))


@_ignored("pin_memory", why="memory is the CPU's")
@_ignored("check_invariants", why="indices are always checked")
def sparse_csr_tensor(
    crow_indices, col_indices, values, size=None, *, dtype=None, device=None, pin_memory=False, requires_grad=False, check_invariants=None
):
    """A matrix by its rows: row i has values[crow_indices[i]:crow_indices[i + 1]] in the columns col_indices of the same places."""
    crow, col = (v if isinstance(v, Tensor) else _dyadic.tensor(v) for v in (crow_indices, col_indices))
    return _wrap(_sparse.csr(crow, col, _leaf_of(values, dtype, requires_grad, device), size))


def _to_sparse(self, sparse_dim=None, *, layout=None, blocksize=None, dense_dim=None):
    if blocksize is not None or layout not in (None, sparse_coo, sparse_csr):
        raise NotImplementedError(f"to_sparse: the layouts are sparse_coo and sparse_csr, without blocks: layout is {layout}, blocksize {blocksize}")
    if layout is sparse_csr:
        return _to_sparse_csr(self, dense_dim)
    rank = None if dense_dim is None else self.dim() - dense_dim
    return _wrap(_sparse.of_dense(self, rank if sparse_dim is None else sparse_dim))


def _to_sparse_coo(self):
    return _to_sparse(self)


def _to_sparse_csr(self, dense_dim=None):
    if dense_dim:
        raise NotImplementedError("to_sparse_csr: dense_dim is not here: elements are numbers")
    return _wrap(_sparse.of_dense(self).to_csr())


def _sparse_mask(self, mask):
    return _sparse_tensor.sparse_mask(self, _sparse_only("sparse_mask", mask))


class check_sparse_tensor_invariants:
    """Of sparse tensors everything is always checked: entering it changes nothing."""

    @staticmethod
    def is_enabled():
        """True."""
        return True

    @staticmethod
    def enable():
        """It is so already."""

    @_ignored("enable", why="indices are always checked", of="sparse.check_sparse_tensor_invariants")
    def __init__(self, enable=True):
        """Nothing is kept."""

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        """Nothing was changed."""


def _sparse_only(who, value):
    if not isinstance(value, SparseTensor):
        raise TypeError(f"sparse.{who}: it takes a sparse tensor, not a dense one: to_sparse() makes one of it")
    return value


def mm(mat1, mat2):
    """The product of a sparse matrix [m, k] and a dense or sparse one [k, n]; a sparse one of two sparse ones."""
    if not isinstance(mat1, SparseTensor) and not isinstance(mat2, SparseTensor):
        _sparse_only("mm", mat1)
    return _sparse_tensor.matmul(mat1, mat2)


smm = spmm = mm


def addmm(mat, mat1, mat2, *, beta=1.0, alpha=1.0):
    """beta mat + alpha (mat1 mat2) of a sparse mat1."""
    return _sparse_tensor.addmm(mat, _sparse_only("addmm", mat1), mat2, beta=beta, alpha=alpha)


def sampled_addmm(input, mat1, mat2, *, beta=1.0, alpha=1.0):
    """beta input + alpha (mat1 mat2) at the places of the sparse matrix input alone."""
    return _wrap(_sparse.sampled_addmm(_sparse_only("sampled_addmm", input)._parts, mat1, mat2, beta, alpha))


_smm = mm


def sum(input, dim=None, dtype=None):
    """The sum of the elements that are there: of all, or over dim, where it is sparse unless no sparse dimension is left."""
    return _sparse_tensor.sum_(_sparse_only("sum", input), dim, dtype=dtype)


def _softmax(who, input, dim, dtype, logarithm):
    parts = _sparse_only(who, input)._parts.coalesce()
    parts = parts if dtype is None else parts.with_values(parts.values.to(dtype))
    return _wrap(_sparse.softmax(parts, dim, logarithm))


def softmax(input, dim, *, dtype=None):
    """softmax over the elements of each row that are there: those that are not have no part in it."""
    return _softmax("softmax", input, dim, dtype, False)


def log_softmax(input, dim, *, dtype=None):
    """The logarithm of softmax."""
    return _softmax("log_softmax", input, dim, dtype, True)


def spdiags(diagonals, offsets, shape, layout=None):
    """A sparse matrix with the rows of diagonals along those diagonals that offsets name: above the main one they are counted up."""
    diagonals, offsets = _dyadic.atleast_2d(diagonals), _dyadic.atleast_1d(offsets)
    if len(set(offsets.tolist())) != offsets.numel() or len(offsets) != len(diagonals):
        raise ValueError("spdiags: there is one offset for each row of diagonals, and none twice")
    columns = _dyadic.arange(0, diagonals.size(1)).expand(diagonals.shape)
    rows = columns - offsets.unsqueeze(1)
    there = (rows >= 0) & (rows < shape[0]) & (columns < shape[1])
    made = sparse_coo_tensor(_dyadic.stack([rows[there], columns[there]]), diagonals[there], shape)
    return made.to_sparse(layout=layout) if layout is not None else made
