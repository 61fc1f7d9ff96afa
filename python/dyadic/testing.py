"""Comparisons and inputs for tests."""
import math

from . import _dyadic
from ._construct import as_tensor
from ._dyadic import Tensor
from ._functions import unravel_index
from ._more_functions import isclose
from ._ignored import ignored as _ignored

__all__ = ["assert_allclose", "assert_close", "make_tensor"]


def _tolerances(dtypes):
    """(rtol, atol) of the least precise of the dtypes: PyTorch's."""
    known = {
        _dyadic.float16: (1e-3, 1e-5),
        _dyadic.bfloat16: (1.6e-2, 1e-5),
        _dyadic.float32: (1.3e-6, 1e-5),
        _dyadic.complex64: (1.3e-6, 1e-5),
        _dyadic.float64: (1e-7, 1e-7),
        _dyadic.complex128: (1e-7, 1e-7),
    }
    found = [known.get(d, (_dyadic.finfo(d).eps, 1e-5) if d.is_floating_point else (0.0, 0.0)) for d in dtypes]
    return max(r for r, _ in found), max(a for _, a in found)


class _Comparison:
    def __init__(self, rtol, atol, equal_nan, checks, msg, subclasses):
        self.rtol, self.atol, self.equal_nan, self.checks, self.msg, self.subclasses = rtol, atol, equal_nan, checks, msg, subclasses

    def fail(self, text, place):
        text = f"{place}: {text}" if place else text
        raise AssertionError(text if self.msg is None else self.msg(text) if callable(self.msg) else self.msg)

    def compare(self, actual, expected, place=""):
        if isinstance(actual, (list, tuple)) and isinstance(expected, (list, tuple)):
            if len(actual) != len(expected):
                self.fail(f"{len(actual)} items, expected {len(expected)}", place)
            for i, pair in enumerate(zip(actual, expected)):
                self.compare(*pair, f"{place}[{i}]")
        elif isinstance(actual, dict) and isinstance(expected, dict):
            if actual.keys() != expected.keys():
                self.fail(f"only one of the two has the keys {sorted(map(str, actual.keys() ^ expected.keys()))}", place)
            for key in actual:
                self.compare(actual[key], expected[key], f"{place}[{key!r}]")
        elif actual is None or expected is None:
            if actual is not expected:
                self.fail(f"{actual}, expected {expected}", place)
        else:
            if not self.subclasses and type(actual) is not type(expected):
                raise TypeError(f"assert_close: the types differ, which allow_subclasses=False forbids: {type(actual).__name__}, expected {type(expected).__name__}")
            numbers = not isinstance(actual, Tensor) and not isinstance(expected, Tensor) and not hasattr(actual, "__array__")
            self.tensors(*(x if isinstance(x, Tensor) else as_tensor(x) for x in (actual, expected)), numbers, place)

    def tensors(self, actual, expected, numbers, place):
        for name, of in self.checks:
            if not numbers and of(actual) != of(expected):
                self.fail(f"{name} is {of(actual)}, expected {of(expected)}", place)
        if actual.shape != expected.shape:
            self.fail(f"shape is {tuple(actual.shape)}, expected {tuple(expected.shape)}", place)
        kind = _dyadic.promote_types(actual.dtype, expected.dtype)
        exact = not (kind.is_floating_point or kind.is_complex)
        wide = kind if exact else _dyadic.complex128 if kind.is_complex else _dyadic.float64
        tolerances = (self.rtol, self.atol) if self.rtol is not None else _tolerances([wide] if numbers else [actual.dtype, expected.dtype])
        a, e = actual.detach().to(wide), expected.detach().to(wide)
        near = a == e if tolerances == (0, 0) else isclose(a, e, *tolerances, self.equal_nan)
        if not bool(near.all()):
            self.fail(_report(a, e, near, *tolerances), place)


