"""Nested tuples, lists and dicts as their leaves in order, and back."""
from collections import OrderedDict, defaultdict, namedtuple

TreeSpec = namedtuple("TreeSpec", ["type", "context", "children_specs"])  # of a leaf all are None
_LEAF = TreeSpec(None, None, ())


def _children(tree):
    """(what makes it again, its parts); None of a leaf."""
    if isinstance(tree, (dict, OrderedDict, defaultdict)):
        return list(tree), list(tree.values())
    if isinstance(tree, (tuple, list)):
        return None, list(tree)
    return None


def tree_flatten(tree):
    """(leaves, spec)"""
    parts = _children(tree)
    if parts is None:
        return [tree], _LEAF
    leaves, specs = [], []
    for part in parts[1]:
        some, spec = tree_flatten(part)
        leaves += some
        specs.append(spec)
    return leaves, TreeSpec(type(tree), parts[0], tuple(specs))


def tree_unflatten(leaves, spec):
    """The tree that tree_flatten took apart."""
    return _build(iter(leaves), spec)


def _build(leaves, spec):
    if spec.type is None:
        return next(leaves)
    parts = [_build(leaves, child) for child in spec.children_specs]
    if spec.context is not None:
        made = dict(zip(spec.context, parts))
        return made if spec.type in (dict, defaultdict) else spec.type(made)
    return spec.type(*parts) if hasattr(spec.type, "_fields") else spec.type(parts)


def tree_leaves(tree):
    return tree_flatten(tree)[0]


def tree_map(func, tree, *rests):
    """func of each leaf, and of the leaves at its place in the other trees."""
    leaves, spec = tree_flatten(tree)
    return tree_unflatten([func(*some) for some in zip(leaves, *(tree_leaves(rest) for rest in rests))], spec)


def tree_map_only(kind, func, tree):
    """tree_map of the leaves of a type; the others stay."""
    return tree_map(lambda leaf: func(leaf) if isinstance(leaf, kind) else leaf, tree)
