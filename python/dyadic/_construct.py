"""Ways to make tensors beside the ops: from other tensors, from anything, PyTorch's older type names."""
import operator

from . import _dyadic
from ._dyadic import Tensor
from ._size import Size
from ._ignored import ignored as _ignored


def asarray(obj, *, dtype=None, device=None, copy=None, requires_grad=False):
    """A tensor of anything: of tensors, arrays and buffers the same memory where that can be (copy=False: else an error; copy=True: a
    copy)."""
    shared = obj
    if not isinstance(obj, Tensor):
        shared = None
        if hasattr(obj, "__dlpack__"):
            try:
                shared = _dyadic.from_numpy(obj) if hasattr(obj, "__array__") else _dyadic.from_dlpack(obj)
            except (TypeError, ValueError, RuntimeError, BufferError):
                pass
    same = shared is not None and (dtype is None or shared.dtype == _dyadic.dtype(dtype))
    if copy is False and not same:
        raise ValueError("asarray: this cannot be a tensor without a copy; leave copy=False away")
    if shared is None:
        t = _dyadic.tensor(obj, dtype=dtype)
    else:
        t = shared if dtype is None else shared.to(dtype=dtype)
        t = t.clone() if copy and t.data_ptr() == shared.data_ptr() else t
    t = t if device is None else t.to(device=device)
    return t.detach().requires_grad_() if requires_grad else t


def as_tensor(data, dtype=None, device=None):
    """A tensor as it is where dtype and device are right; arrays share their memory; anything else as tensor(data)."""
    if not isinstance(data, Tensor):
        data = asarray(data, dtype=dtype)
    return data.to(dtype=dtype, device=device)


def scalar_tensor(s, *, dtype=None, device=None, requires_grad=False):
    """A 0-d tensor, of the default dtype unless one is given."""
    return _dyadic.full([], s, dtype=dtype or _dyadic.get_default_dtype(), device=device, requires_grad=requires_grad)


def _new(name):
    make = getattr(_dyadic, name)

    def new(self, *size, dtype=None, device=None, requires_grad=False, **memory):
        size = memory.pop("size", size[0] if len(size) == 1 and not isinstance(size[0], int) else size)
        return make([size] if isinstance(size, int) else list(size), dtype=dtype or self.dtype, device=device or self.device, requires_grad=requires_grad, **memory)

    new.__name__, new.__doc__ = f"new_{name}", f"{name}(size) with the dtype and device of self unless given."
    return new


def _new_full(self, size, fill_value, *, dtype=None, device=None, requires_grad=False):
    """full(size, fill_value) with the dtype and device of self unless given."""
    return _dyadic.full(size, fill_value, dtype=dtype or self.dtype, device=device or self.device, requires_grad=requires_grad)


def _new_tensor(self, data, *, dtype=None, device=None, requires_grad=False):
    """tensor(data) with the dtype and device of self unless given."""
    return _dyadic.tensor(data, dtype=dtype or self.dtype, device=device or self.device, requires_grad=requires_grad)


for _name in ("empty", "zeros", "ones"):
    setattr(Tensor, f"new_{_name}", _new(_name))
Tensor.new_full, Tensor.new_tensor = _new_full, _new_tensor

_TYPES = {
    "DoubleTensor": "float64",
    "FloatTensor": "float32",
    "HalfTensor": "float16",
    "BFloat16Tensor": "bfloat16",
    "LongTensor": "int64",
    "IntTensor": "int32",
    "ShortTensor": "int16",
    "CharTensor": "int8",
    "ByteTensor": "uint8",
    "BoolTensor": "bool",
}
_NAMES = {getattr(_dyadic, name): kind for kind, name in _TYPES.items()}


class _Typed(type):
    def __instancecheck__(cls, t):
        return isinstance(t, Tensor) and t.dtype == cls.dtype

    def __call__(cls, *data):
        size = data[0] if len(data) == 1 and isinstance(data[0], Size) else data or (0,)
        if all(hasattr(n, "__index__") and not hasattr(n, "__len__") for n in size):  # whole numbers, numpy's too
            return _dyadic.empty([operator.index(n) for n in size], dtype=cls.dtype)
        return _dyadic.tensor(data[0], dtype=cls.dtype)


def _typed(kind):
    dtype = getattr(_dyadic, _TYPES[kind])
    doc = f"Tensors of {dtype.long_name}: {kind}(data), {kind}(2, 3)."
    return _Typed(kind, (), {"__module__": "dyadic", "__doc__": doc, "dtype": dtype})


TYPES = {kind: _typed(kind) for kind in _TYPES}


@_ignored("non_blocking", why="there is one device", of="Tensor.type")
def _type(self, dtype=None, non_blocking=False):
    """The name of the tensor's type; with a dtype (or such a name) the tensor converted to it."""
    if dtype is None:
        return f"{Tensor.__module__}.{_NAMES.get(self.dtype, self.dtype.name)}"
    if isinstance(dtype, _Typed):
        dtype = dtype.dtype
    if isinstance(dtype, str) and dtype.rpartition(".")[2] in _TYPES:
        dtype = _TYPES[dtype.rpartition(".")[2]]
    return self.to(dtype=dtype)


Tensor.type = _type
