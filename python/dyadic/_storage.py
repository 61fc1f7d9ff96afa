"""The memory under tensors, as PyTorch shows it; files and buffers as tensors."""
import os

from . import _dyadic
from ._dyadic import Tensor


class _Storage:
    """A tensor's memory as one row of elements."""

    def __init__(self, tensor, dtype):
        self._row = _dyadic._storage_row(tensor, dtype)

    def data_ptr(self):
        return self._row.data_ptr()

    def nbytes(self):
        return self._row.nbytes

    def size(self):
        return self._row.numel()

    def element_size(self):
        return self._row.itemsize

    @property
    def device(self):
        return self._row.device

    def tolist(self):
        return self._row.tolist()

    def __len__(self):
        return self._row.numel()

    def __getitem__(self, i):
        return self._row[i].tolist()

    def __iter__(self):
        return iter(self.tolist())

    @property
    def _untyped(self):
        """The same memory as bytes."""
        return self.untyped()

    def untyped(self):
        """The same memory as bytes: self."""
        return self

    def share_memory_(self):
        """self, whose memory processes that are forked from now on share."""
        self._row.share_memory_()
        return self

    def is_shared(self):
        """Whether other processes may share the memory."""
        return self._row.is_shared()


class UntypedStorage(_Storage):
    """The bytes of a tensor's memory, which its views share."""

    def __init__(self, tensor):
        super().__init__(tensor, _dyadic.uint8)

    @classmethod
    def from_file(cls, filename, shared=False, nbytes=0):
        """The first nbytes of a file. shared: what is written changes the file, which is made, or made longer, where it is too short; else
        writes stay in memory."""
        path = os.fspath(filename)
        if shared and (not os.path.exists(path) or os.path.getsize(path) < nbytes):
            with open(path, "ab") as f:
                f.truncate(nbytes)
        return cls(_dyadic._memmap(path, _dyadic.uint8, [nbytes], "r+" if shared else "c", 0))

    def __eq__(self, other):
        return isinstance(other, UntypedStorage) and self.data_ptr() == other.data_ptr() and self.nbytes() == other.nbytes()

    __hash__ = None


class TypedStorage(_Storage):
    """A tensor's memory as elements of its dtype."""

    def __init__(self, tensor):
        super().__init__(tensor, tensor.dtype)
        self._tensor = tensor

    def untyped(self):
        """The same memory as bytes."""
        return UntypedStorage(self._tensor)

    @property
    def dtype(self):
        """The dtype of its elements."""
        return self._row.dtype

    def __setitem__(self, i, value):
        self._row[i] = value

    def __repr__(self):
        return f"{self.tolist()}\n[{Tensor.__module__}.TypedStorage of {self.size()} {self.dtype}]"


def is_storage(obj):
    """Whether it is the memory of a tensor."""
    return isinstance(obj, (UntypedStorage, TypedStorage))


def _set(self, source=None, storage_offset=0, size=None, stride=None):
    """self becomes a view of what `source` views, a tensor or a storage: of its memory with the given offset, size and stride; of
    nothing without one."""
    if source is None:
        source = _dyadic.empty(0, dtype=self.dtype)
    elif not isinstance(source, Tensor):
        source = _dyadic._storage_row(source._row, self.dtype)
    if source.dtype != self.dtype:
        raise RuntimeError(f"set_: the dtypes differ: self is {self.dtype.name}, source is {source.dtype.name}")
    if size is not None:
        size = [size] if isinstance(size, int) else list(size)
        source = source.as_strided(size, _dense_strides(size) if stride is None else list(stride), storage_offset)
    _dyadic._become(self, source)
    return self


def _dense_strides(size):
    strides = [1] * len(size)
    for d in range(len(size) - 1, 0, -1):
        strides[d - 1] = strides[d] * max(size[d], 1)
    return strides


def _resize_as(self, other):
    """resize_ to the sizes of other."""
    return self.resize_(other.shape)


