"""Parametrizations by name: weight_norm, spectral_norm, orthogonal."""
from ... import _dyadic, linalg
from ..._dyadic import Module, cat, eye, randn, zeros
from ...autograd import no_grad
from .. import functional as F
from .parametrize import register_parametrization

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


def _norm_except(x, dim):
    """Of each slice along dim, as x has dimensions; of all of x where dim is None."""
    dims = [d for d in range(x.dim()) if dim is None or d != dim % x.dim()]
    return (x**2).sum(dims, keepdim=dim is not None) ** 0.5 if dims else x.abs()


class _WeightNorm(Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, weight_g, weight_v):
        return weight_v * (weight_g / _norm_except(weight_v, self.dim))

    def right_inverse(self, weight):
        return _norm_except(weight, self.dim), weight


def weight_norm(module, name="weight", dim=0):
    """weight = g v / |v|, the norm of each slice along dim (None: of all): original0 is g, original1 is v. (Salimans and Kingma 2016.)"""
    return register_parametrization(module, name, _WeightNorm(dim), unsafe=True)


class _SpectralNorm(Module):
    def __init__(self, weight, n_power_iterations, dim, eps):
        super().__init__()
        if n_power_iterations <= 0:
            raise ValueError(f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}")
        self.dim, self.eps, self.n_power_iterations = dim, eps, n_power_iterations
        if weight.dim() > 1:
            matrix = self._matrix(weight.detach())
            for name, n in zip(("_u", "_v"), matrix.shape):
                self.register_buffer(name, F.normalize(randn(n, dtype=weight.dtype), dim=0, eps=eps))
            self._iterate(matrix, 15)

    def _matrix(self, weight):
        return weight.movedim(self.dim, 0).flatten(1)

    @no_grad()
    def _iterate(self, matrix, count):
        for _ in range(count):
            self._u.copy_(F.normalize(matrix @ self._v, dim=0, eps=self.eps))
            self._v.copy_(F.normalize(matrix.T @ self._u, dim=0, eps=self.eps))

    def forward(self, weight):
        if weight.dim() == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = self._matrix(weight)
        if self.training:
            self._iterate(matrix.detach(), self.n_power_iterations)
        u, v = self._u.clone(), self._v.clone()
        return weight / (u * (matrix @ v)).sum()

    def right_inverse(self, value):
        return value


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """weight = original / its largest singular value, which power iterations in training mode follow. (Miyato et al. 2018.)"""
    if dim is None:
        dim = 1 if "ConvTranspose" in type(module).__name__ else 0
    return register_parametrization(module, name, _SpectralNorm(getattr(module, name), n_power_iterations, dim, eps))


def _frame(x):
    """Orthonormal columns of the span of x: of its QR factors the one whose other has a positive diagonal."""
    q, r = linalg.qr(x)
    return q * _dyadic.sign(r.diagonal(dim1=-2, dim2=-1)).unsqueeze(-2)


class _Orthogonal(Module):
    """base exp(A) or base (I - A/2)^-1 (I + A/2) with A skew, the lower triangle of the original minus its transpose; of tall matrices
    the first columns. Without a base the original of an assigned matrix cannot be found."""

    def __init__(self, weight, orthogonal_map, use_trivialization):
        super().__init__()
        self.orthogonal_map, self.use_trivialization = orthogonal_map, use_trivialization
        if use_trivialization:
            self.register_buffer("base", self._square(weight.detach()))

    def _square(self, weight):
        tall = weight.mT if weight.size(-2) < weight.size(-1) else weight
        n, k = tall.shape[-2:]
        return _frame(tall if n == k else cat([tall, randn(*tall.shape[:-2], n, n - k, dtype=tall.dtype)], -1))

    def forward(self, original):
        wide = original.size(-2) < original.size(-1)
        x = (original.mT if wide else original).tril()
        n, k = x.shape[-2:]
        if n != k:
            x = cat([x, zeros(*x.shape[:-2], n, n - k, dtype=x.dtype)], -1)
        a = x - x.mT
        if self.orthogonal_map == "matrix_exp":
            q = linalg.matrix_exp(a)
        else:
            one = eye(n, dtype=a.dtype)
            q = linalg.solve(one - 0.5 * a, one + 0.5 * a)
        if self.use_trivialization:
            q = self.base @ q
        q = q[..., :k]
        return q.mT if wide else q

    @no_grad()
    def right_inverse(self, value):
        if not self.use_trivialization:
            raise NotImplementedError("It is not possible to assign to the matrix exponential or the Cayley parametrizations when use_trivialization=False.")
        self.base.copy_(self._square(value))
        return _dyadic.zeros_like(value)


def orthogonal(module, name="weight", orthogonal_map=None, *, use_trivialization=True):
    """weight has orthonormal columns, or rows where those are fewer. orthogonal_map: "matrix_exp" or "cayley". (Lezcano-Casado 2019.)"""
    weight = getattr(module, name)
    if weight.dim() < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.dim()} dimensions.")
    orthogonal_map = orthogonal_map or "matrix_exp"
    if orthogonal_map not in ("matrix_exp", "cayley"):
        raise ValueError(f'orthogonal: orthogonal_map is "{orthogonal_map}"; it is "matrix_exp" or "cayley"')
    made = _Orthogonal(weight, orthogonal_map, use_trivialization)
    return register_parametrization(module, name, made, unsafe=True)
