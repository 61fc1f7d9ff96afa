"""Functions that see all entries of a vmap, or each, in place of one that stands for all."""
from .. import _dyadic
from .._dyadic import Tensor
from .._levels import Info, Outside
from ..utils._pytree import tree_flatten, tree_unflatten


def by_rule(rule, args):
    """What rule(info, in_dims, *args), in PyTorch's way, makes of all entries: it gives (result, out_dims)."""
    leaves, spec = tree_flatten(args)
    with Outside() as level:
        dims = [0 if isinstance(x, Tensor) and level.holds(x) else None for x in leaves]
        whole = [x if d is None else level.leave(x, d) for x, d in zip(leaves, dims)]
        result, out_dims = rule(Info(level.count, level.randomness), tuple(tree_unflatten(dims, spec)), *tree_unflatten(whole, spec))
    outputs, shape = tree_flatten(result)
    places = spread(out_dims, result, "out_dims")
    return tree_unflatten([y if d is None else level.enter(y, d) for y, d in zip(outputs, places)], shape)


def per_entry(function, args):
    """function(*args) once for each entry, for what asks for values."""
    leaves, spec = tree_flatten(args)
    rows = []
    with Outside() as level:
        parts = [level.leave(x, 0).unbind(0) if isinstance(x, Tensor) and level.holds(x) else [x] * level.count for x in leaves]
        for i in range(level.count):
            outputs, shape = tree_flatten(function(*tree_unflatten([p[i] for p in parts], spec)))
            rows.append(outputs)
        if not rows:
            raise RuntimeError("vmap: an op without a rule for batches is called once per entry, and there is none")
        whole = [_dyadic.stack(column) for column in zip(*rows)]
    return tree_unflatten([level.enter(y, 0) for y in whole], shape)


def spread(dims, tree, who):
    """One entry of dims for each leaf of the tree: dims is a number, None, or a tree of them that the other one begins with."""
    if dims is None or isinstance(dims, int):
        return [dims] * len(tree_flatten(tree)[0])
    fits = type(dims) is type(tree) or isinstance(dims, (tuple, list)) and isinstance(tree, (tuple, list))
    if not fits or len(dims) != len(tree):
        raise ValueError(f"vmap: {who} does not look like what it is for: {dims!r}")
    pairs = [(dims[key], tree[key]) for key in tree] if isinstance(tree, dict) else zip(dims, tree)
    return [d for some, part in pairs for d in spread(some, part, who)]
