"""Numbers of losses and metrics."""
from ._dyadic import Tensor


def number(value):
    """The float of a number or of a tensor, which may require grad: what is watched is not differentiated."""
    return float(value.detach() if isinstance(value, Tensor) else value)
