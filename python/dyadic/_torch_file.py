"""Files of torch.save: a zip of a pickle and the memory of its tensors. The pickle is read by rules: it may build tensors, dicts and
numbers; whatever else it asks for is refused by name, and nothing in it is run."""
import collections
import pickle
import struct
import zipfile
import zlib

from . import _dyadic
from ._size import Size
from ._storage import frombuffer

_STORAGES = {
    "DoubleStorage": "float64",
    "FloatStorage": "float32",
    "HalfStorage": "float16",
    "BFloat16Storage": "bfloat16",
    "LongStorage": "int64",
    "IntStorage": "int32",
    "ShortStorage": "int16",
    "CharStorage": "int8",
    "ByteStorage": "uint8",
    "BoolStorage": "bool",
    "ComplexFloatStorage": "complex64",
    "ComplexDoubleStorage": "complex128",
}


def _tensor(storage, offset, size, stride, requires_grad=False, *_):
    if not isinstance(storage, _dyadic.Tensor):
        raise ValueError("a tensor without its memory")
    size, stride = [int(n) for n in size], [int(n) for n in stride]
    last = offset + sum((n - 1) * s for n, s in zip(size, stride))
    if len(size) != len(stride) or min([*size, *stride, offset], default=0) < 0 or (0 not in size and last >= storage.numel()):
        raise ValueError("a tensor reaches beyond its memory")
    t = storage.as_strided(size, stride, offset)
    return t.requires_grad_() if requires_grad else t


def _parameter(data, requires_grad=True, *_):
    return _dyadic.Parameter(data, bool(requires_grad))


def _reader(archive, prefix):
    from .serialization import _find

    rules = {
        ("collections", "OrderedDict"): collections.OrderedDict,
        ("collections", "Counter"): collections.Counter,
        ("torch._utils", "_rebuild_tensor_v2"): _tensor,
        ("torch._utils", "_rebuild_parameter"): _parameter,
        ("torch", "Size"): Size,
        ("torch", "device"): lambda kind, *_: _dyadic.device("cpu"),
        ("builtins", "set"): set,
        ("builtins", "complex"): complex,
    }
    for name, dtype in _STORAGES.items():
        rules["torch", name] = getattr(_dyadic, dtype)
    for name in _dyadic._dtype_names:
        rules["torch", name] = getattr(_dyadic, name)
    memory = {}

    class Reader(pickle.Unpickler):
        def find_class(self, module, name):
            found = rules.get((module, name)) or _find(module, name)
            if found is None:
                raise ValueError(f"it asks for {module}.{name}, which is no data; save the model's state_dict() instead, or allow it: serialization.add_safe_globals")
            return found

        def persistent_load(self, pid):
            kind, dtype, key, _, numel = pid
            if kind != "storage" or not isinstance(dtype, _dyadic.dtype):
                raise ValueError(f"an unknown kind of memory: {kind}")
            if key not in memory:
                data = bytearray(archive.read(f"{prefix}data/{key}"))
                if len(data) != numel * dtype.itemsize:
                    raise ValueError(f"memory {key} has {len(data)} bytes, not {numel * dtype.itemsize}")
                memory[key] = frombuffer(data, dtype=dtype)
            return memory[key]

    return Reader


_DAMAGE = (ValueError, LookupError, TypeError, AttributeError, EOFError, OSError, RuntimeError, ArithmeticError, MemoryError)
_DAMAGE += (pickle.UnpicklingError, zipfile.BadZipFile, zlib.error, struct.error)


def load_torch_file(path, name):
    try:
        with zipfile.ZipFile(path) as archive:
            names = [n for n in archive.namelist() if n.endswith("/data.pkl")]
            if len(names) != 1:
                raise ValueError("a zip without data.pkl")
            prefix = names[0][: -len("data.pkl")]
            order = f"{prefix}byteorder"
            if order in archive.namelist() and archive.read(order) != b"little":
                raise ValueError("its numbers are big-endian")
            with archive.open(names[0]) as f:
                return _reader(archive, prefix)(f).load()
    except _DAMAGE as e:
        from ._serialization import _errors

        raise _errors()[1](f"load: {name}: not a file of torch.save that can be read: {e}") from None
