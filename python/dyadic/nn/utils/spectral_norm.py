"""spectral_norm as it was before parametrizations."""
from ..._dyadic import _own_dict, randn
from ...autograd import no_grad
from .. import functional as F
from ._older_norms import OlderNorm

__all__ = ["SpectralNorm", "remove_spectral_norm", "spectral_norm"]


class SpectralNorm(OlderNorm):
    parts = ("orig", "u", "v")

    def __init__(self, name, n_power_iterations, eps, dim):
        if n_power_iterations <= 0:
            raise ValueError(f"SpectralNorm: n_power_iterations is positive: it is {n_power_iterations}")
        self.name, self.n_power_iterations, self.eps, self.dim = name, n_power_iterations, eps, dim

    def _matrix(self, weight):
        return weight.movedim(self.dim, 0).flatten(1)

    def begin(self, module, weight):
        """Puts in the weight's place what it is made of."""
        setattr(module, self.name + "_orig", weight)
        for part, n in zip("uv", self._matrix(weight).shape):
            module.register_buffer(f"{self.name}_{part}", F.normalize(randn(n, dtype=weight.dtype), dim=0, eps=self.eps))
        _own_dict(module)[self.name] = weight.detach()

    def compute_weight(self, module, training):
        """The weight, of what it is made of."""
        weight, u, v = (getattr(module, f"{self.name}_{part}") for part in self.parts)
        matrix = self._matrix(weight)
        if training:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(F.normalize(matrix.T @ u, dim=0, eps=self.eps))
                    u.copy_(F.normalize(matrix @ v, dim=0, eps=self.eps))
            u, v = u.clone(), v.clone()
        return weight / (u * (matrix @ v)).sum()


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """weight = weight_orig / its largest singular value, which power iterations in training mode follow, with the vectors weight_u
    and weight_v. (Miyato et al. 2018.) parametrizations.spectral_norm is the newer one."""
    if dim is None:
        dim = 1 if "ConvTranspose" in type(module).__name__ else 0
    return SpectralNorm.apply(module, name, n_power_iterations, eps, dim)


def remove_spectral_norm(module, name="weight"):
    """The weight is a parameter again."""
    return SpectralNorm.remove_from(module, name)
