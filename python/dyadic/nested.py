"""Batches of tensors of several shapes: made of a list, or of one tensor and where its parts begin; taken apart, and padded. Everything else is
done with the parts (unbind()) or with the padded tensor."""
from . import _absent, _dyadic
from ._dyadic import Tensor, _NestedParts, _nested_from_jagged
from ._functions import jagged, strided
from ._ignored import ignored as _ignored
from ._own_classes import DisableTorchFunctionSubclass

__all__ = ["as_nested_tensor", "nested_tensor", "nested_tensor_from_jagged", "to_padded_tensor"]
__getattr__ = _absent.names_of(__name__)


class NestedTensor(Tensor):
    """Several tensors of one dtype and rank as one batch. Gradients reach the parts."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        name = getattr(func, "__name__", str(func))
        raise NotImplementedError(f"{name}: it is not here for nested tensors; unbind() has the parts, to_padded_tensor() makes one tensor of them")

    is_nested = property(lambda self: True)
    layout = property(lambda self: self._layout)
    device = property(lambda self: self.unbind()[0].device)
    is_meta = property(lambda self: self.unbind()[0].is_meta)
    requires_grad = property(lambda self: any(t.requires_grad for t in self.unbind()))
    shape = property(lambda self: self.size())
    ndim = property(lambda self: self._parts.dim)

    def dim(self):
        """One more than a part has."""
        return self._parts.dim

    def size(self, dim=None):
        """The size of a dimension in which all parts agree."""
        if dim is None:
            raise RuntimeError("size: a nested tensor has no shape: the parts of unbind() have theirs, and size(dim) is that in which they agree")
        found = self._parts.size(dim)
        if found is None:
            raise RuntimeError(f"size: the parts of a nested tensor differ in dimension {dim}; those of unbind() have their own")
        return found

    def numel(self):
        """Of all parts."""
        return self._parts.numel

    def __len__(self):
        return self._parts.size(0)

    def unbind(self, dim=0):
        """The parts."""
        if dim != 0:
            raise RuntimeError(f"unbind: of a nested tensor dim is 0: it is {dim}")
        return self._parts.unbind()

    def __iter__(self):
        return iter(self.unbind())

    def values(self):
        """The parts one behind the other, [total, ...]."""
        return self._parts.values()

    def offsets(self):
        """Where each part begins in values(), and where the last one ends."""
        return self._parts.offsets()

    def to_padded_tensor(self, padding, output_size=None):
        """As large as the largest part in every dimension, or output_size, with `padding` where a part is smaller."""
        return self._parts.to_padded_tensor(padding, output_size)

    def detach(self):
        """The parts without their history."""
        return self._with([t.detach() for t in self.unbind()])

    def clone(self):
        """A copy of each part."""
        return self._with([t.clone() for t in self.unbind()])

    def to(self, *args, **kwargs):
        """Of each part."""
        return self._with([t.to(*args, **kwargs) for t in self.unbind()])

    def requires_grad_(self, requires_grad=True):
        """Of each part."""
        for t in self.unbind():
            t.requires_grad_(requires_grad)
        return self

    def _with(self, parts):
        return _wrap(_NestedParts(parts), self._layout)

    def __reduce_ex__(self, protocol):
        return _rebuild, (list(self.unbind()), self._layout)

    def __deepcopy__(self, memo):
        import copy

        return self._with(copy.deepcopy(list(self.unbind()), memo))

    def __repr__(self, *, tensor_contents=None):
        return str(self._parts)

    __str__ = __repr__
    __hash__ = Tensor.__hash__


def _wrap(parts, layout):
    first = parts.unbind()[0]
    with DisableTorchFunctionSubclass():
        made = Tensor._make_subclass(NestedTensor, _dyadic.empty([len(parts.unbind())], dtype=first.dtype, device="meta"))
    made._parts, made._layout = parts, layout
    return made


def _rebuild(parts, layout):
    return _wrap(_NestedParts(parts), layout)


def _as_parts(tensors, dtype, device, layout):
    if layout not in (None, strided, jagged):
        raise ValueError(f"nested_tensor: layout is strided or jagged: it is {layout}")
    if isinstance(tensors, NestedTensor):
        tensors = tensors.unbind()
    given = [t if isinstance(t, Tensor) else _dyadic.tensor(t) for t in tensors]
    return [t.to(device=device, dtype=dtype or t.dtype) if device is not None else t.to(dtype or t.dtype) for t in given]


@_ignored("pin_memory", why="memory is the CPU's")
def nested_tensor(tensor_list, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """A batch of copies of tensors: leaves, whose gradients are those of its parts."""
    parts = [t.detach().clone().requires_grad_(requires_grad) for t in _as_parts(tensor_list, dtype, device, layout)]
    return _wrap(_NestedParts(parts), layout or strided)


def as_nested_tensor(ts, dtype=None, device=None, layout=None):
    """A batch of these tensors, which gradients reach."""
    return _wrap(_NestedParts(_as_parts(ts, dtype, device, layout)), layout or strided)


@_ignored("min_seqlen", "max_seqlen", "jagged_dim", why="they follow from the offsets", of="nested.nested_tensor_from_jagged")
def nested_tensor_from_jagged(values, offsets=None, lengths=None, jagged_dim=None, min_seqlen=None, max_seqlen=None):
    """The parts of values [total, ...] between the offsets, or of these lengths; gradients reach values."""
    if jagged_dim not in (None, 1):
        raise NotImplementedError(f"nested_tensor_from_jagged: parts differ in their first dimension here, jagged_dim=1: it is {jagged_dim}")
    if offsets is None:
        if lengths is None:
            raise RuntimeError("nested_tensor_from_jagged: offsets or lengths are needed")
        offsets, lengths = _dyadic.cat([_dyadic.zeros([1], dtype=lengths.dtype), lengths.cumsum(0)]), None
    return _wrap(_nested_from_jagged(values, offsets, lengths), jagged)


def to_padded_tensor(input, padding, output_size=None, out=None):
    """NestedTensor.to_padded_tensor."""
    padded = input.to_padded_tensor(padding, output_size)
    return padded if out is None else out.resize_(padded.shape).copy_(padded)
