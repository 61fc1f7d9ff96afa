"""Shapes in annotations, in jaxtyping's notation, and a decorator that holds calls to them.

    @jaxtyped
    def attend(q: Float[Tensor, "batch seq dim"], k: Float[Tensor, "batch other dim"]) -> Float[Tensor, "batch seq other"]: ...

Within a call a name stands for one size. "3" is a size, "_" any; "*name" any number of dimensions, "..." too, without remembering them;
"#name" may also be 1; "name=3" documents a size; "dim-1" is computed from names. "" is a 0-d tensor.
"""
import functools
import inspect
import threading
import types

from . import _dyadic
from ._dyadic import Tensor

_memo = threading.local()
_OPERATORS = {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "//": lambda a, b: a // b}


def _evaluate(text, sizes):
    """An expression of names and numbers; None where a name has no size yet."""
    import ast

    operators = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//"}

    def value(node):
        if isinstance(node, ast.Expression):
            return value(node.body)
        if isinstance(node, ast.Constant) and type(node.value) is int:
            return node.value
        if isinstance(node, ast.Name):
            return sizes.get(node.id)
        if isinstance(node, ast.BinOp) and type(node.op) in operators:
            a, b = value(node.left), value(node.right)
            return None if a is None or b is None else _OPERATORS[operators[type(node.op)]](a, b)
        raise ValueError(f"jaxtyping: \"{text}\" is no size: names, numbers, + - * // and parentheses")

    return value(ast.parse(text, mode="eval"))


def _fits_one(word, n, sizes):
    if "=" in word:
        word = word.partition("=")[2]
    broadcast, word = word.startswith("#"), word.lstrip("#?")
    if broadcast and n == 1:
        return True
    if word.startswith("_") or word == "...":
        return True
    if word.isdigit():
        return n == int(word)
    if word.isidentifier():
        return sizes.setdefault(word, n) == n
    want = _evaluate(word, sizes)
    return want is None or want == n


def _fits(words, shape, sizes):
    """Whether a shape fits the words; binds names in `sizes`."""
    several = [i for i, w in enumerate(words) if w == "..." or w.lstrip("#?").startswith("*")]
    if len(several) > 1:
        raise ValueError(f"jaxtyping: more than one of \"...\" and \"*name\": \"{' '.join(words)}\"")
    if not several:
        return len(words) == len(shape) and all(_fits_one(w, n, sizes) for w, n in zip(words, shape))
    at, behind = several[0], len(words) - several[0] - 1
    if len(shape) < at + behind:
        return False
    middle, word = tuple(shape[at : len(shape) - behind]), words[at]
    name = word.lstrip("#?*")
    if word != "..." and not name.startswith("_"):
        known = sizes.setdefault("*" + name, middle)
        same = known == middle if "#" not in word else all(a == b or 1 in (a, b) for a, b in zip(known[::-1], middle[::-1]))
        if not same:
            return False
    ends = list(zip(words[:at], shape[:at])) + list(zip(words[at + 1 :], shape[len(shape) - behind :]))
    return all(_fits_one(w, n, sizes) for w, n in ends)


class _Shape(type):
    """Tensors of a kind and shape; isinstance asks whether one fits."""

    def __instancecheck__(cls, t):
        if not isinstance(t, cls.array_type) or not cls.kind.holds(t.dtype):
            return False
        sizes = getattr(_memo, "sizes", None)
        trial = dict(sizes or {})
        fits = _fits(cls.words, t.shape, trial)
        if fits and sizes is not None:
            sizes.update(trial)
        return fits


class _Kind(type):
    def __getitem__(cls, item):
        array_type, words = item
        name = f'{cls.__name__}[{getattr(array_type, "__name__", array_type)}, "{words}"]'
        return _Shape(name, (), {"array_type": array_type, "words": words.split(), "kind": cls, "__module__": __name__, "dims": words})


class Shaped(metaclass=_Kind):
    """Any dtype."""

    @staticmethod
    def holds(_dtype):
        """Whether a dtype is one of these."""
        return True


def _kind(name, doc, holds):
    holds.__doc__ = Shaped.holds.__doc__
    made = _Kind(name, (), {"__doc__": doc, "__module__": __name__, "holds": staticmethod(holds)})
    globals()[name] = made
    return made


_kind("Float", "Floating-point dtypes, scaled ones too.", lambda d: d.is_floating_point or d.is_scaled)
_kind("Complex", "Complex dtypes.", lambda d: d.is_complex)
_kind("Inexact", "Floating-point and complex dtypes.", lambda d: d.is_floating_point or d.is_complex or d.is_scaled)
_kind("Integer", "Integers.", lambda d: d.is_integer)
_kind("Int", "Signed integers.", lambda d: d.is_integer and d.is_signed)
_kind("UInt", "Unsigned integers.", lambda d: d.is_integer and not d.is_signed)
_kind("Bool", "bool.", lambda d: d == _dyadic.bool)
_kind("Real", "Integers and floating-point dtypes.", lambda d: d.is_integer or d.is_floating_point or d.is_scaled)
_kind("Num", "All but bool.", lambda d: d != _dyadic.bool)
_ALONE = "float64 float32 float16 bfloat16 int64 int32 int16 int8 uint8 uint16 uint32 uint64 complex64 complex128"
for _name in _ALONE.split():
    _label = "BFloat16" if _name == "bfloat16" else _name[0].upper() + _name[1:] if _name[0] != "u" else "UInt" + _name[4:]
    _kind(_label, f"{_name} alone.", lambda d, _d=getattr(_dyadic, _name): d == _d)


def _check(who, what, value, annotation):
    options = annotation.__args__ if isinstance(annotation, types.UnionType) or getattr(annotation, "__origin__", None) else (annotation,)
    if not any(isinstance(o, _Shape) for o in options):
        return
    if any(isinstance(value, o) if isinstance(o, type) else value is None and o is None for o in options):
        return
    known = ", ".join(f"{name}={n}" for name, n in _memo.sizes.items())
    there = f"{value.dtype.name}{list(value.shape)}" if isinstance(value, Tensor) else type(value).__name__
    wanted = " | ".join(getattr(o, "__name__", str(o)) for o in options)
    raise TypeError(f"{who}: {what} does not fit {wanted}: it is {there}" + (f"; here {known}" if known else ""))


def jaxtyped(function):
    """Holds the arguments and the result of each call to their annotations: TypeError names what does not fit."""
    signature = inspect.signature(function)
    hints = {}

    @functools.wraps(function)
    def checked(*args, **kwargs):
        if not hints:
            hints.update(inspect.get_annotations(function, eval_str=True))
        before, _memo.sizes = getattr(_memo, "sizes", None), {}
        try:
            bound = signature.bind(*args, **kwargs)
            for name, value in bound.arguments.items():
                if name in hints:
                    _check(function.__name__, name, value, hints[name])
            sizes = _memo.sizes
            result = function(*args, **kwargs)
            _memo.sizes = sizes
            if "return" in hints:
                _check(function.__name__, "the result", result, hints["return"])
            return result
        finally:
            _memo.sizes = before

    return checked


__all__ = ["jaxtyped", "Tensor", *sorted(name for name, value in globals().items() if isinstance(value, _Kind))]
