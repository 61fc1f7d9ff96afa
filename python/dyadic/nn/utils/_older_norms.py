"""weight_norm and spectral_norm as they were before parametrizations: the originals are parameters and buffers of the module itself,
weight_g and weight_v, or weight_orig, weight_u and weight_v; the weight is computed anew before each forward."""
from ..._dyadic import Parameter, _own_dict, randn
from ...autograd import no_grad
from .. import functional as F
from .._computed import begin, end, entries
from .parametrizations import _norm_except

__all__ = ["remove_spectral_norm", "remove_weight_norm", "spectral_norm", "weight_norm"]


class _Norm:
    """A hook before forward, and what stands in the place of the parameter: the value that the hook has left in __dict__."""

    def read(self, module, name):
        return _own_dict(module)[name]

    def write(self, module, name, value):
        _own_dict(module)[name] = value

    def __call__(self, module, inputs):
        value = self.compute_weight(module, module.training)
        _own_dict(module)[self.name] = value
        module._set_computed(self.name, value)

    @classmethod
    def apply(cls, module, name, *options):
        what = cls.__name__
        if isinstance(entries(module).get(name), cls):
            raise RuntimeError(f"{what}: {name} of {type(module).__name__} has one already; remove it first")
        weight = dict(module._own_parameters()).get(name)
        if weight is None:
            raise ValueError(f"{what}: {type(module).__name__} has no parameter {name}; it has {', '.join(module._parameters)}")
        norm = cls(name, *options)
        begin(module, name, norm)
        norm.begin(module, weight)
        module.register_forward_pre_hook(norm)
        return module

    @classmethod
    def remove_from(cls, module, name):
        norm = entries(module).get(name)
        if not isinstance(norm, cls):
            raise ValueError(f"{cls.__name__}: {name} of {type(module).__name__} has none to remove")
        with no_grad():
            value = norm.compute_weight(module, False)
        hooks = module._forward_pre_hooks
        for key in [key for key, (hook, _) in hooks.items() if hook is norm]:
            del hooks[key]
        for part in norm.parts:
            delattr(module, f"{name}_{part}")
        del _own_dict(module)[name]
        end(module, name, Parameter(value.detach()))
        return module


class WeightNorm(_Norm):
    parts = ("g", "v")

    def __init__(self, name, dim):
        self.name, self.dim = name, dim

    def begin(self, module, weight):
        setattr(module, self.name + "_g", Parameter(_norm_except(weight.detach(), self.dim)))
        setattr(module, self.name + "_v", Parameter(weight.detach()))
        _own_dict(module)[self.name] = self.compute_weight(module)

    def compute_weight(self, module, _training=True):
        g, v = getattr(module, self.name + "_g"), getattr(module, self.name + "_v")
        return v * (g / _norm_except(v, self.dim))


class SpectralNorm(_Norm):
    parts = ("orig", "u", "v")

    def __init__(self, name, n_power_iterations, eps, dim):
        if n_power_iterations <= 0:
            raise ValueError(f"SpectralNorm: n_power_iterations is positive: it is {n_power_iterations}")
        self.name, self.n_power_iterations, self.eps, self.dim = name, n_power_iterations, eps, dim

    def _matrix(self, weight):
        return weight.movedim(self.dim, 0).flatten(1)

    def begin(self, module, weight):
        setattr(module, self.name + "_orig", weight)
        for part, n in zip("uv", self._matrix(weight).shape):
            module.register_buffer(f"{self.name}_{part}", F.normalize(randn(n, dtype=weight.dtype), dim=0, eps=self.eps))
        _own_dict(module)[self.name] = weight.detach()

    def compute_weight(self, module, training):
        weight, u, v = (getattr(module, f"{self.name}_{part}") for part in self.parts)
        matrix = self._matrix(weight)
        if training:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(F.normalize(matrix.T @ u, dim=0, eps=self.eps))
                    u.copy_(F.normalize(matrix @ v, dim=0, eps=self.eps))
            u, v = u.clone(), v.clone()
        return weight / (u * (matrix @ v)).sum()


def weight_norm(module, name="weight", dim=0):
    """weight = g v / |v|, the norm of each slice along dim (None: of all): weight_g is g, weight_v is v. (Salimans and Kingma 2016.)
    parametrizations.weight_norm is the newer one."""
    return WeightNorm.apply(module, name, dim)


def remove_weight_norm(module, name="weight"):
    """The weight is a parameter again."""
    return WeightNorm.remove_from(module, name)


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """weight = weight_orig / its largest singular value, which power iterations in training mode follow, with the vectors weight_u
    and weight_v. (Miyato et al. 2018.) parametrizations.spectral_norm is the newer one."""
    if dim is None:
        dim = 1 if "ConvTranspose" in type(module).__name__ else 0
    return SpectralNorm.apply(module, name, n_power_iterations, eps, dim)


def remove_spectral_norm(module, name="weight"):
    """The weight is a parameter again."""
    return SpectralNorm.remove_from(module, name)
