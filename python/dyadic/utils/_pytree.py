"""Nested tuples, lists, dicts and whatever is registered, as their leaves in order, and back."""
import dataclasses
from collections import OrderedDict, defaultdict, deque, namedtuple
from typing import Any, NamedTuple

from ._pytree_keys import GetAttrKey, KeyPath, MappingKey, SequenceKey, key_get, keystr  # noqa: F401

PyTree, Context = Any, Any


class NodeDef(NamedTuple):
    """How a kind of node is taken apart and put together."""

    type: type
    flatten_fn: Any  # node -> (children, context)
    unflatten_fn: Any  # (children, context) -> node
    flatten_with_keys_fn: Any = None  # node -> ([(key, child)], context)


@dataclasses.dataclass(frozen=True)
class TreeSpec:
    """What a tree is without its leaves: the kind of its root, what its kind keeps, and the specs of its children. Of a leaf the kind is
    None."""

    type: Any
    context: Any
    children_specs: tuple = ()
    num_nodes: int = dataclasses.field(init=False, compare=False, repr=False)
    num_leaves: int = dataclasses.field(init=False, compare=False, repr=False)
    num_children: int = dataclasses.field(init=False, compare=False, repr=False)

    def __post_init__(self):
        object.__setattr__(self, "children_specs", tuple(self.children_specs))
        object.__setattr__(self, "num_nodes", 1 + sum(c.num_nodes for c in self.children_specs))
        object.__setattr__(self, "num_leaves", 1 if self.type is None else sum(c.num_leaves for c in self.children_specs))
        object.__setattr__(self, "num_children", len(self.children_specs))

    def __repr__(self):
        if self.type is None:
            return "*"
        return f"TreeSpec({self.type.__name__}, {self.context!r}, [{', '.join(map(repr, self.children_specs))}])"

    def is_leaf(self):
        """Whether the tree is a leaf."""
        return self.type is None

    def children(self):
        """The specs of the children."""
        return list(self.children_specs)

    def child(self, index):
        """The spec of one child."""
        return self.children_specs[index]

    def flatten_up_to(self, tree):
        """The parts of another tree that stand where this one has leaves."""
        if self.type is None:
            return [tree]
        found = _node(tree)
        if found is None or found.type is not self.type:
            raise ValueError(f"flatten_up_to: the trees differ: a {type(tree).__name__} stands where {self.type.__name__} is wanted")
        if isinstance(tree, dict) and tree.keys() == set(self._keys()):  # in whatever order
            return [part for spec, key in zip(self.children_specs, self._keys()) for part in spec.flatten_up_to(tree[key])]
        children, context = found.flatten_fn(tree)
        children = list(children)
        if len(children) != self.num_children or (context != self.context and self.type is not deque):
            raise ValueError(f"flatten_up_to: the trees differ: {self.type.__name__} has {context!r}, {self.context!r} is wanted")
        return [part for spec, child in zip(self.children_specs, children) for part in spec.flatten_up_to(child)]

    def _keys(self):
        return self.context[1] if self.type is defaultdict else self.context

    def unflatten(self, leaves):
        """tree_unflatten."""
        return tree_unflatten(leaves, self)

    def __hash__(self):
        return hash((self.type, repr(self.context), self.children_specs))


class LeafSpec(TreeSpec):
    """The spec of a leaf."""

    def __init__(self):
        TreeSpec.__init__(self, None, None, ())

    def __repr__(self):
        return "*"

    def __eq__(self, other):
        return isinstance(other, TreeSpec) and other.type is None

    __hash__ = TreeSpec.__hash__


_LEAF = LeafSpec()


# The kinds that are known.

SUPPORTED_NODES, SUPPORTED_SERIALIZED_TYPES, CONSTANT_NODES = {}, {}, set()


def register_pytree_node(
    cls, flatten_fn, unflatten_fn, *, serialized_type_name=None, to_dumpable_context=None, from_dumpable_context=None, flatten_with_keys_fn=None
):
    """Objects of cls are nodes from now on: flatten_fn(node) is (children, context), unflatten_fn(children, context) the node again,
    flatten_with_keys_fn(node) ([(key, child)], context). The other arguments are of specs that are written as text: a name, and
    functions that make a context plain data and back."""
    if cls in SUPPORTED_NODES:
        raise ValueError(f"register_pytree_node: {cls.__name__} is registered already")
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)
    if serialized_type_name is not None:
        SUPPORTED_SERIALIZED_TYPES[cls] = (serialized_type_name, to_dumpable_context, from_dumpable_context)


_register_pytree_node = register_pytree_node


