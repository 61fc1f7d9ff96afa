"""Values to begin with: in place, unrecorded."""
import contextlib
import warnings

from .. import _dyadic
from .._dyadic import _init_calculate_gain as calculate_gain
from .._dyadic import _init_constant_ as constant_
from .._dyadic import _init_dirac_ as dirac_
from .._dyadic import _init_eye_ as eye_
from .._dyadic import _init_normal_ as normal_
from .._dyadic import _init_uniform_ as uniform_

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


@contextlib.contextmanager
def _drawing_from(generator):
    """The default generator's numbers are another one's inside."""
    if generator is None:
        yield
        return
    default = _dyadic.default_generator
    before = default.get_state()
    default.set_state(generator.get_state())
    try:
        yield
    finally:
        generator.set_state(default.get_state())
        default.set_state(before)


def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0, generator=None):
    """N(mean, std^2), only values within [a, b]."""
    with _drawing_from(generator):
        return _dyadic._init_trunc_normal_(tensor, mean, std, a, b)


_no_grad_trunc_normal_ = trunc_normal_  # its inner name


def xavier_uniform_(tensor, gain=1.0, generator=None):
    """Uniform, with variance gain^2 2 / (fan_in + fan_out). (Glorot and Bengio 2010.)"""
    with _drawing_from(generator):
        return _dyadic._init_xavier_uniform_(tensor, gain)


def xavier_normal_(tensor, gain=1.0, generator=None):
    """Normal, with variance gain^2 2 / (fan_in + fan_out). (Glorot and Bengio 2010.)"""
    with _drawing_from(generator):
        return _dyadic._init_xavier_normal_(tensor, gain)


def _is_empty(tensor):
    if tensor.numel() == 0:
        warnings.warn("init: a zero-element tensor has nothing to fill", stacklevel=3)
    return tensor.numel() == 0


def kaiming_uniform_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Uniform, with variance gain^2 / fan. (He et al. 2015.)"""
    if _is_empty(tensor):
        return tensor
    with _drawing_from(generator):
        return _dyadic._init_kaiming_uniform_(tensor, a, mode, nonlinearity)


def kaiming_normal_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Normal, with variance gain^2 / fan. (He et al. 2015.)"""
    if _is_empty(tensor):
        return tensor
    with _drawing_from(generator):
        return _dyadic._init_kaiming_normal_(tensor, a, mode, nonlinearity)


def orthogonal_(tensor, gain=1, generator=None):
    """Orthonormal rows or columns, times gain. (Saxe et al. 2013.)"""
    with _drawing_from(generator):
        return _dyadic._init_orthogonal_(tensor, gain)


def sparse_(tensor, sparsity, std=0.01, generator=None):
    """N(0, std^2), a share of each column zero. (Martens 2010.)"""
    with _drawing_from(generator):
        return _dyadic._init_sparse_(tensor, sparsity, std)


def _calculate_fan_in_and_fan_out(tensor):
    """How many inputs an output has and how many outputs an input, of a weight [out, in, ...]."""
    if tensor.dim() < 2:
        raise ValueError(f"fan in and fan out: a weight has two dimensions or more: it is {list(tensor.shape)}")
    field = tensor[0, 0].numel() if tensor.numel() else 1
    return tensor.size(1) * field, tensor.size(0) * field


def _calculate_correct_fan(tensor, mode):
    if mode.lower() not in ("fan_in", "fan_out"):
        raise ValueError(f"fan: mode is fan_in or fan_out: it is {mode}")
    return _calculate_fan_in_and_fan_out(tensor)[mode.lower() == "fan_out"]


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
