"""weight_norm as it was before parametrizations."""
from ..._dyadic import Parameter, _own_dict
from ._older_norms import OlderNorm
from .parametrizations import _norm_except

__all__ = ["WeightNorm", "remove_weight_norm", "weight_norm"]


class WeightNorm(OlderNorm):
    parts = ("g", "v")

    def __init__(self, name, dim):
        self.name, self.dim = name, dim

    def begin(self, module, weight):
        """Puts in the weight's place what it is made of."""
        setattr(module, self.name + "_g", Parameter(_norm_except(weight.detach(), self.dim)))
        setattr(module, self.name + "_v", Parameter(weight.detach()))
        _own_dict(module)[self.name] = self.compute_weight(module)

    def compute_weight(self, module, _training=True):
        """The weight, of what it is made of."""
        g, v = getattr(module, self.name + "_g"), getattr(module, self.name + "_v")
        return v * (g / _norm_except(v, self.dim))


def weight_norm(module, name="weight", dim=0):
    """weight = g v / |v|, the norm of each slice along dim (None: of all): weight_g is g, weight_v is v. (Salimans and Kingma 2016.)
    parametrizations.weight_norm is the newer one."""
    return WeightNorm.apply(module, name, dim)


def remove_weight_norm(module, name="weight"):
    """The weight is a parameter again."""
    return WeightNorm.remove_from(module, name)
