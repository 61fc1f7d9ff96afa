"""PyTorch's place of Optimizer."""
import functools
from collections.abc import Iterable
from typing import Any

from .._dyadic import Tensor
from ..autograd import set_grad_enabled
from ._optimizer import Optimizer  # noqa: F401

Optimizer.__module__ = __name__
ParamsT = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]  # what an optimizer is made for

StateDict = dict[str, Any]


def _use_grad_for_differentiable(func):
    """A step that is not recorded, unless its optimizer's defaults say "differentiable"."""

    @functools.wraps(func)
    def step(self, *args, **kwargs):
        with set_grad_enabled(self.defaults.get("differentiable", False)):
            return func(self, *args, **kwargs)

    return step


def _default_to_fused_or_foreach(params, differentiable, use_fused=False):
    """(False, False): for GPUs the answer would be another."""
    return False, False


def _get_value(x):
    """The number."""
    return x.item() if isinstance(x, Tensor) else x


class _Required:
    """In the place of a default: the option must be given."""

    def __repr__(self):
        return "<required parameter>"


required = _Required()
