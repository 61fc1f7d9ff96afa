"""Values to begin with: in place, unrecorded."""
from .._dyadic import _init_constant_ as constant_
from .._dyadic import _init_normal_ as normal_
from .._dyadic import _init_uniform_ as uniform_

__all__ = ["constant_", "normal_", "ones_", "uniform_", "zeros_"]


def ones_(tensor):
    return constant_(tensor, 1)


def zeros_(tensor):
    return constant_(tensor, 0)
