"""Making arrays."""
from .. import _construct, _dyadic

__all__ = """
arange asarray empty empty_like eye from_dlpack full full_like linspace meshgrid ones ones_like tril triu zeros zeros_like
""".split()


def _of(value, dtype):
    """The dtype of a number where none is given."""
    if dtype is not None:
        return dtype
    real = _dyadic.get_default_dtype()
    kinds = ((bool, _dyadic.bool), (int, _dyadic.int64), (float, real), (complex, real.to_complex()))
    return next((d for kind, d in kinds if isinstance(value, kind)), None)


def _sizes(shape):
    return [shape] if isinstance(shape, int) else list(shape)


def arange(start, /, stop=None, step=1, *, dtype=None, device=None):
    """start, start + step, ... below stop."""
    start, stop = (0, start) if stop is None else (start, stop)
    if (stop - start) * step <= 0:
        stop = start
    return _dyadic.arange(start, stop, step, dtype=dtype, device=device)


def asarray(obj, /, *, dtype=None, device=None, copy=None):
    """An array of numbers, nested lists, buffers and arrays."""
    return _construct.asarray(obj, dtype=dtype, device=device, copy=copy)


def empty(shape, *, dtype=None, device=None):
    """Whatever was in memory."""
    return _dyadic.empty(_sizes(shape), dtype=dtype, device=device)


def empty_like(x, /, *, dtype=None, device=None):
    """Whatever was in memory, in the shape of x."""
    return _dyadic.empty_like(x, dtype=dtype, device=device)


def eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None):
    """Ones on diagonal k."""
    n_cols = n_rows if n_cols is None else n_cols
    out = _dyadic.zeros([n_rows, n_cols], dtype=dtype, device=device)
    if -n_rows < k < n_cols:
        out.diagonal(k).fill_(1)
    return out


def from_dlpack(x, /, *, device=None, copy=None):
    """An array over the memory of another library's."""
    t = _dyadic.from_dlpack(x)
    t = t.clone() if copy else t
    return t if device is None else t.to(device=device)


def full(shape, fill_value, *, dtype=None, device=None):
    """One value."""
    return _dyadic.full(_sizes(shape), fill_value, dtype=_of(fill_value, dtype), device=device)


def full_like(x, /, fill_value, *, dtype=None, device=None):
    """One value, in the shape of x."""
    return _dyadic.full_like(x, fill_value, dtype=dtype, device=device)


def linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True):
    """num values from start to stop, which is included unless endpoint is False."""
    if isinstance(start, complex) or isinstance(stop, complex):
        start, stop = complex(start), complex(stop)
        dtype = dtype or _dyadic.get_default_dtype().to_complex()
        options = {"dtype": dtype.to_real(), "device": device, "endpoint": endpoint}
        real, imaginary = linspace(start.real, stop.real, num, **options), linspace(start.imag, stop.imag, num, **options)
        return _dyadic.complex(real, imaginary)
    if not endpoint:
        return _dyadic.linspace(start, stop, num + 1, dtype=dtype, device=device)[:-1]
    return _dyadic.linspace(start, stop, num, dtype=dtype, device=device)


def meshgrid(*arrays, indexing="xy"):
    """The coordinates of a grid, one array per axis."""
    return list(_dyadic.meshgrid(list(arrays), indexing=indexing)) if arrays else []


def ones(shape, *, dtype=None, device=None):
    """Ones."""
    return _dyadic.ones(_sizes(shape), dtype=dtype, device=device)


def ones_like(x, /, *, dtype=None, device=None):
    """Ones, in the shape of x."""
    return _dyadic.ones_like(x, dtype=dtype, device=device)


def tril(x, /, *, k=0):
    """x with zeros above diagonal k."""
    return _dyadic.tril(x, k)


def triu(x, /, *, k=0):
    """x with zeros below diagonal k."""
    return _dyadic.triu(x, k)


def zeros(shape, *, dtype=None, device=None):
    """Zeros."""
    return _dyadic.zeros(_sizes(shape), dtype=dtype, device=device)


def zeros_like(x, /, *, dtype=None, device=None):
    """Zeros, in the shape of x."""
    return _dyadic.zeros_like(x, dtype=dtype, device=device)
