"""vmap: a function of one example as a function of a batch of them."""
import functools

from .. import _dyadic
from .._dyadic import Tensor
from ..utils._pytree import tree_flatten, tree_unflatten
from .._ignored import ignored as _ignored


def _spread(dims, tree, who):
    """One entry of dims for each leaf of the tree: dims is a number, None, or a tree of them that the other one begins with."""
    if dims is None or isinstance(dims, int):
        return [dims] * len(tree_flatten(tree)[0])
    fits = type(dims) is type(tree) or isinstance(dims, (tuple, list)) and isinstance(tree, (tuple, list))
    if not fits or len(dims) != len(tree):
        raise ValueError(f"vmap: {who} does not look like what it is for: {dims!r}")
    pairs = [(dims[key], tree[key]) for key in tree] if isinstance(tree, dict) else zip(dims, tree)
    return [d for some, part in pairs for d in _spread(some, part, who)]


def _checked(dim, t, who):
    if not isinstance(t, Tensor):
        raise ValueError(f"vmap: {who} is {dim} for a {type(t).__name__}; only tensors have dimensions, others take None")
    if not -t.dim() <= dim < t.dim():
        raise ValueError(f"vmap: {who} is {dim} for a tensor of {t.dim()} dimensions")
    return dim % t.dim()


@_ignored("chunk_size", why="func is called once per entry")
def vmap(func, in_dims=0, out_dims=0, randomness="error", *, chunk_size=None):
    """The function that maps func over dimension in_dims of its arguments and stacks the results along out_dims: func is called once
    per entry. in_dims is a number for all tensors or has the structure of the arguments, None where one is the same for all;
    out_dims likewise of the results. It nests, and gradients go through it. A function that draws random numbers is an error;
    randomness="different" draws for each entry, "same" gives all entries the same numbers."""
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"vmap: randomness is {randomness!r}; it is 'error', 'different' or 'same'")

    @functools.wraps(func)
    def call(*args, **kwargs):
        leaves, spec = tree_flatten(args)
        dims = _spread(tuple(in_dims) if isinstance(in_dims, list) else in_dims, args, "in_dims")
        if isinstance(in_dims, int):
            dims = [d if isinstance(t, Tensor) else None for d, t in zip(dims, leaves)]
        dims = [None if d is None else _checked(d, t, "in_dims") for d, t in zip(dims, leaves)]
        named, named_spec = tree_flatten(kwargs)  # keywords are mapped over dimension 0
        leaves, dims = leaves + named, dims + [0 if isinstance(t, Tensor) else None for t in named]
        sizes = {t.size(d) for t, d in zip(leaves, dims) if d is not None}
        if len(sizes) != 1:
            raise ValueError(f"vmap: the mapped dimensions are of {'different sizes' if sizes else 'no tensor'}: {sorted(sizes)}")
        (count,) = sizes
        if not count:
            raise ValueError("vmap: the mapped dimension is empty: there is no entry to call the function with")
        parts = [[t] * count if d is None else t.unbind(d) for t, d in zip(leaves, dims)]
        before = _dyadic.get_rng_state() if randomness != "different" else None
        rows, shape = [], None
        for i in range(count):
            if randomness == "same":
                _dyadic.set_rng_state(before)
            one = [p[i] for p in parts]
            at = len(one) - len(named)
            result = func(*tree_unflatten(one[:at], spec), **tree_unflatten(one[at:], named_spec))
            outputs, shape = tree_flatten(result)
            for y in outputs:
                if not isinstance(y, Tensor):
                    raise ValueError(f"vmap: the function returns tensors, not {type(y).__name__}")
            rows.append(outputs)
        if randomness == "error" and before.tolist() != _dyadic.get_rng_state().tolist():
            raise RuntimeError('vmap: the function draws random numbers: randomness="different" draws for each entry, "same" once for all')
        places = _spread(out_dims, result, "out_dims")
        columns = zip(zip(*rows), places)
        return tree_unflatten([column[0] if d is None else _dyadic.stack(column, d) for column, d in columns], shape)

    return call