def register_dataclass(cls, *, field_names=None, drop_field_names=None, serialized_type_name=None):
    """Objects of a dataclass are nodes: fields that are not None are children."""
    names = list(field_names or (f.name for f in dataclasses.fields(cls) if f.init))
    names = [name for name in names if name not in (drop_field_names or ())]

    def flatten(node):
        there = [name for name in names if getattr(node, name) is not None]
        return [getattr(node, name) for name in there], [there, [name for name in names if name not in there]]

    def with_keys(node):
        children, context = flatten(node)
        return [(GetAttrKey(name), child) for name, child in zip(context[0], children)], context

    def unflatten(children, context):
        return cls(**dict(zip(context[0], children)), **dict.fromkeys(context[1]))

    register_pytree_node(cls, flatten, unflatten, serialized_type_name=serialized_type_name, flatten_with_keys_fn=with_keys)


def register_constant(cls):
    """Objects of cls are nodes without children: the object itself is what their spec keeps."""
    CONSTANT_NODES.add(cls)
    register_pytree_node(cls, lambda node: ([], node), lambda children, context: context, flatten_with_keys_fn=lambda node: ([], node))


def _deregister_pytree_node(cls):
    del SUPPORTED_NODES[cls]
    SUPPORTED_SERIALIZED_TYPES.pop(cls, None)
    CONSTANT_NODES.discard(cls)


def _dict_flatten(d):
    return list(d.values()), list(d)


def _dict_unflatten(values, context):
    return dict(zip(context, values))


def _dict_flatten_with_keys(d):
    return [(MappingKey(key), value) for key, value in d.items()], list(d)


def _list_flatten(d):
    return list(d), None


def _sequence_with_keys(d):
    return [(SequenceKey(i), value) for i, value in enumerate(d)], None


class _Results:
    """The kind of an op's several results, whose classes are Python's struct sequences."""


def _register_own():
    register = register_pytree_node
    register(tuple, _list_flatten, lambda v, _: tuple(v), serialized_type_name="builtins.tuple", flatten_with_keys_fn=_sequence_with_keys)
    register(list, _list_flatten, lambda v, _: list(v), serialized_type_name="builtins.list", flatten_with_keys_fn=_sequence_with_keys)
    register(dict, _dict_flatten, _dict_unflatten, serialized_type_name="builtins.dict", flatten_with_keys_fn=_dict_flatten_with_keys)
    register(
        OrderedDict,
        _dict_flatten,
        lambda values, keys: OrderedDict(zip(keys, values)),
        serialized_type_name="collections.OrderedDict",
        flatten_with_keys_fn=_dict_flatten_with_keys,
    )
    register(
        namedtuple,
        lambda d: (list(d), type(d)),
        lambda v, cls: cls(*v),
        flatten_with_keys_fn=lambda d: ([(GetAttrKey(f), getattr(d, f)) for f in d._fields], type(d)),
    )
    register(
        _Results,
        lambda d: (list(d), type(d)),
        lambda v, cls: cls(v),
        flatten_with_keys_fn=lambda d: (_sequence_with_keys(d)[0], type(d)),
    )
    register(
        defaultdict,
        lambda d: (list(d.values()), [d.default_factory, list(d)]),
        lambda values, context: defaultdict(context[0], zip(context[1], values)),
        flatten_with_keys_fn=lambda d: (_dict_flatten_with_keys(d)[0], [d.default_factory, list(d)]),
    )
    register(
        deque,
        lambda d: (list(d), d.maxlen),
        lambda values, maxlen: deque(values, maxlen),
        flatten_with_keys_fn=lambda d: (_sequence_with_keys(d)[0], d.maxlen),
    )


_register_own()


def is_namedtuple_class(cls):
    """Whether it is a class of named tuples."""
    return isinstance(cls, type) and issubclass(cls, tuple) and isinstance(getattr(cls, "_fields", None), tuple)


def _is_namedtuple_instance(tree):
    return is_namedtuple_class(type(tree))


def _get_node_type(tree):
    """Its type; of named tuples that are not registered namedtuple, and of an op's several results a name for these."""
    kind = type(tree)
    if kind in SUPPORTED_NODES or not isinstance(tree, tuple):
        return kind
    return namedtuple if is_namedtuple_class(kind) else _Results if kind.__module__.endswith(".return_types") else kind


def _node(tree):
    """How a node is taken apart; None of a leaf."""
    return SUPPORTED_NODES.get(_get_node_type(tree))


def _is_leaf(tree, is_leaf=None):
    return is_leaf is not None and is_leaf(tree) or _node(tree) is None


tree_is_leaf = _is_leaf


# Trees and their leaves.


def _flatten(tree, is_leaf, leaves):
    if is_leaf is not None and is_leaf(tree) or (kind := _node(tree)) is None:
        leaves.append(tree)
        return _LEAF
    children, context = kind.flatten_fn(tree)
    return TreeSpec(kind.type, context, tuple(_flatten(child, is_leaf, leaves) for child in children))


