"""The Python array API standard, 2024.12: its functions with its names and signatures, on dyadic's tensors.

    xp = x.__array_namespace__()

One thing differs: size is a method of a tensor, as in PyTorch, not an attribute.
"""
from math import e, inf, nan, pi

from .._dyadic import (
    bool,
    complex64,
    complex128,
    device,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from ._creation import *  # noqa: F401,F403
from ._dtypes import *  # noqa: F401,F403
from ._elementwise import *  # noqa: F401,F403
from ._info import __array_namespace_info__
from ._manipulation import *  # noqa: F401,F403
from ._searching import *  # noqa: F401,F403
from ._statistics import *  # noqa: F401,F403

newaxis = None
__array_api_version__ = "2024.12"


def __getattr__(name):
    if name in ("linalg", "fft"):  # the extensions, where dyadic has what they stand on
        import importlib

        try:
            return importlib.import_module(f".{name}", __name__)
        except ImportError:
            pass
    raise AttributeError(f"module 'dyadic.array_api' has no attribute '{name}'")
