"""Python signatures from the signatures of C++ records."""
import functools
import inspect

from . import _dyadic

_PARAMETER = inspect.Parameter
_TYPES = {
    "int[]": "int | Sequence[int]",
    "float[]": "float | Sequence[float | None]",
    "dtype": "DTypeLike",
    "ScalarType": "DTypeLike",
    "Device": "DeviceLike",
    "function": "Callable[[int], float] | Sequence[Callable[[int], float]]",
    "Scalar": "Number",
}


class Spelled(str):
    """A type in words, which a signature shows without quotes."""

    __repr__ = str.__str__


def annotation(kind, default="", other=""):
    """A record's type as Python spells it; `other` is taken too."""
    kind, optional = kind.removesuffix("?"), kind.endswith("?") or default == "None"
    return Spelled(" | ".join(filter(None, [_TYPES.get(kind, kind), other, "None" if optional else ""])))


@functools.cache
def default(text):
    if not text:
        return _PARAMETER.empty
    return eval(text, {"__builtins__": {}, "None": None, "True": True, "False": False, "inf": float("inf")})


def signature(first, parameters, last=()):
    """`first` and `last` by name, around (name, type, default's text, keyword only) of a record."""
    positional = [_PARAMETER(p, _PARAMETER.POSITIONAL_OR_KEYWORD) for p in first]
    keywords = []
    for name, type_, text, keyword_only in parameters:
        kind = _PARAMETER.KEYWORD_ONLY if keyword_only else _PARAMETER.POSITIONAL_OR_KEYWORD
        (keywords if keyword_only else positional).append(_PARAMETER(name, kind, default=default(text), annotation=annotation(type_, text)))
    keywords += [_PARAMETER(p, _PARAMETER.KEYWORD_ONLY, default=value) for p, value in last]
    return inspect.Signature(positional + keywords)


def op_signature(op):
    """inspect.signature(op) of an op, which reads the same text, in a tenth of the time: that is 0.3 ms, and they are many."""
    scope = {"inf": float("inf")}
    exec(f"def op{op.__text_signature__}: pass", scope)
    return inspect.signature(scope["op"])


class ClassSignature:
    """__signature__ of a class that takes any arguments, made when it is asked for: derived classes with an __init__ of their own
    have theirs."""

    def __init__(self, cls, make):
        self._cls, self._make = cls, make

    def __get__(self, instance, cls):
        if instance is not None:
            return call_signature(instance)
        return self._make() if cls.__init__ is self._cls.__init__ else None  # None: inspect looks further


def call_signature(instance):
    """Of an object that is called: a module takes what its forward and hooks take."""
    if isinstance(instance, _dyadic.Module) and type(instance).__call__ is _dyadic.Module.__call__:
        return inspect.Signature([_PARAMETER("args", _PARAMETER.VAR_POSITIONAL), _PARAMETER("kwargs", _PARAMETER.VAR_KEYWORD)])
    return None


def namespace(family):
    """The ops of a family by their short names: linalg_det as det."""
    prefix = family + "_"
    return {name.removeprefix(prefix): getattr(_dyadic, name) for name in _dyadic._op_names if name.startswith(prefix)}