def tree_flatten(tree, is_leaf=None):
    """(leaves, spec) of a tree. is_leaf(part): whether a part is not looked into."""
    leaves = []
    return leaves, _flatten(tree, is_leaf, leaves)


def tree_unflatten(leaves, treespec):
    """The tree that tree_flatten took apart, of other leaves."""
    leaves = list(leaves)
    if len(leaves) != treespec.num_leaves:
        raise ValueError(f"tree_unflatten: {len(leaves)} leaves are given, the spec has {treespec.num_leaves}")
    return _build(iter(leaves), treespec)


def _build(leaves, spec):
    if spec.type is None:
        return next(leaves)
    return SUPPORTED_NODES[spec.type].unflatten_fn([_build(leaves, child) for child in spec.children_specs], spec.context)


def tree_iter(tree, is_leaf=None):
    """The leaves, one by one."""
    yield from tree_flatten(tree, is_leaf)[0]


def tree_leaves(tree, is_leaf=None):
    """The leaves."""
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree, is_leaf=None):
    """The spec."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func, tree, *rests, is_leaf=None):
    """func of each leaf, and of what stands at its place in the other trees."""
    leaves, spec = tree_flatten(tree, is_leaf)
    return tree_unflatten([func(*some) for some in zip(leaves, *(spec.flatten_up_to(rest) for rest in rests))], spec)


def tree_map_(func, tree, *rests, is_leaf=None):
    """tree_map for what func does: the tree itself."""
    leaves, spec = tree_flatten(tree, is_leaf)
    for some in zip(leaves, *(spec.flatten_up_to(rest) for rest in rests)):
        func(*some)
    return tree


def _is_of(kind):
    if isinstance(kind, (type, tuple)):
        return lambda leaf: isinstance(leaf, kind)
    return kind if callable(kind) and not hasattr(kind, "__args__") else lambda leaf: isinstance(leaf, kind)


def map_only(type_or_types_or_pred, /):
    """A decorator: the function, of leaves of a type, or for which a function says so; the others stay."""
    chosen = _is_of(type_or_types_or_pred)
    return lambda func: lambda leaf: func(leaf) if chosen(leaf) else leaf


def tree_map_only(type_or_types_or_pred, /, func, tree, is_leaf=None):
    """tree_map of the leaves of a type, or for which a function says so; the others stay."""
    return tree_map(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_map_only_(type_or_types_or_pred, /, func, tree, is_leaf=None):
    """tree_map_ of the leaves of a type, or for which a function says so."""
    return tree_map_(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_all(pred, tree, is_leaf=None):
    """Whether pred holds for all leaves."""
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred, tree, is_leaf=None):
    """Whether pred holds for a leaf."""
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(type_or_types, /, pred, tree, is_leaf=None):
    """Whether pred holds for all leaves of a type."""
    return all(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def tree_any_only(type_or_types, /, pred, tree, is_leaf=None):
    """Whether pred holds for a leaf of a type."""
    return any(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def _broadcast_to_and_flatten(tree, treespec, is_leaf=None):
    """The leaves of a tree, each as often as the spec has leaves in its place; None where the trees differ."""
    if is_leaf is not None and is_leaf(tree) or (kind := _node(tree)) is None:
        return [tree] * treespec.num_leaves
    if treespec.type is not kind.type:
        return None
    children, context = kind.flatten_fn(tree)
    children = list(children)
    if len(children) != treespec.num_children or context != treespec.context:
        return None
    parts = [_broadcast_to_and_flatten(c, s, is_leaf) for c, s in zip(children, treespec.children_specs)]
    return None if None in parts else [leaf for part in parts for leaf in part]


# Leaves with the ways to them.


def _with_paths(tree, is_leaf, path):
    kind = None if is_leaf is not None and is_leaf(tree) else _node(tree)
    if kind is None:
        yield path, tree
        return
    if kind.flatten_with_keys_fn is None:
        raise ValueError(f"tree_flatten_with_path: {kind.type.__name__} is registered without flatten_with_keys_fn")
    for key, child in kind.flatten_with_keys_fn(tree)[0]:
        yield from _with_paths(child, is_leaf, (*path, key))


def tree_flatten_with_path(tree, is_leaf=None):
    """([(key path, leaf)], spec)"""
    return list(_with_paths(tree, is_leaf, ())), tree_structure(tree, is_leaf)


def tree_leaves_with_path(tree, is_leaf=None):
    """[(key path, leaf)]"""
    return list(_with_paths(tree, is_leaf, ()))


def tree_map_with_path(func, tree, *rests, is_leaf=None):
    """tree_map of functions that take the key path first."""
    pairs, spec = tree_flatten_with_path(tree, is_leaf)
    others = [spec.flatten_up_to(rest) for rest in rests]
    return tree_unflatten([func(path, leaf, *some) for (path, leaf), *some in zip(pairs, *others)], spec)
