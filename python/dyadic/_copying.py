"""copy.copy and copy.deepcopy of tensors, and pickles of what stands beside them."""
import copy
import copyreg

from . import _dyadic
from ._dyadic import Parameter, Tensor
from ._own_classes import DisableTorchFunctionSubclass, is_of_own_class


def has_plain_memory(t):
    """Whether its memory is a row of elements that as_strided can look at."""
    return not t.is_meta and not t.dtype.is_scaled and t.dtype.bits >= 8


def _copied_memory(t, memo):
    """A tensor like t over a copy of its memory; the tensors of one deepcopy share memory as the originals do."""
    row = _dyadic._storage_row(t, _dyadic.uint8)
    place = "memory", row.data_ptr()
    if place not in memo:
        memo[place] = row, row.clone()  # the first one keeps its address taken
    bytes_ = memo[place][1]
    whole = bytes_[: len(bytes_) // t.itemsize * t.itemsize].view(t.dtype)
    return whole.as_strided(list(t.shape), list(t.stride()), t.storage_offset())


@DisableTorchFunctionSubclass()
def _deepcopy(self, memo):
    """A copy with its own memory and gradient."""
    if id(self) in memo:
        return memo[id(self)]
    if not self.is_leaf:
        raise RuntimeError("deepcopy: the tensor is a result that backward goes through, not a leaf; detach() it first")
    if has_plain_memory(self):
        made = _copied_memory(self.detach(), memo)
    else:
        made = _dyadic.empty_like(self) if self.is_meta else self.detach().clone()
    if isinstance(self, Parameter):
        made = type(self)(made, self.requires_grad)
    elif self.requires_grad:
        made.requires_grad_()
    if is_of_own_class(self):
        made = _of_class(made, self, copy.deepcopy(self.__dict__, memo))
    if self.grad is not None:
        made.grad = copy.deepcopy(self.grad, memo)
    memo[id(self)] = made
    return made


def _of_class(plain, original, attributes):
    made = type(original)._make_subclass(type(original), plain, plain.requires_grad)
    made.__dict__.update(attributes)
    return made


@DisableTorchFunctionSubclass()
def _shallow(self):
    """The same memory as a leaf of its own."""
    made = self.detach()
    if is_of_own_class(self):
        return _of_class(made.requires_grad_(self.requires_grad), self, self.__dict__)
    if isinstance(self, Parameter):
        return type(self)(made, self.requires_grad)
    return made.requires_grad_() if self.requires_grad else made


Tensor.__copy__, Tensor.__deepcopy__ = _shallow, _deepcopy
copyreg.pickle(_dyadic.device, lambda d: (_dyadic.device, (str(d),)))
copyreg.pickle(type(_dyadic.manual_seed), lambda function: function.__qualname__)  # functions of C++ are pickled by name, as Python's are
