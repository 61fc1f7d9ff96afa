"""Memory that processes share: after share_memory_() what one process writes into a tensor others see, those that are forked and those
to which the tensor is sent."""
from . import _dyadic
from ._copying import has_plain_memory
from ._dyadic import Module, Parameter, Tensor


def _share_memory_(self):
    """self, whose memory processes that are forked from now on share, with all its views."""
    _dyadic._share_memory(self)
    return self


def _is_shared(self):
    """Whether other processes may share the memory: after share_memory_(), and of a file that is mapped to be written."""
    return _dyadic._is_shared(self)


def _share_module(self):
    """self, whose parameters and buffers processes that are forked from now on share."""
    for t in (*self.parameters(), *self.buffers()):
        t.share_memory_()
    return self


Tensor.share_memory_, Tensor.is_shared, Module.share_memory = _share_memory_, _is_shared, _share_module


def _rebuild(file, offset, nbytes, dtype, view, requires_grad, parameter):
    row = _dyadic._map_shared(file.detach(), offset, nbytes)
    t = row[: nbytes // dtype.itemsize * dtype.itemsize].view(dtype).as_strided(*view)
    return Parameter(t, requires_grad) if parameter else t.requires_grad_(requires_grad)


def _reduce(t):
    """How a tensor is sent to another process: its memory becomes a shared one, of which the other process gets the file."""
    if t.requires_grad and not t.is_leaf:
        raise RuntimeError("multiprocessing: a tensor that backward goes through is not sent to another process: detach() it first")
    if not has_plain_memory(t) or not t.numel():  # as a copy
        return t.__reduce_ex__(2)
    from multiprocessing.reduction import DupFd

    _dyadic._share_memory(t)
    file, offset, nbytes = _dyadic._shared_part(t)
    view = list(t.shape), list(t.stride()), t.storage_offset()
    return _rebuild, (DupFd(file), offset, nbytes, t.dtype, view, t.requires_grad, isinstance(t, Parameter))


def register():
    """Tensors that multiprocessing sends are shared."""
    from multiprocessing.reduction import ForkingPickler

    ForkingPickler.register(Tensor, _reduce)
    ForkingPickler.register(Parameter, _reduce)
