"""Files of torch.save. They are read in C++, by rules: a file may build tensors, dicts and numbers; whatever else it asks for is
refused by name unless serialization.add_safe_globals allows it, and made here."""
from . import _dyadic

_OLDER = (b"\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19", b"L119547037146038801333356L")  # how files before PyTorch 1.6 begin


def is_torch_file(head):
    """Whether a file that begins so is one."""
    return head.startswith(b"PK\x03\x04") or any(magic in head for magic in _OLDER)


def _layout(name):
    return name.removeprefix("torch.sparse_")


def _sparse(layout, parts):
    from . import arange, sparse, stack

    if layout == "coo":
        indices, values, size, *coalesced = parts
        return sparse.sparse_coo_tensor(indices, values, size, is_coalesced=bool(coalesced and coalesced[0]))
    begins, others, values, size = parts
    if layout == "csr":
        return sparse.sparse_csr_tensor(begins, others, values, size)
    # By columns, or in blocks: coo. Where its blocks are is what a matrix says of which each is an element.
    by_columns, in_blocks = layout in ("csc", "bsc"), layout in ("bsr", "bsc")
    if layout not in ("csc", "bsr", "bsc") or len(size) != 2 or values.dim() != (3 if in_blocks else 1):
        raise ValueError(f"it has a sparse tensor of {layout}, {len(size)} dimensions and values of {values.dim()}; save what to_sparse_coo() gives")
    block = values.shape[1:] if in_blocks else (1, 1)
    if 0 in block or any(n % b for n, b in zip(size, block)):
        raise ValueError(f"it has a sparse tensor {list(size)} in blocks of {list(block)}")
    grid = [n // b for n, b in zip(size, block)]
    numbers = arange(values.shape[0])
    at = sparse.sparse_csr_tensor(begins, others, numbers, grid[::-1] if by_columns else grid).to_sparse_coo()
    rows, columns = at.indices().unbind()
    if by_columns:
        rows, columns = columns, rows
    within = [arange(b).reshape([-1, 1] if d == 0 else [1, -1]) for d, b in enumerate(block)]
    rows, columns = ((place * b).reshape(-1, 1, 1) + i for place, b, i in zip((rows, columns), block, within))
    indices = stack([x.expand(len(numbers), *block).reshape(-1) for x in (rows, columns)])
    return sparse.sparse_coo_tensor(indices, values[at.values()].reshape(-1), size).coalesce()


def sparse_parts(t):
    """(layout, what PyTorch makes one of again) of a sparse tensor; None of another."""
    from ._sparse_tensor import SparseTensor

    if not isinstance(t, SparseTensor):
        return None
    if t.is_sparse_csr:
        return "torch.sparse_csr", (t.crow_indices().detach(), t.col_indices().detach(), t.values().detach(), t.shape)
    return "torch.sparse_coo", (t._indices().detach(), t._values().detach(), t.shape, t.is_coalesced())


def _meta(dtype, size, stride, requires_grad):
    from ._more_functions import empty_strided

    return empty_strided(size, stride, dtype=dtype, device="meta", requires_grad=requires_grad)


# Tensors that C++ has no value for, by what makes them.
_TENSORS = {
    "torch.serialization._get_layout": _layout,
    "torch._utils._rebuild_sparse_tensor": _sparse,
    "torch._utils._rebuild_sparse_csr_tensor": _sparse,
    "torch._utils._rebuild_meta_tensor_no_storage": _meta,
}


_NUMPY = [f"numpy.{core}.multiarray._reconstruct" for core in ("_core", "core")]  # what makes its arrays


def numpy_array(shape, dtype, order, by_columns, data):
    import numpy

    flat = numpy.frombuffer(data, numpy.dtype(dtype).newbyteorder(order))
    return flat.reshape(shape, order="F" if by_columns else "C").astype(numpy.dtype(dtype))


def _make(name, raw, args, items, entries, state):
    """An object of a class that the user has allowed; the class itself without args."""
    from .serialization import _find

    if name == "builtins.bytes" and args == ():  # of an empty array
        return b""
    found = _TENSORS.get(name) or _find(*name.rsplit(".", 1))
    if found is None:
        raise ValueError(f"it asks for {name} in a way that is not allowed")
    if args is None:
        return found
    made = found.__new__(found, *args) if raw else found(*args)
    if items:
        made.extend(items)
    for key, value in entries:
        made[key] = value
    if state is not None and hasattr(made, "__setstate__"):
        made.__setstate__(state)
    elif state is not None:
        state, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
        made.__dict__.update(state or {})
        for key, value in (slots or {}).items():
            setattr(made, key, value)
    return made


def _is_numpys(path):
    try:
        return _dyadic._open_tensors(path).kind == "npz"
    except (ValueError, RuntimeError, OSError):
        return False


def load_torch_file(path, name, weights_only=True):
    from .serialization import _names

    # Arrays of numbers are data as well, which PyTorch reads when it is told to trust them or the file.
    allowed = [*_TENSORS, *_names()]
    if not weights_only or any(n in allowed for n in _NUMPY):
        allowed += [*_NUMPY, "numpy.ndarray", "builtins.bytes"]
    try:
        return _dyadic._load_torch(path, allowed, _make)
    except MemoryError:
        raise
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as e:
        from ._serialization import _errors

        if _is_numpys(path):
            raise _errors()[1](f"load: {name} is an archive of numpy's: serialization.open() gives its tensors") from None
        reason = str(e).removeprefix(f"{path}: ").replace("which is no data and is not run; save the model's state_dict() instead",
                                                          "which is no data; save the model's state_dict() instead, or allow it: serialization.add_safe_globals")
        raise _errors()[1](f"load: {name}: not a file of torch.save that can be read: {reason}") from None
