"""PyTorch's place of Optimizer."""
from collections.abc import Iterable
from typing import Any

from .._dyadic import Tensor
from ._optimizer import Optimizer  # noqa: F401

ParamsT = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]  # what an optimizer is made for


class _Required:
    """In the place of a default: the option must be given."""

    def __repr__(self):
        return "<required parameter>"


required = _Required()
