"""torch.ops: functions by namespace and name. aten has the ops that are here; other namespaces what library.custom_op and
library.Library put there."""
from . import _dyadic

_defined = {}  # "namespace::name": OpOverloadPacket


class OpOverload:
    """One form of an op, which is called as the op."""

    def __init__(self, packet, name):
        self._packet, self._overloadname = packet, name
        self.__name__, self.namespace = f"{packet.__name__}.{name}", packet.namespace

    def __call__(self, *args, **kwargs):
        return self._packet(*args, **kwargs)

    @property
    def overloadpacket(self):
        """The op."""
        return self._packet

    def name(self):
        """namespace::op, and the form's name where it has one."""
        return self._packet._qualified + ("" if self._overloadname == "default" else f".{self._overloadname}")

    def __repr__(self):
        return f"<OpOverload(op='{self.namespace}.{self._packet.__name__}', overload='{self._overloadname}')>"


class OpOverloadPacket:
    """An op under its namespace: called as it is, or by the name of a form, ops.aten.add.Tensor, which is the same."""

    def __init__(self, qualified, function):
        self._qualified, self._function = qualified, function
        self.namespace, _, self.__name__ = qualified.partition("::")
        self._forms = {}

    def __call__(self, *args, **kwargs):
        return self._function(*args, **kwargs)

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(f"'{self._qualified}' has no form '{name}'")
        return self._forms.setdefault(name, OpOverload(self, name))

    def overloads(self):
        """The names of forms that were asked for, default first."""
        return list(dict.fromkeys(["default", *self._forms]))

    def __repr__(self):
        return f"<OpOverloadPacket(op='{self._qualified.replace('::', '.')}')>"


def define(qualified, function):
    """Puts an op into its namespace."""
    _defined[qualified] = OpOverloadPacket(qualified, function)
    return _defined[qualified]


def _of_aten(name):
    from .nn import functional

    places = (_dyadic, functional, _dyadic.Tensor, _dyadic._parts)
    return next((f for place in places if callable(f := getattr(place, name, None))), None)


def _absent(name):
    def absent(*args, **kwargs):
        raise NotImplementedError(f"ops.aten.{name}: it is not here")

    return absent


class _OpNamespace:
    def __init__(self, name):
        self._name = name

    def __getattr__(self, name):
        qualified = f"{self._name}::{name}"
        if qualified not in _defined:
            if self._name not in ("aten", "prims") or name.startswith("__"):
                raise AttributeError(f"ops: there is no op {qualified}; library.custom_op and library.Library make one")
            define(qualified, _of_aten(name) or _absent(name))
        return _defined[qualified]

    def __dir__(self):
        return [q.partition("::")[2] for q in _defined if q.startswith(f"{self._name}::")]

    def __repr__(self):
        return f"<ops.{self._name}>"


class _Ops:
    """Namespaces of ops by name; one that holds nothing yet is empty."""

    def __init__(self):
        self._namespaces = {}
        self.loaded_libraries = set()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self._namespaces.setdefault(name, _OpNamespace(name))

    def load_library(self, path):
        """Raises: libraries of PyTorch's own are not loaded."""
        raise OSError(f"ops.load_library: libraries of compiled ops are made for PyTorch, and are not loaded: {path}")


ops = _Ops()
