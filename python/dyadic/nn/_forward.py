"""forward of the classes that C++ has. A class derived from one computes by functions: C++ would call the derived forward again, from
the one that it calls by super()."""
from types import MethodType

from .._dyadic import Embedding, LayerNorm, Linear, Module, ModuleList, Sequential, Tensor, _Layer
from . import functional as F
from ._layers import classes

_native = Module.forward


def _no_forward(self, *args, **kwargs):
    """What a module computes: yours to write."""
    raise NotImplementedError(f'{type(self).__name__}: the method "forward" is missing: write it, or call the modules inside')


class _Forward:
    """forward of a class of C++: C++'s own, and of a derived class a function."""

    __nb_signature__ = "forward: Callable[..., Any]"  # in stubs

    def __init__(self, cls, compute):
        self._cls, self._compute = cls, compute
        compute.__name__, compute.__doc__ = "forward", cls.__doc__
        cls.forward = self

    def __get__(self, m, owner=None):
        if m is None:
            return self._compute
        return MethodType(_native if type(m) is self._cls else self._compute, m)


_Forward(Linear, lambda self, input: F.linear(input, self.weight, self.bias))
_Forward(LayerNorm, lambda self, input: F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps))
_Forward(
    Embedding,
    lambda self, input: F.embedding(input, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq),
)

_PLAIN = {Linear, LayerNorm} | {c for c in classes.values() if c.forward is _Layer.forward}  # C++ calls them as Python does


def _is_plain(modules):
    kinds = set(map(type, modules))
    return kinds <= _PLAIN or kinds <= _PLAIN | {Sequential} and all(_is_plain(m) for m in modules if type(m) is Sequential)


def _one_after_the_other(self, input):
    """What one module gives, the next one takes, whatever it is."""
    if type(self) is Sequential and isinstance(input, Tensor) and _is_plain(self):
        return _native(self, input)
    for m in self:
        input = m(input)
    return input


Sequential.forward = _one_after_the_other
Module.forward = ModuleList.forward = _no_forward
