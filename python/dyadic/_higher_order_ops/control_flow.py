"""cond, while_loop, scan, associative_scan and map over trees of tensors."""
from ..utils._pytree import tree_flatten, tree_leaves, tree_map, tree_unflatten
from .._dyadic import stack


def cond(pred, true_fn, false_fn, operands=()):
    """true_fn(*operands) if pred holds, a bool or a tensor of one element, else false_fn(*operands)."""
    return (true_fn if bool(pred) else false_fn)(*operands)


def while_loop(cond_fn, body_fn, carried_inputs):
    """carried = body_fn(*carried) while cond_fn(*carried) holds; the carried values as a tuple."""
    carried = tuple(carried_inputs)
    while bool(cond_fn(*carried)):
        made = body_fn(*carried)
        carried = tuple(made) if isinstance(made, (tuple, list)) else (made,)
    return carried


def _slices(xs, dim, reverse):
    """The slices of all leaves along dim, one tree after the other."""
    leaves, spec = tree_flatten(xs)
    if not leaves:
        raise ValueError("scan: there is nothing to go through: xs has no tensors")
    sizes = {x.size(dim) for x in leaves}
    if len(sizes) != 1:
        raise ValueError(f"scan: the leaves of xs differ in size along dimension {dim}: {sorted(sizes)}")
    order = range(sizes.pop())
    for i in reversed(order) if reverse else order:
        yield tree_unflatten([x.select(dim, i) for x in leaves], spec)


def _stacked(rows, dim):
    return tree_map(lambda *some: stack(some, dim), rows[0], *rows[1:])


def scan(combine_fn, init, xs, *, dim=0, reverse=False):
    """(last carry, results stacked along dim 0): carry, y = combine_fn(carry, x) for the slices x of xs along dim, from the last one on
    with reverse."""
    carry, rows = init, []
    for x in _slices(xs, dim, reverse):
        carry, y = combine_fn(carry, x)
        rows.append(y)
    rows = rows[::-1] if reverse else rows
    return carry, _stacked(rows, 0) if rows else ()


def associative_scan(combine_fn, xs, dim, reverse=False, combine_mode="pointwise"):
    """Running results of combine_fn(a, b) along dim: xs[0], combine(xs[0], xs[1]) ..., from the last one on with reverse."""
    if combine_mode not in ("pointwise", "generic"):
        raise ValueError(f'associative_scan: combine_mode is "pointwise" or "generic", not "{combine_mode}"')
    rows = []
    for x in _slices(xs, dim, reverse):
        rows.append(combine_fn(rows[-1], x) if rows else x)
    return _stacked(rows[::-1] if reverse else rows, dim)


def map(f, xs, *args):
    """f(x, *args) for the slices x of xs along dimension 0, stacked."""
    rows = [f(x, *args) for x in _slices(xs, 0, False)]
    return _stacked(rows, 0) if tree_leaves(rows[0]) else rows[0]
