"""Layers that learn the size of their input from the first one they see: LazyLinear, LazyConv2d, LazyBatchNorm1d ... Then they are
what they are named after. Until then their parameters are empty; they are the same objects afterwards, in an optimizer, too."""
import inspect
from types import MethodType

from .._dyadic import Linear, Module, Parameter, Tensor, _layer_records, empty
from ..autograd import no_grad
from .._records import ClassSignature
from ._layers import classes
from .._ignored import ignored as _ignored

__all__ = ["UninitializedParameter", "UninitializedBuffer"]


def _materialize(self, shape, device=None, dtype=None):
    self.data = empty(shape, dtype=dtype or self.dtype, device=device or self.device)


class _Empty(type):
    def __instancecheck__(cls, p):
        return isinstance(p, Parameter) and list(p.shape) == [0]


class UninitializedParameter(metaclass=_Empty):
    """What a lazy layer has for a parameter before its first input; materialize(shape) gives it its size."""

    def __new__(cls, requires_grad=True, device=None, dtype=None):
        p = Parameter(empty(0, dtype=dtype, device=device), requires_grad)
        p.materialize = MethodType(_materialize, p)
        return p


class _EmptyBuffer(type):
    def __instancecheck__(cls, b):
        return isinstance(b, Tensor) and getattr(b, "_is_buffer", False) and list(b.shape) == [0]


class UninitializedBuffer(metaclass=_EmptyBuffer):
    """A buffer whose size materialize(shape) tells. (The buffers of lazy layers are those of one channel until the first input.)"""

    def __new__(cls, requires_grad=False, device=None, dtype=None, persistent=True):
        b = empty(0, dtype=dtype, device=device).requires_grad_(requires_grad)
        b.persistent, b._is_buffer, b.materialize = persistent, True, MethodType(_materialize, b)
        return b


class _Lazy:
    """Beside a layer's class, whose first argument is the size to be found."""

    def _begin(self):
        for _, p in self._own_parameters():
            p.data = empty(0, dtype=p.dtype, device=p.device)
        self._resize_to(0)

    def has_uninitialized_params(self):
        return isinstance(self, _Lazy)

    @_ignored("rest", why="the first input says the sizes", of="nn.LazyLinear and the other lazy layers: initialize_parameters")
    def initialize_parameters(self, input, *rest):
        """The layer for inputs like this one."""
        self._become(self._size_of(input))

    @no_grad()
    def _become(self, size):
        dtype, device = next(((p.dtype, p.device) for _, p in self._own_parameters()), (None, None))
        made = self.cls_to_become(size, **self._others(), dtype=dtype, device=device)
        values = dict(made._own_parameters())
        for name, p in self._own_parameters():
            p.data = values[name].detach()
        for name, b, _ in made._own_buffers():
            setattr(self, name, b)
        self._resize_to(size)
        self.__class__ = self.cls_to_become

    def forward(self, input, *rest):
        if isinstance(self, _Lazy):
            self.initialize_parameters(input)
        return self.forward(input, *rest)

    def _load_from_state_dict(self, state, prefix, *rest):
        """A saved layer tells the size as well."""
        size = self._size_in({name.removeprefix(prefix): t for name, t in state.items() if name.startswith(prefix)})
        if size is not None:
            self._become(size)
        Module._load_from_state_dict(self, state, prefix, *rest)


class LazyLinear(_Lazy, Linear):
    """Linear with the in_features of its first input."""

    cls_to_become = Linear

    def __init__(self, out_features, bias=True, device=None, dtype=None):
        Linear.__init__(self, 0, out_features, bias, dtype=dtype, device=device)
        self._begin()

    def _others(self):
        return {"out_features": self.out_features, "bias": self.bias is not None}

    def _resize_to(self, size):
        self.in_features = size

    def _size_of(self, input):
        return input.shape[-1]

    def _size_in(self, state):
        return state["weight"].shape[1] if "weight" in state else None


_NAMES = {record["name"]: [name for name, _, _ in record["parameters"]] for record in _layer_records()}


class _OfRecord(_Lazy):
    """Beside a layer made from a record."""

    def _others(self):
        return dict(list(zip(_NAMES[self._record], self._arguments()))[1:])

    def _resize_to(self, size):
        self._set_argument(0, size)


class _Conv(_OfRecord):
    def __init__(self, out_channels, kernel_size, *args, device=None, dtype=None, **kwargs):
        groups = kwargs.get("groups", args[3] if len(args) > 3 else 1)
        self.cls_to_become.__init__(self, groups, out_channels, kernel_size, *args, dtype=dtype, device=device, **kwargs)
        self._begin()

    def _size_of(self, input):
        rank = int(self._name[-2])
        if input.dim() not in (rank + 1, rank + 2):
            raise RuntimeError(f"Lazy{self._name}: the input has {rank + 1} or {rank + 2} dimensions: it is {list(input.shape)}")
        return input.shape[-rank - 1]

    def _size_in(self, state):
        if "weight" not in state:
            return None
        return state["weight"].shape[0] if "Transpose" in self._name else state["weight"].shape[1] * self.groups


class _Norm(_OfRecord):
    def __init__(self, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True, device=None, dtype=None, *, bias=True):
        arguments = (eps, momentum, affine, track_running_stats, device, dtype)
        self.cls_to_become.__init__(self, 1, *arguments, bias=bias)
        self._begin()

    def _size_of(self, input):
        return input.shape[1]

    def _size_in(self, state):
        return next((state[name].shape[0] for name in ("weight", "running_mean") if name in state), None)


def _make(name, kind):
    layer = classes[name]
    body = {
        "cls_to_become": layer,
        "_name": name,
        "__doc__": f"{name} with the size of its first input; the other arguments are {name}'s.",
        "__module__": "dyadic.nn",
    }
    made = type("Lazy" + name, (kind, layer), body)
    made.__signature__ = ClassSignature(made, lambda: inspect.Signature(list(layer.__signature__.parameters.values())[1:]))
    return made


_made = {
    cls.__name__: cls
    for kind, names in ((_Conv, ("Conv", "ConvTranspose")), (_Norm, ("BatchNorm", "InstanceNorm")))
    for cls in (_make(f"{name}{n}d", kind) for name in names for n in (1, 2, 3))
}
globals().update(_made)
__all__ += ["LazyLinear", *_made]
