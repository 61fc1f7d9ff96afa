"""Sparse tensors as PyTorch's programs use them: objects of a class that derives from Tensor, whose elements are C++'s SparseTensor (_parts).
What Tensor itself sees is their shape and dtype, on meta. Calls come here by __torch_function__: a rule of _RULES answers, or the call is
refused by its name."""
from . import _dyadic
from ._dyadic import Tensor, _sparse
from ._own_classes import DisableTorchFunctionSubclass
from ._functions import sparse_coo, sparse_csr

_RULES = {}


def _rule(*names):
    def declare(function):
        _RULES.update(dict.fromkeys(names, function))
        return function

    return declare


def _refusal(name):
    return NotImplementedError(f"{name}: it is not here for sparse tensors; to_dense() makes a dense one of them")


def _absent_method(name):
    def refuse(self):
        raise _refusal(name)

    return refuse


class SparseTensor(Tensor):
    """A tensor of which only some elements are there: sparse_coo_tensor, sparse_csr_tensor, Tensor.to_sparse. Gradients reach values()."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        name = getattr(func, "__name__", str(func))
        rule = _RULES.get(name.strip("_") if name.startswith("__") else name)
        if rule is None:
            raise _refusal(name)
        with DisableTorchFunctionSubclass():
            return rule(*args, **(kwargs or {}))

    layout = property(lambda self: sparse_csr if self._parts.is_csr else sparse_coo)
    is_sparse = property(lambda self: not self._parts.is_csr, doc="Whether the layout is sparse_coo.")
    is_sparse_csr = property(lambda self: self._parts.is_csr)
    device = property(lambda self: self._parts.values.device)
    is_meta = property(lambda self: self._parts.values.is_meta)
    requires_grad = property(lambda self: self._parts.values.requires_grad, lambda self, on: self.requires_grad_(on))
    grad_fn = property(lambda self: self._parts.values.grad_fn)
    is_leaf = property(lambda self: self._parts.values.is_leaf)
    T = property(lambda self: self.t())
    data = property(lambda self: self.detach(), doc="The same elements without their history.")
    data_ptr = _absent_method("data_ptr")
    __iter__ = _absent_method("__iter__")

    @property
    def grad(self):
        """Of the values, at the same places."""
        grad = self._parts.values.grad
        return None if grad is None else _wrap(self._parts.with_values(grad))

    @grad.setter
    def grad(self, value):
        self._parts.values.grad = value._parts.values if isinstance(value, SparseTensor) else value

    def requires_grad_(self, requires_grad=True):
        self._parts.values.requires_grad_(requires_grad)
        return self

    def is_coalesced(self):
        """Whether the indices are in order and none is there twice."""
        self._of_coo("is_coalesced")
        return self._parts.is_coalesced

    def _of_coo(self, who):
        if self._parts.is_csr:
            raise RuntimeError(f"{who}: the layout is sparse_csr; to_sparse_coo() makes one that has it")

    def coalesce(self):
        """Indices in order, elements of one place added up."""
        self._of_coo("coalesce")
        return self if self._parts.is_coalesced else _wrap(self._parts.coalesce())

    def indices(self):
        """int64 [sparse dimensions, elements]."""
        if not self.is_coalesced():
            raise RuntimeError("indices: the tensor is not coalesced: coalesce() it first")
        return self._parts.indices

    def values(self):
        """[elements, dense sizes ...]."""
        if not self._parts.is_csr and not self._parts.is_coalesced:
            raise RuntimeError("values: the tensor is not coalesced: coalesce() it first")
        return self._parts.values

    def _indices(self):
        """indices(), coalesced or not."""
        return self._parts.indices

    def _values(self):
        """values(), coalesced or not."""
        return self._parts.values

    def _nnz(self):
        """How many elements are there."""
        return self._parts.values.size(0)

    def crow_indices(self):
        """Of sparse_csr: where each row begins, and where the last one ends."""
        return self._parts.crow_indices

    def col_indices(self):
        """Of sparse_csr: the column of each element."""
        return self._parts.col_indices

    def sparse_dim(self):
        """How many dimensions indices have."""
        return self._parts.sparse_dim

    def dense_dim(self):
        """How many dimensions each element has."""
        return len(self._parts.sizes) - self._parts.sparse_dim

    def to_dense(self, dtype=None, *, masked_grad=True):
        """A plain tensor; elements that are not there are 0."""
        if masked_grad is not True and masked_grad is not None:
            raise NotImplementedError("to_dense: masked_grad=False is not here: gradients are those of the elements that are there")
        dense = self._parts.to_dense()
        return dense if dtype is None else dense.to(dtype)

    def to_sparse(self, sparse_dim=None, *, layout=None, blocksize=None, dense_dim=None):
        """In another sparse layout, or as it is."""
        if blocksize is not None or dense_dim is not None or sparse_dim not in (None, self._parts.sparse_dim):
            raise NotImplementedError("to_sparse: of a sparse tensor layout alone changes: blocksize, sparse_dim and dense_dim are not here")
        return _wrap(self._parts.to_csr()) if layout is sparse_csr else self.to_sparse_coo()

    def to_sparse_coo(self):
        """As sparse_coo."""
        return _wrap(self._parts.to_coo()) if self._parts.is_csr else self

    def to_sparse_csr(self, dense_dim=None):
        """As sparse_csr."""
        if dense_dim:
            raise NotImplementedError("to_sparse_csr: dense_dim is not here: elements are numbers")
        return self if self._parts.is_csr else _wrap(self._parts.to_csr())

    def backward(self, gradient=None, *args, **kwargs):
        """Of the values."""
        gradient = gradient._parts.values if isinstance(gradient, SparseTensor) else gradient
        self._parts.values.backward(gradient, *args, **kwargs)

    def tolist(self):
        """Of the dense tensor."""
        return self.to_dense().tolist()

    def __repr__(self, *, tensor_contents=None):
        return str(self._parts)

    __str__ = __repr__

    def __reduce_ex__(self, protocol):
        p = self._parts
        places = (p.crow_indices, p.col_indices) if p.is_csr else (p.indices,)
        rest = () if p.is_csr else (p.is_coalesced,)
        return _rebuild, (self.layout, *places, p.values, p.sizes, *rest)

    def __deepcopy__(self, memo):
        import copy

        make, parts = self.__reduce_ex__(4)
        return make(*(copy.deepcopy(part, memo) if isinstance(part, Tensor) else part for part in parts))

    def __copy__(self):
        return _wrap(self._parts)

    def __bool__(self):
        return bool(self.to_dense())

    __hash__ = Tensor.__hash__


def _rebuild(layout, *parts):
    return _wrap(_sparse.csr(*parts) if layout is sparse_csr else _sparse.coo(*parts))


def _wrap(parts):
    with DisableTorchFunctionSubclass():
        made = Tensor._make_subclass(SparseTensor, _dyadic.empty(parts.sizes, dtype=parts.values.dtype, device="meta"))
        made._parts = parts
    return made


def _parts_of(value):
    return value._parts if isinstance(value, SparseTensor) else None


def _is_number(value):
    return not isinstance(value, Tensor) or value.dim() == 0 and not isinstance(value, SparseTensor)


def _refused(who, *operands):
    kinds = " and ".join("sparse" if isinstance(v, SparseTensor) else "dense" if isinstance(v, Tensor) else type(v).__name__ for v in operands)
    raise NotImplementedError(f"{who}: of {kinds} it is not here; to_dense() makes a dense tensor of a sparse one")


@_rule("mm", "matmul", "mv", "smm", "spmm")
def matmul(input, other):
    a, b = _parts_of(input), _parts_of(other)
    if a and b:
        return _wrap(_sparse.mm_sparse(a, b))
    if a:
        return _sparse.mm(a, other)
    if input.dim() == 1:
        return _sparse.mm(b.transpose(0, 1), input)
    return _sparse.mm(b.transpose(0, 1), input.t()).t()


@_rule("rmatmul")
def _rmatmul(self, other):
    return matmul(other, self)


@_rule("addmm")
def addmm(input, mat1, mat2, *, beta=1, alpha=1):
    product = matmul(mat1, mat2)
    if isinstance(product, SparseTensor) or isinstance(input, SparseTensor):
        _refused("addmm", input, mat1, mat2)
    return input * beta + product * alpha


@_rule("add", "radd")
def add(input, other, *, alpha=1):
    a, b = _parts_of(input), _parts_of(other)
    if a and b:
        return _wrap(_sparse.add(a, b, alpha))
    if not (isinstance(input, Tensor) and isinstance(other, Tensor)):
        _refused("add", input, other)
    return (a.to_dense() if a else input) + (b.to_dense() if b else other) * alpha


@_rule("sub")
def subtract(input, other, *, alpha=1):
    return add(input, other, alpha=-alpha)


@_rule("rsub")
def _rsub(self, other):
    return add(other, self, alpha=-1)


@_rule("mul", "multiply", "rmul")
def multiply(input, other):
    a, b = _parts_of(input), _parts_of(other)
    if a and b:
        _refused("mul", input, other)
    parts, factor = (a, other) if a else (b, input)
    return _wrap(parts.with_values(parts.values * (factor if _is_number(factor) else _sparse.gather(parts, factor))))


@_rule("div", "divide", "true_divide", "truediv")
def divide(input, other):
    if isinstance(other, SparseTensor) or not _is_number(other):
        _refused("div", input, other)
    return _wrap(input._parts.with_values(input._parts.values / other))


@_rule("pow")
def power(input, exponent):
    if not isinstance(input, SparseTensor) or not isinstance(exponent, (int, float)) or exponent <= 0:
        raise NotImplementedError("pow: of sparse tensors the exponent is a number above 0: others make of 0 something else; to_dense() first")
    parts = input._parts.coalesce()
    return _wrap(parts.with_values(parts.values**exponent))


def _pointwise(name):
    op = getattr(_dyadic, name)

    def function(input):
        parts = input._parts.coalesce()
        return _wrap(parts.with_values(op(parts.values)))

    return function


# Of 0 these make 0.
for _name in "abs asin asinh atan atanh ceil deg2rad erf expm1 floor log1p neg rad2deg relu round sgn sign sin sinh sqrt square tan tanh trunc".split():
    _RULES[_name] = _pointwise(_name)


def _of_values(name):
    def function(self, *args, **kwargs):
        return _wrap(self._parts.with_values(getattr(self._parts.values, name)(*args, **kwargs)))

    return function


for _name in "bfloat16 bool clone contiguous cpu detach double float half int long to type_as".split():
    _RULES[_name] = _of_values(_name)


@_rule("t")
def transpose_matrix(input):
    return transpose(input, 0, 1)


@_rule("transpose", "swapaxes", "swapdims")
def transpose(input, dim0, dim1):
    return _wrap(input._parts.transpose(dim0, dim1))


@_rule("sum")
def sum_(input, dim=None, keepdim=False, dtype=None):
    """A tensor of sums; over some sparse dimensions it is sparse."""
    parts = input._parts if dtype is None else input._parts.with_values(input._parts.values.to(dtype))
    if dim is None:
        return parts.values.sum()
    if keepdim:
        raise NotImplementedError("sum: keepdim is not here for sparse tensors; to_dense() first")
    rank, sparse = len(parts.sizes), parts.sparse_dim
    dims = sorted({d % rank for d in (dim if isinstance(dim, (tuple, list)) else (dim,))}, reverse=True)
    for d in dims:
        if d >= sparse:
            parts = _dyadic._sparse.coo(parts.to_coo().indices, parts.values.sum(d - sparse + 1), [n for i, n in enumerate(parts.sizes) if i != d])
        elif parts.sparse_dim == 1:
            return parts.values.sum(0)
        else:
            parts = _sparse.sum(parts, d)
    return _wrap(parts)


@_rule("sparse_mask")
def sparse_mask(self, mask):
    """The elements of a dense tensor at the places of a sparse one."""
    parts = mask._parts
    return _wrap(parts.with_values(_sparse.gather(parts, self)))


@_rule("zeros_like")
def zeros_like(input, *, dtype=None, requires_grad=False):
    parts = input._parts
    if parts.is_csr:
        raise NotImplementedError("zeros_like: of sparse tensors it is here for sparse_coo")
    values = _dyadic.zeros([0, *parts.values.shape[1:]], dtype=dtype or parts.values.dtype)
    indices = _dyadic.zeros([parts.sparse_dim, 0], dtype=_dyadic.int64)
    return _wrap(_sparse.coo(indices, values, parts.sizes, True)).requires_grad_(requires_grad)


@_rule("is_same_size")
def is_same_size(input, other):
    return input.shape == other.shape


for _name in ("is_floating_point", "is_complex", "get_device", "is_sparse"):
    _RULES[_name] = lambda self, _name=_name: getattr(self._parts.values, _name)()
