"""Sizes for each dimension, from one number or as given."""
from collections.abc import Iterable

__all__ = ["consume_prefix_in_state_dict_if_present"]


def _ntuple(n, name="parse"):
    def parse(x):
        return tuple(x) if isinstance(x, Iterable) else (x,) * n

    parse.__name__ = name
    return parse


_single, _pair, _triple, _quadruple = (_ntuple(n, name) for n, name in enumerate(("_single", "_pair", "_triple", "_quadruple"), 1))


def _reverse_repeat_tuple(t, n):
    """Every element n times, the last one first: what F.pad takes of sizes by dimension."""
    return tuple(x for x in reversed(t) for _ in range(n))


def consume_prefix_in_state_dict_if_present(state_dict, prefix):
    """Takes a prefix ("module.") off the keys of a state, in place."""
    for key in [key for key in state_dict if key.startswith(prefix)]:
        state_dict[key[len(prefix) :]] = state_dict.pop(key)
    about = getattr(state_dict, "_metadata", {})
    for key in [key for key in about if key == prefix.rstrip(".") or key.startswith(prefix)]:
        about[key[len(prefix) :]] = about.pop(key)
