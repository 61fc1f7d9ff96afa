"""Keys of leaves in nested structures: where in its node a child stands."""
from typing import Any, NamedTuple

KeyPath = tuple[Any, ...]



class SequenceKey(NamedTuple):
    idx: int

    def __str__(self):
        return f"[{self.idx!r}]"

    def get(self, node):
        return node[self.idx]


class MappingKey(NamedTuple):
    key: Any

    def __str__(self):
        return f"[{self.key!r}]"

    def get(self, node):
        return node[self.key]


class GetAttrKey(NamedTuple):
    name: str

    def __str__(self):
        return f".{self.name}"

    def get(self, node):
        return getattr(node, self.name)


def keystr(kp):
    """A key path as text: [0].weight['x']."""
    return "".join(map(str, kp))


def key_get(obj, kp):
    """The part of a tree at a key path."""
    for key in kp:
        obj = key.get(obj)
    return obj
