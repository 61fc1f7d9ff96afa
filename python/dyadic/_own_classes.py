"""Classes of one's own that derive from Tensor. What is called with an object of one goes to its __torch_function__ (PyTorch's protocol):
methods and operators by attributes that the class gets when it is made, functions by the binding. Parameter and what derives from it take
nothing over."""
import contextlib
import inspect
import threading

from . import _dyadic
from ._dyadic import Parameter, Tensor

_NOT_ASKED = {"as_subclass", "dim", "size", "stride", "numel", "nelement", "element_size", "storage_offset", "data_ptr", "backward"}
_OPERATORS = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift".split()
_SPECIAL = [f"__{side}{name}__" for name in _OPERATORS for side in ("", "r", "i")]
_SPECIAL += [f"__{name}__" for name in "neg pos abs invert lt le eq ne gt ge getitem setitem".split()]
_VIEWS = ("T", "mT", "H", "mH", "real", "imag")


class DisableTorchFunctionSubclass(contextlib.ContextDecorator):
    """Calls inside take subclasses for the plain tensors that they are."""

    def __init__(self):
        self._before = []

    def _recreate_cm(self):  # a decorated function may call itself
        return type(self)()

    def __enter__(self):
        """From here on."""
        self._before.append(_dyadic._set_overrides(False))

    def __exit__(self, *exc):
        """As it was before."""
        _dyadic._set_overrides(self._before.pop())


def is_of_own_class(value):
    """Whether calls with the value are handed to its class."""
    return isinstance(value, Tensor) and type(value) is not Tensor and not isinstance(value, Parameter)


def _owners(values):
    """Those that take a call over: one of each class, a derived class before its bases, else as they come."""
    found = []
    for value in values:
        for v in value if isinstance(value, (tuple, list)) else (value,):
            if is_of_own_class(v) and type(v) not in map(type, found):
                at = next((i for i, other in enumerate(found) if isinstance(v, type(other))), len(found))
                found.insert(at, v)
    return found


_entered = threading.local()  # .modes: those that are entered, the innermost last


def modes():
    """The TorchFunctionModes that this thread has entered."""
    if not hasattr(_entered, "modes"):
        _entered.modes = []
    return _entered.modes


@contextlib.contextmanager
def without_last_mode():
    """Inside calls go to the mode around the innermost one, which is given."""
    mode = modes().pop()
    _dyadic._set_mode(bool(modes()))
    try:
        yield mode
    finally:
        modes().append(mode)
        _dyadic._set_mode(True)


def enter_mode(mode):
    """From here on calls go to it first."""
    _dyadic._begin_overrides(call)
    modes().append(mode)
    _dyadic._set_mode(True)


def leave_mode():
    """The innermost one is left."""
    modes().pop()
    _dyadic._set_mode(bool(modes()))


def call(function, args, kwargs, relevant=None):
    """The function's result, as the innermost mode, then the first class among the arguments, or the relevant ones, that answers has it."""
    if modes():
        with without_last_mode() as mode:
            types = tuple(map(type, _owners((*args, *kwargs.values()))))
            result = mode.__torch_function__(function, types, args, kwargs)
            return function(*args, **kwargs) if result is NotImplemented else result
    owners = _owners((*args, *kwargs.values()) if relevant is None else relevant)
    types = tuple(map(type, owners))
    for owner in owners:
        result = type(owner).__torch_function__(function, types, args, kwargs)
        if result is not NotImplemented:
            return result
    name = getattr(function, "__name__", function)
    raise TypeError(f"{name}: no __torch_function__ takes it: of {', '.join(t.__name__ for t in types)} all returned NotImplemented")


def _converted(value, cls):
    if cls is Tensor:
        return value
    if isinstance(value, Tensor):
        return value if isinstance(value, cls) else value.as_subclass(cls)
    if isinstance(value, (tuple, list)):
        parts = [_converted(v, cls) for v in value]
        return value._make(parts) if hasattr(value, "_make") else type(value)(parts)
    return value


def _torch_function(cls, func, types, args=(), kwargs=None):
    """func's result with its tensors as objects of cls."""
    if not all(issubclass(cls, t) for t in types):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        result = func(*args, **(kwargs or {}))
    return _converted(result, cls)


def _as_subclass(self, cls):
    """The same elements as an object of a class that derives from Tensor; backward goes through it."""
    with DisableTorchFunctionSubclass():
        return _dyadic._as_class(self, cls, True)


def _make_subclass(cls, data, require_grad=False):
    """data's elements as a leaf that is an object of cls."""
    with DisableTorchFunctionSubclass():
        made = _dyadic._as_class(data.detach(), cls, False)
        return made.requires_grad_() if require_grad else made


def _handed_over(function):
    def method(self, *args, **kwargs):
        if not _dyadic._overrides():
            return function(self, *args, **kwargs)
        return call(method if modes() else function, (self, *args), kwargs)  # what a mode calls is asked of classes again

    method.__name__, method.__doc__ = function.__name__, function.__doc__
    return method


def _is_handed_over(name, value):
    if name in _SPECIAL:
        return True
    return not name.startswith("_") and name not in _NOT_ASKED and callable(value) and not isinstance(value, (type, staticmethod, classmethod))


def _init_subclass(cls, **kwargs):
    super(Tensor, cls).__init_subclass__(**kwargs)
    if issubclass(cls, Parameter) or Tensor not in cls.__bases__:
        return
    _dyadic._begin_overrides(call)
    before = cls.__mro__[: cls.__mro__.index(Tensor)]
    written = {name for c in before for name in vars(c)}
    for name in dir(Tensor):
        value = inspect.getattr_static(Tensor, name)
        if name in written:
            continue
        if name in _VIEWS:
            setattr(cls, name, property(_handed_over(value.__get__), value.__set__))
        elif _is_handed_over(name, value):
            setattr(cls, name, _handed_over(value))


Tensor.as_subclass, Tensor._make_subclass = _as_subclass, staticmethod(_make_subclass)
Tensor.__torch_function__, Tensor.__init_subclass__ = classmethod(_torch_function), classmethod(_init_subclass)
