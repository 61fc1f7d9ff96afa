"""Linear algebra under PyTorch's names, made from the op records: help(dyadic.linalg.svd). Matrices are the last two dimensions."""
from ._dyadic import LinAlgError  # noqa: F401
from ._construct import as_tensor
from ._dyadic import Tensor, finfo, maximum, where, zeros
from ._records import namespace

globals().update(namespace("linalg"))

_rank, _pinv = matrix_rank, pinv  # noqa: F821  # the ops, whose tolerances are numbers


def _column(tolerance):
    """One tolerance per matrix, beside its singular values."""
    return tolerance.unsqueeze(-1) if isinstance(tolerance, Tensor) else tolerance


def _least(A, s, atol, rtol):
    """What singular values count for nothing: max(atol, rtol times the largest)."""
    if rtol is None:
        eps = finfo(s.dtype).eps * max(A.shape[-2:])
        rtol = eps if atol is None else where(atol > 0, 0.0, eps) if isinstance(atol, Tensor) else 0.0 if atol > 0 else eps
    largest = s.amax(-1, keepdim=True) if s.shape[-1] else s.new_zeros((*s.shape[:-1], 1))
    return maximum(largest * _column(rtol), zeros((), dtype=s.dtype) if atol is None else _column(as_tensor(atol, dtype=s.dtype)))


def matrix_rank(A, tol=None, hermitian=False, *, atol=None, rtol=None, out=None):
    if tol is not None:
        atol, rtol = tol, 0.0
    if not any(isinstance(t, Tensor) for t in (atol, rtol)):
        return _rank(A, atol=atol, rtol=rtol, hermitian=hermitian, out=out)
    s = eigvalsh(A).abs() if hermitian else svdvals(A)  # noqa: F821
    rank = (s > _least(A, s, atol, rtol)).sum(-1)
    return rank if out is None else out.copy_(rank)


def pinv(A, rcond=None, hermitian=False, *, atol=None, rtol=None, out=None):
    rtol = rcond if rtol is None else rtol
    if not any(isinstance(t, Tensor) for t in (atol, rtol)):
        return _pinv(A, atol=atol, rtol=rtol, hermitian=hermitian, out=out)
    u, s, vh = svd(A, full_matrices=False)  # noqa: F821
    kept = s > _least(A, s, atol, rtol)
    inverse = where(kept, 1 / where(kept, s, 1.0), 0.0)
    result = vh.mH @ (inverse.unsqueeze(-1) * u.mH)
    return result if out is None else out.copy_(result)


matrix_rank.__doc__ = _rank.__doc__ + "\n\nTolerances may be tensors, one for each matrix of a batch."
pinv.__doc__ = _pinv.__doc__ + "\n\nTolerances may be tensors, one for each matrix of a batch."
