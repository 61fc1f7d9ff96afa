"""Functions of one element or two. They are the ops; the standard's names differ, and some of its rules."""
from .. import _dyadic
from .._dyadic import Tensor

_UNARY = {
    "abs": "", "acos": "", "acosh": "", "asin": "", "asinh": "", "atan": "", "atanh": "", "bitwise_invert": "bitwise_not",
    "conj": "conj_physical", "cos": "", "cosh": "", "exp": "", "expm1": "", "imag": "", "isfinite": "", "isinf": "",
    "isnan": "", "log": "", "log1p": "", "log2": "", "log10": "", "logical_not": "", "negative": "neg", "positive": "",
    "real": "", "reciprocal": "", "signbit": "", "sin": "", "sinh": "", "square": "", "sqrt": "", "tan": "", "tanh": "",
}  # fmt: skip
_BINARY = {
    "add": "", "atan2": "", "bitwise_and": "", "bitwise_left_shift": "", "bitwise_or": "", "bitwise_right_shift": "",
    "bitwise_xor": "", "copysign": "", "divide": "div", "equal": "eq", "floor_divide": "", "greater": "gt",
    "greater_equal": "ge", "hypot": "", "less": "lt", "less_equal": "le", "logaddexp": "", "logical_and": "",
    "logical_or": "", "logical_xor": "", "maximum": "", "minimum": "", "multiply": "mul", "nextafter": "",
    "not_equal": "ne", "pow": "", "remainder": "", "subtract": "sub",
}  # fmt: skip
__all__ = [*_UNARY, *_BINARY, "ceil", "clip", "floor", "round", "sign", "trunc"]


def _named(function, name, op):
    function.__name__ = function.__qualname__ = name
    function.__doc__ = op.__doc__.split("\n\n")[0]
    globals()[name] = function


def _unary(name, op):
    def function(x, /):
        return op(x)

    _named(function, name, op)


def _binary(name, op):
    def function(x1, x2, /):
        if not isinstance(x1, Tensor):
            x1 = _dyadic.full([], x1, dtype=_number(x1, x2))
        elif not isinstance(x2, Tensor):
            x2 = _dyadic.full([], x2, dtype=_number(x2, x1))
        return op(x1, x2)

    _named(function, name, op)


def _number(value, other):
    """The dtype of a Python number beside an array: the array's, where that holds its kind."""
    from ._dtypes import result_type

    return result_type(other, value)


for _name, _op in _UNARY.items():
    _unary(_name, getattr(_dyadic, _op or _name))
for _name, _op in _BINARY.items():
    _binary(_name, getattr(_dyadic, _op or _name))


_remainder = globals()["remainder"]


def remainder(x1, x2, /):
    r = _remainder(x1, x2)
    if not r.is_floating_point():
        return r
    sign = x2 if isinstance(x2, Tensor) else _dyadic.full([], x2, dtype=r.dtype)
    return _dyadic.where(r == 0, _dyadic.copysign(r, sign), r)  # a zero has the divisor's sign, too


_named(remainder, "remainder", _remainder)


def _rounding(name):
    op = getattr(_dyadic, name)

    def function(x, /):
        return op(x) if x.is_floating_point() else x.clone()  # whole numbers are whole

    _named(function, name, op)


for _name in ("ceil", "floor", "trunc"):
    _rounding(_name)


def round(x, /):
    """The nearest whole number, ties to even; of complex numbers both parts."""
    if x.is_complex():
        return _dyadic.complex(_dyadic.round(x.real), _dyadic.round(x.imag))
    return _dyadic.round(x) if x.is_floating_point() else x.clone()


def sign(x, /):
    """-1, 0 or 1; of a complex number x / |x|."""
    if not x.is_complex():
        return _dyadic.sign(x) if not x.is_floating_point() else _dyadic.where(_dyadic.isnan(x), x, _dyadic.sign(x))
    size = _dyadic.abs(x)
    return _dyadic.where(size == 0, _dyadic.zeros_like(x), x / _dyadic.where(size == 0, _dyadic.ones_like(size), size))


def _fitted(bound, dtype):
    """A number as a bound of a dtype's: no element lies beyond what the dtype holds."""
    if not dtype.is_integer:
        return bound
    info = _dyadic.iinfo(dtype)
    return max(info.min, min(info.max, bound))


def clip(x, /, min=None, max=None):
    """x bounded below and above, in the dtype of x."""
    out = x
    for bound, op in ((min, _dyadic.maximum), (max, _dyadic.minimum)):
        if bound is not None:
            bound = bound.to(x.dtype) if isinstance(bound, Tensor) else _dyadic.full([], _fitted(bound, x.dtype), dtype=x.dtype)
            out = op(out, bound)
    return out.clone() if out is x else out
