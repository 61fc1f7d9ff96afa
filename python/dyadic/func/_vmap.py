"""vmap: a function of one example as a function of a batch of them."""
import functools

from .. import _dyadic
from .._dyadic import Tensor
from .._levels import Level
from ..utils._pytree import tree_flatten, tree_unflatten
from ._rules import spread

_RANDOMNESS = ("error", "different", "same")
def _checked(dim, t, who):
    if not isinstance(t, Tensor):
        raise ValueError(f"vmap: {who} is {dim} for a {type(t).__name__}; only tensors have dimensions, others take None")
    if not -t.dim() <= dim < t.dim():
        raise ValueError(f"vmap: {who} is {dim} for a tensor of {t.dim()} dimensions")
    return dim % t.dim()


def vmap(func, in_dims=0, out_dims=0, randomness="error", *, chunk_size=None):
    """The function that maps func over dimension in_dims of its arguments and stacks the results along out_dims. func is called once,
    with tensors that stand for all entries; where it asks for their values (item(), control flow), that is an error. in_dims is a number
    for all tensors or has the structure of the arguments, None where one is the same for all; out_dims likewise of the results. It
    nests, and gradients go through it. A function that draws random numbers is an error; randomness="different" draws for each entry,
    "same" gives all entries the same numbers. chunk_size: at most so many entries at once."""
    if randomness not in _RANDOMNESS:
        raise RuntimeError(f"vmap: randomness is {randomness!r}; it is 'error', 'different' or 'same'")
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"vmap: chunk_size is {chunk_size}; it is None or a positive number")

    @functools.wraps(func)
    def call(*args, **kwargs):
        leaves, spec = tree_flatten(args)
        dims = spread(tuple(in_dims) if isinstance(in_dims, list) else in_dims, args, "in_dims")
        if isinstance(in_dims, int):
            dims = [d if isinstance(t, Tensor) else None for d, t in zip(dims, leaves)]
        dims = [None if d is None else _checked(d, t, "in_dims") for d, t in zip(dims, leaves)]
        named, named_spec = tree_flatten(kwargs)  # keywords are mapped over dimension 0
        positional = len(leaves)
        leaves, dims = leaves + named, dims + [0 if isinstance(t, Tensor) else None for t in named]
        sizes = {t.size(d) for t, d in zip(leaves, dims) if d is not None}
        if len(sizes) != 1:
            raise ValueError(f"vmap: the mapped dimensions are of {'different sizes' if sizes else 'no tensor'}: {sorted(sizes)}")
        (count,) = sizes

        def at_once(inputs):
            return func(*tree_unflatten(inputs[:positional], spec), **tree_unflatten(inputs[positional:], named_spec))

        return mapped(at_once, leaves, dims, count, out_dims, randomness, chunk_size)

    return call


def mapped(func, leaves, dims, count, out_dims, randomness="error", chunk_size=None):
    """func(list of tensors) of all entries of the leaves, in the structure of its result."""
    if chunk_size is None or chunk_size >= count:
        outputs, places, shape = _run(func, leaves, dims, count, out_dims, randomness)
        return tree_unflatten(outputs, shape)
    parts = [leaf if d is None else leaf.split(chunk_size, d) for leaf, d in zip(leaves, dims)]
    start = _dyadic.get_rng_state() if randomness == "same" else None
    chunks = []
    for i in range((count + chunk_size - 1) // chunk_size):
        if start is not None:
            _dyadic.set_rng_state(start)
        chunk = [part if d is None else part[i] for part, d in zip(parts, dims)]
        outputs, places, shape = _run(func, chunk, dims, min(chunk_size, count - i * chunk_size), out_dims, randomness)
        chunks.append(outputs)
    joined = [column[0] if d is None else _dyadic.cat(column, d if d >= 0 else d + column[0].dim()) for column, d in zip(zip(*chunks), places)]
    return tree_unflatten(joined, shape)


def _run(func, leaves, dims, count, out_dims, randomness):
    """The results of all entries, where their entries lie, and the structure of what func returns."""
    with Level(count, randomness) as level:
        result = func([leaf if d is None else level.enter(leaf, d) for leaf, d in zip(leaves, dims)])
    outputs, shape = tree_flatten(result)
    for y in outputs:
        if not isinstance(y, Tensor):
            raise ValueError(f"vmap: the function returns tensors, not {type(y).__name__}")
    places = spread(out_dims, result, "out_dims")
    for y, d in zip(outputs, places):
        if d is None and level.holds(y):
            raise ValueError("vmap: out_dims is None for a result that differs between the entries; give a dimension")
    return [y if d is None else level.leave(y, d) for y, d in zip(outputs, places)], places, shape


def of_rows(func, basis, out_dim, chunk_size=None):
    """The list of tensors that func makes of a row, of all rows of the basis along out_dim. Random numbers are the same for all."""
    parts = []
    for chunk in [basis] if chunk_size is None or chunk_size >= len(basis) else basis.split(chunk_size):
        with Level(len(chunk), "same") as level:
            found = func(level.enter(chunk, 0))
        parts.append([level.leave(y, out_dim) for y in found])
    return parts[0] if len(parts) == 1 else [_dyadic.cat(column, out_dim) for column in zip(*parts)]
