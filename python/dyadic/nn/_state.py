"""Tensors and modules as values: pickle and copy. A module's state is its __dict__ (_namespace.py)."""
import copyreg
from collections import namedtuple

from .. import _dyadic
from .._dyadic import Embedding, LayerNorm, Linear, Module, Parameter, Tensor, _Layer
from . import _namespace  # noqa: F401  which C++ asks for
from ._computed import entries


class _IncompatibleKeys(namedtuple("_IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """What load_state_dict did not find where it looked for it."""

    __slots__ = ()

    def __repr__(self):
        if not any(self):
            return "<All keys matched successfully>"
        return super().__repr__()


LoadReport = _IncompatibleKeys  # its name in C++


def _make_tensor(data, sizes, dtype, requires_grad, parameter):
    t = _dyadic._tensor_from_bytes(data, sizes, dtype)
    if parameter:
        return Parameter(t, requires_grad)
    return t.requires_grad_() if requires_grad else t


def _reduce_tensor(self, protocol):
    data = _dyadic._tensor_bytes(self)
    return _make_tensor, (data, list(self.shape), self.dtype, self.requires_grad, isinstance(self, Parameter))


_ARGUMENTS = {
    Linear: lambda m: (m.in_features, m.out_features, m.bias is not None),
    Embedding: lambda m: (m.num_embeddings, m.embedding_dim, m.padding_idx, m.scale_grad_by_freq, m.max_norm, m.norm_type),
    LayerNorm: lambda m: (m.normalized_shape, m.eps, m.weight is not None, m.bias is not None),
    _Layer: lambda m: (m._record, m._arguments()),
}


_LIBRARY = {c for c in vars(_dyadic).values() if isinstance(c, type) and issubclass(c, Module)}


def _library_class(cls):
    return next(c for c in cls.__mro__ if c in _LIBRARY)


def _get_state(self):
    """__dict__, a value that is computed anew without its history."""
    self._module_entries()  # an error where __init__ has not run
    computed = entries(self)
    return {key: v.detach() if key in computed and isinstance(v, Tensor) else v for key, v in self.__dict__.copy().items()}


def _set_state(self, state):
    """__dict__.update(state): a module without parts before becomes one like that which gave the state."""
    self.__dict__.update(state)


Tensor.__reduce_ex__ = _reduce_tensor
Module.__getstate__, Module.__setstate__ = _get_state, _set_state
Module.__reduce__ = lambda self: (copyreg.__newobj__, (type(self),), self.__getstate__())
Linear._argument_names = ("in_features", "out_features")
Embedding._argument_names = ("num_embeddings", "embedding_dim", "padding_idx", "scale_grad_by_freq", "max_norm", "norm_type")
LayerNorm._argument_names = ("normalized_shape", "eps", "elementwise_affine")
