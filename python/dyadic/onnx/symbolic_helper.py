"""Decorators of functions that PyTorch's exporter would call."""
from .._absent import names_of
from .._ignored import ignored as _ignored


@_ignored("arg_descriptors", why="nothing is exported")
def parse_args(*arg_descriptors):
    """A decorator that changes nothing."""
    return lambda fn: fn


@_ignored("arg_q_descriptors", "scale", "zero_point", "quantize_output", why="nothing is exported")
def quantized_args(*arg_q_descriptors, scale=None, zero_point=None, quantize_output=True):
    """A decorator that changes nothing."""
    return lambda fn: fn


__getattr__ = names_of(__name__)