def _is_set_to(self, tensor):
    """Whether both are the same view of the same memory."""
    return self.data_ptr() == tensor.data_ptr() and self.shape == tensor.shape and self.stride() == tensor.stride()




def _untyped_storage(self):
    """The memory of the tensor as bytes, shared."""
    return UntypedStorage(self)


def _storage(self):
    """The memory of the tensor as a row of its elements, shared."""
    return TypedStorage(self)


Tensor.untyped_storage, Tensor.storage = _untyped_storage, _storage
Tensor.set_, Tensor.resize_as_, Tensor.is_set_to = _set, _resize_as, _is_set_to


def _becomes(name):
    """name_(): the tensor becomes the view that name() makes."""
    view = getattr(Tensor, name)

    def become(self, *args, **kwargs):
        if self.requires_grad and _dyadic.is_grad_enabled():
            raise RuntimeError(f"{name}_: a tensor that requires grad keeps its shape: use {name}, or no_grad")
        _dyadic._become(self, view(self, *args, **kwargs))
        return self

    become.__name__, become.__doc__ = name + "_", f"Makes self the view that {name} gives."
    return become


for _name in ("t", "transpose", "swapaxes", "swapdims", "squeeze", "unsqueeze", "as_strided"):
    setattr(Tensor, _name + "_", _becomes(_name))


def frombuffer(buffer, *, dtype, count=-1, offset=0, requires_grad=False):
    """A tensor over the memory of an object with Python's buffer protocol: count elements from byte offset on. Read-only memory
    (bytes) makes a tensor that cannot be written to."""
    dtype = _dyadic.dtype(dtype)
    memory = memoryview(buffer).cast("B") if memoryview(buffer).nbytes else memoryview(b"")
    if not 0 <= offset <= memory.nbytes:
        raise ValueError(f"frombuffer: the offset is outside of the buffer: offset is {offset}, the buffer has {memory.nbytes} bytes")
    rest = memory.nbytes - offset
    if count < 0:
        count, odd = divmod(rest, dtype.itemsize)
        if odd:
            raise ValueError(f"frombuffer: {rest} bytes from byte {offset} on are no whole elements of {dtype.name}; give a count")
    if count * dtype.itemsize > rest:
        wanted = f"{count} elements of {dtype.name} from byte {offset} on"
        raise ValueError(f"frombuffer: too short: {wanted}; the buffer has {memory.nbytes} bytes")
    if not count:
        return _dyadic.empty(0, dtype=dtype, requires_grad=requires_grad)
    t = _dyadic._share_buffer(memory[offset : offset + count * dtype.itemsize])
    if t.data_ptr() % dtype.itemsize:
        raise ValueError(f"frombuffer: the memory is not aligned to {dtype.name}: byte {offset}; copy it")
    t = t.view(dtype)
    return t.requires_grad_() if requires_grad else t


def from_file(filename, shared=False, size=0, *, dtype=None, requires_grad=False):
    """The first `size` elements of a file, [size] in dtype (the default one). shared: what is written changes the file, which is made, or made
    longer, where it is too short; else writes stay in memory."""
    dtype = _dyadic.dtype(dtype or _dyadic.get_default_dtype())
    t = _dyadic.empty(0, dtype=dtype).set_(UntypedStorage.from_file(filename, bool(shared), size * dtype.itemsize), 0, [size])
    return t.requires_grad_() if requires_grad else t


def memmap(path, dtype=None, shape=None, mode="r", offset=0):
    """The elements of a file as a tensor; pages are read when they are touched, and count in no memory limit.

    A .npy file says its dtype and shape; other files are elements alone, row-major and little-endian. mode "r": the tensor cannot be
    written to; "r+": writes change the file; "w+": a new file of zeros; "c": writes stay in memory. The file must not become shorter
    while the tensor lives.
    """
    if shape is not None:
        shape = [shape] if isinstance(shape, int) else list(shape)
    return _dyadic._memmap(os.fspath(path), dtype, shape, mode, offset)