def _report(a, e, near, rtol, atol):
    """What differs, and by how much at most."""
    one = a.dim() == 0
    wrong, n = int((~near).sum()), near.numel()
    lines = [f"{a.item()}, expected {e.item()}" if one else f"{wrong} of {n} elements differ ({100 * wrong / n:.1f} %)"]
    difference = (a - e).abs() if a.dtype != _dyadic.bool else a ^ e
    kinds = [("absolute", difference, atol), ("relative", difference / e.abs(), rtol)]
    for name, values, allowed in kinds[: 1 if a.dtype == _dyadic.bool else 2]:
        values = _dyadic.where(near, _dyadic.zeros_like(values), values)
        at = int(_dyadic.nan_to_num(values.to(_dyadic.float64), math.inf).argmax())
        limit = f", allowed {allowed}" if rtol or atol else ""
        found = values.reshape(-1)[at].item()
        index = tuple(int(i) for i in unravel_index(_dyadic.tensor(at), list(values.shape))) if not one else ()
        lines.append(f"{name} difference {found}{limit}" if one else f"largest {name} difference {found} at {index}{limit}")
    return "\n".join(lines)


@_ignored("check_layout", why="every tensor is strided")
def assert_close(
    actual,
    expected,
    *,
    allow_subclasses=True,
    rtol=None,
    atol=None,
    equal_nan=False,
    check_device=True,
    check_dtype=True,
    check_layout=True,
    check_stride=False,
    msg=None,
):
    """Raises an AssertionError that says how tensors, numbers, arrays, or lists and dicts of them, differ: in shape, dtype or device, or
    by more than atol + rtol |expected|. Without tolerances they are the dtype's (f32: 1.3e-6 and 1e-5; integers: equal). msg replaces
    the text, or makes another one of it."""
    if (rtol is None) != (atol is None):
        raise ValueError("assert_close: rtol and atol are given together, or not at all")
    checks = [("device", lambda t: t.device)] * check_device + [("dtype", lambda t: t.dtype)] * check_dtype
    checks += [("stride()", lambda t: t.stride())] * check_stride
    _Comparison(rtol, atol, equal_nan, checks, msg, allow_subclasses).compare(actual, expected)


def assert_allclose(actual, expected, rtol=None, atol=None, equal_nan=True, msg=""):
    """assert_close under its older name: dtypes and devices may differ."""
    assert_close(
        actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_device=False, check_dtype=False, msg=msg or None
    )


@_ignored("memory_format", why="results are dense in the order of their sizes", warn=True)
def make_tensor(
    *shape,
    dtype,
    device="cpu",
    low=None,
    high=None,
    requires_grad=False,
    noncontiguous=False,
    exclude_zero=False,
    memory_format=None,
):
    """Random values from [low, high): of floats by default [-9, 9), of integers [-9, 10) (unsigned: [0, 10)), of bool both.
    noncontiguous: every second element of a larger tensor. exclude_zero: zeros become the smallest number beside them."""
    shape = list(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else list(shape)
    size = shape[:-1] + [2 * shape[-1]] if noncontiguous and shape else shape
    if dtype == _dyadic.bool:
        t = _dyadic.randint(0, 2, size, device=device).to(dtype)
    elif dtype.is_floating_point or dtype.is_complex:
        low, high = -9 if low is None else low, 9 if high is None else high
        draw = lambda: _dyadic.rand(size, dtype=_dyadic.float64, device=device) * (high - low) + low  # noqa: E731
        t = (_dyadic.complex(draw(), draw()) if dtype.is_complex else draw()).to(dtype)
    else:
        low, high = (0 if not dtype.is_signed else -9) if low is None else low, 10 if high is None else high
        t = _dyadic.randint(int(low), int(high), size, device=device).to(dtype)
    if exclude_zero:
        t[t == 0] = _dyadic.finfo(dtype).tiny if dtype.is_floating_point or dtype.is_complex else 1
    t = t[..., ::2] if noncontiguous and shape else t
    return t.requires_grad_() if requires_grad else t
