"""Tensors and modules as values: pickle and copy. A module is made again with the arguments of its nearest class of the library,
then given its parameters, buffers, children and attributes."""
import copyreg
from collections import namedtuple

from .. import _dyadic
from .._dyadic import Embedding, LayerNorm, Linear, Module, Parameter, Tensor, _Layer
from ._computed import begin, entries


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


_PLACES = {  # where a new object takes what _ARGUMENTS gives
    Linear: ("in_features", "out_features"),
    Embedding: ("num_embeddings", "embedding_dim", "padding_idx", "scale_grad_by_freq", "max_norm", "norm_type"),
    LayerNorm: ("normalized_shape", "eps", "elementwise_affine"),
}


def _library_class(cls):
    return next(c for c in cls.__mro__ if c in _LIBRARY)


def _begin_with(self, arguments):
    """A module without parameters, whose arguments are these."""
    Module.__init__(self)
    made = _library_class(type(self))
    if made is _Layer:
        for i, value in enumerate(arguments[1]):
            if value is not None:
                self._set_argument(i, value)
    for name, value in zip(_PLACES.get(made, ()), arguments):
        getattr(made, name).__set__(self, value)


def _get_state(self):
    made = _library_class(type(self))
    children, computed = dict(self._module_entries()), entries(self)

    def values(key, v):  # of a parameter that is computed anew: its history stays
        return v.detach() if key in computed and isinstance(v, Tensor) else v

    return {
        "arguments": _ARGUMENTS.get(made, lambda m: ())(self),
        "children": children,
        "parameters": self._parameter_entries(),
        "buffers": [(name, b, self._is_persistent(name)) for name, b in self._buffer_entries()],
        "attributes": {key: values(key, v) for key, v in self.__dict__.items() if key not in children},
        "training": self.training,
    }


def _set_state(self, state):
    _begin_with(self, state["arguments"])
    computed = state["attributes"].get("_computed", {})
    for name, parameter in state["parameters"]:
        self.register_parameter(name, parameter)
    for name, tensor, persistent in state["buffers"]:
        self.register_buffer(name, tensor, persistent)
    for name, child in state["children"].items():
        self.add_module(name, child)
    for name, entry in computed.items():
        begin(self, name, entry)
    self.__dict__.update(state["attributes"])
    if computed:
        self.__dict__["_computed"] = dict(computed)  # not the one of what is copied
    if "_forward_hooks" in self.__dict__:
        self._watch()
    self.training = state["training"]


Tensor.__reduce_ex__ = _reduce_tensor
Module.__getstate__, Module.__setstate__ = _get_state, _set_state
Module.__reduce_ex__ = lambda self, protocol: (copyreg.__newobj__, (type(self),), self.__getstate__())
