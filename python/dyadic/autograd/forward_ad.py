"""Dual numbers by PyTorch's names. Derivatives forward are func.jvp here, so that no tensor has a tangent."""
import contextlib
from typing import Any, NamedTuple

from .._ignored import ignored as _ignored


class UnpackedDualTensor(NamedTuple):
    """A tensor, and its tangent or None."""

    primal: Any
    tangent: Any


@contextlib.contextmanager
def dual_level():
    """Inside make_dual is refused as outside."""
    yield 0


@_ignored("level", why="no tensor has a tangent")
def unpack_dual(tensor, *, level=None):
    """(tensor, None): no tensor has a tangent."""
    return UnpackedDualTensor(tensor, None)


def make_dual(*args, **kwargs):
    """Refused: func.jvp computes derivatives forward."""
    raise NotImplementedError("forward_ad.make_dual: tensors with tangents are not here; func.jvp(f, primals, tangents) computes the derivative")
