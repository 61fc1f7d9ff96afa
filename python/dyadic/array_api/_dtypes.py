"""Dtypes: kinds, limits and promotion."""
from .. import _dyadic
from .._dyadic import Tensor

__all__ = ["astype", "can_cast", "finfo", "iinfo", "isdtype", "result_type"]

SIGNED = (_dyadic.int8, _dyadic.int16, _dyadic.int32, _dyadic.int64)
UNSIGNED = (_dyadic.uint8, _dyadic.uint16, _dyadic.uint32, _dyadic.uint64)
REAL = (_dyadic.float32, _dyadic.float64)
COMPLEX = (_dyadic.complex64, _dyadic.complex128)
KINDS = {
    "bool": (_dyadic.bool,),
    "signed integer": SIGNED,
    "unsigned integer": UNSIGNED,
    "integral": SIGNED + UNSIGNED,
    "real floating": REAL,
    "complex floating": COMPLEX,
    "numeric": SIGNED + UNSIGNED + REAL + COMPLEX,
}


def dtype_of(x):
    return x.dtype if isinstance(x, Tensor) else x


def astype(x, dtype, /, *, copy=True, device=None):
    """x in another dtype."""
    if x.dtype.is_complex and not dtype.is_complex:
        raise TypeError(f"astype: complex numbers do not become {dtype.name}; use real or imag")
    y = x.to(dtype=dtype, device=device)
    return y.clone() if copy and y is x else y


def isdtype(dtype, kind):
    """Whether a dtype is one, of a kind ("integral", "real floating" ...), or of one of several."""
    if isinstance(kind, tuple):
        return any(isdtype(dtype, k) for k in kind)
    if isinstance(kind, str):
        if kind not in KINDS:
            raise ValueError(f'isdtype: unknown kind "{kind}"; the known ones are {", ".join(KINDS)}')
        return dtype in KINDS[kind]
    return dtype == kind


def result_type(*arrays_and_dtypes):
    """The dtype that promotion gives; Python's numbers do not widen."""
    dtypes = [dtype_of(x) for x in arrays_and_dtypes if not isinstance(x, (int, float, complex))]
    if not dtypes:
        raise ValueError("result_type: it takes at least one array or dtype")
    out = dtypes[0]
    for d in dtypes[1:]:
        out = _dyadic.promote_types(out, d)
    for x in arrays_and_dtypes:
        if isinstance(x, complex) and not isinstance(x, (int, float)):
            out = out.to_complex() if out in REAL + COMPLEX else _dyadic.get_default_dtype().to_complex()
        elif isinstance(x, float) and out not in REAL + COMPLEX:
            out = _dyadic.get_default_dtype()
        elif isinstance(x, int) and not isinstance(x, bool) and out == _dyadic.bool:
            out = _dyadic.int64
    return out


def can_cast(from_, to, /):
    """Whether promotion may turn the dtype (or a tensor's) into `to`."""
    from_ = dtype_of(from_)
    floats, whole = REAL + COMPLEX, SIGNED + UNSIGNED
    if (from_ == _dyadic.bool) != (to == _dyadic.bool) or (from_ in whole) != (to in whole) or (from_ in COMPLEX and to in REAL):
        return False
    return from_ == to or (from_ in floats + whole and _dyadic.promote_types(from_, to) == to)


class _Limits:
    def __init__(self, **limits):
        self.__dict__.update(limits)

    def __repr__(self):
        return f"{self.__class__.__name__}({', '.join(f'{k}={v}' for k, v in self.__dict__.items())})"


class finfo_object(_Limits):
    """Limits of a floating-point dtype."""


class iinfo_object(_Limits):
    """Limits of an integer dtype."""


def finfo(type, /):
    """bits, eps, max, min, smallest_normal of a floating-point dtype; of a complex one those of its parts."""
    real = dtype_of(type).to_real()
    i = _dyadic.finfo(real)
    limits = {name: float(getattr(i, name)) for name in ("eps", "max", "min", "smallest_normal")}
    return finfo_object(bits=int(i.bits), **limits, dtype=real)


def iinfo(type, /):
    """bits, max and min of an integer dtype."""
    i = _dyadic.iinfo(dtype_of(type))
    return iinfo_object(bits=int(i.bits), max=int(i.max), min=int(i.min), dtype=dtype_of(type))
