"""forward of the classes that C++ has. A class derived from one computes by functions: C++ would call the derived forward again, from
the one that it calls by super()."""
import inspect
from types import MethodType

from .._dyadic import Embedding, LayerNorm, Linear, Module, ModuleList, Sequential, Tensor, _add_direct_class, _has_direct_children, _Layer
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

def _one_after_the_other(self, input):
    """What one module gives, the next one takes, whatever it is."""
    if type(self) is Sequential and isinstance(input, Tensor) and _has_direct_children(self):
        return _native(self, input)
    for m in self:
        input = m(input)
    return input


Sequential.forward = _one_after_the_other
Module.forward = ModuleList.forward = _no_forward


def settle():
    """The classes whose forward is C++'s are known to C++ as they are now: what is changed later is called by Python."""
    for c in (Linear, LayerNorm, Sequential, *classes.values()):
        forward = inspect.getattr_static(c, "forward")
        if c is Sequential or isinstance(forward, _Forward) or forward is _Layer.__dict__["forward"]:
            _add_direct_class(c)
