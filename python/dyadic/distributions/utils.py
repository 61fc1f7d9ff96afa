"""Parameters of distributions: numbers and tensors of one shape, probabilities and their logits."""
from .. import _dyadic
from .._dyadic import Tensor
from ..autograd.grad_mode import enable_grad


def broadcast_all(*values):
    """Numbers and tensors as tensors of one shape; numbers get the dtype of the first tensor, else the default one."""
    tensors = [v for v in values if isinstance(v, Tensor)]
    dtype = next((t.dtype for t in tensors if t.is_floating_point()), _dyadic.get_default_dtype())
    return _dyadic.broadcast_tensors(*(v if isinstance(v, Tensor) else _dyadic.tensor(float(v), dtype=dtype) for v in values))


def logits_to_probs(logits, is_binary=False):
    """sigmoid(logits) (is_binary), else softmax over the last dimension."""
    return logits.sigmoid() if is_binary else _dyadic.softmax(logits, -1)


def clamp_probs(probs):
    """Away from 0 and 1 by the dtype's eps."""
    eps = _dyadic.finfo(probs.dtype).eps
    return probs.clamp(eps, 1 - eps)


def probs_to_logits(probs, is_binary=False):
    """log(p / (1 - p)) (is_binary), else log(p), of probabilities held off 0 and 1."""
    p = clamp_probs(probs)
    return p.log() - (-p).log1p() if is_binary else p.log()


class lazy_property:
    """A property that is computed once, with its gradient, whoever asks for it first."""

    def __init__(self, function):
        self._function, self.__doc__ = function, function.__doc__

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        with enable_grad():
            value = self._function(instance)
        instance.__dict__[self._function.__name__] = value
        return value


def vec_to_tril_matrix(vec, diag=0):
    """Vectors as the entries of lower triangular matrices, row by row, up to the diagonal diag."""
    count = vec.shape[-1]
    n = round((-(1 + 2 * diag) + ((1 + 2 * diag) ** 2 + 8 * count + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2)
    row, column = _dyadic.tril_indices(n, n, diag)
    if len(row) != count:
        raise ValueError(f"vec_to_tril_matrix: {count} entries fill no triangle up to diagonal {diag}")
    flat = vec.new_zeros([*vec.shape[:-1], n * n]).index_copy(-1, row * n + column, vec)
    return flat.reshape([*vec.shape[:-1], n, n])


def tril_matrix_to_vec(mat, diag=0):
    """The entries of lower triangular matrices up to the diagonal diag, row by row."""
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"tril_matrix_to_vec: diag is {diag}; of {n} rows it is between {-n} and {n - 1}")
    row, column = _dyadic.tril_indices(n, n, diag)
    return mat[..., row, column]


def sum_rightmost(value, n):
    """Summed over the last n dimensions."""
    return value.flatten(-n).sum(-1) if n else value


def _standard_normal(shape, dtype, device):
    """Numbers of N(0, 1)."""
    return _dyadic.randn(shape, dtype=dtype, device=device)


_sum_rightmost = sum_rightmost  # PyTorch's name
