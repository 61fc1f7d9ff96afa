"""Values to begin with: in place, unrecorded."""
import warnings

from .._dyadic import _init_calculate_gain as calculate_gain
from .._dyadic import _init_constant_ as constant_
from .._dyadic import _init_dirac_ as dirac_
from .._dyadic import _init_eye_ as eye_
from .._dyadic import _init_kaiming_normal_ as kaiming_normal_
from .._dyadic import _init_kaiming_uniform_ as kaiming_uniform_
from .._dyadic import _init_normal_ as normal_
from .._dyadic import _init_orthogonal_ as orthogonal_
from .._dyadic import _init_sparse_ as sparse_
from .._dyadic import _init_trunc_normal_ as trunc_normal_
from .._dyadic import _init_uniform_ as uniform_
from .._dyadic import _init_xavier_normal_ as xavier_normal_
from .._dyadic import _init_xavier_uniform_ as xavier_uniform_

__all__ = [
    "calculate_gain",
    "constant_",
    "dirac_",
    "eye_",
    "kaiming_normal_",
    "kaiming_uniform_",
    "normal_",
    "ones_",
    "orthogonal_",
    "sparse_",
    "trunc_normal_",
    "uniform_",
    "xavier_normal_",
    "xavier_uniform_",
    "zeros_",
]


def ones_(tensor):
    """Ones."""
    return constant_(tensor, 1)


def zeros_(tensor):
    """Zeros."""
    return constant_(tensor, 0)


def _older(name):
    newer = globals()[name + "_"]

    def fill(*args, **kwargs):
        warnings.warn(f"nn.init.{name} is an older name: use nn.init.{name}_", FutureWarning, stacklevel=2)
        return newer(*args, **kwargs)

    fill.__name__, fill.__doc__ = name, f"{name}_ under its older name."
    return fill


for _name in ("uniform", "normal", "constant", "eye", "dirac", "xavier_uniform", "xavier_normal", "kaiming_uniform", "kaiming_normal", "orthogonal", "sparse"):
    globals()[_name] = _older(_name)
