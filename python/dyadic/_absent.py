"""Names of PyTorch that programs import and that are not here. They exist, so that imports, annotations, isinstance and classes derived
from them work; whoever calls one gets one line that says which it is and why. _absent_names.py is the list, from which the
reference's "Differences from PyTorch" is made, too."""
import importlib.machinery
import sys

from ._absent_names import ABSENT

_OWN = __package__


def refusal(name, why):
    """What calling an absent name raises."""
    return NotImplementedError(f"{name}: it is not here: {why}")


class _Constant:
    """A word of an absent class, as in a default: ShardingStrategy.FULL_SHARD."""

    def __init__(self, name):
        self._name = name

    def __repr__(self):
        return self._name


class _AbsentType(type):
    def __getattr__(cls, name):
        if not name.isupper():
            raise AttributeError(f"type object '{cls.__name__}' has no attribute '{name}'")
        value = _Constant(f"{cls.__name__}.{name}")
        setattr(cls, name, value)
        return value


def _path(place):
    """The module as users see it: under PyTorch's name after as_torch()."""
    return f"{sys.modules[_OWN].__name__}.{place}".rstrip(".")


def _class(place, name, why):
    def __init__(self, *args, **kwargs):
        raise refusal(f"{place}.{name}".lstrip("."), why)

    return _AbsentType(name, (), {"__init__": __init__, "__module__": _path(place), "__doc__": f"Raises: not here: {why}."})


def _function(place, name, why):
    def absent(*args, **kwargs):
        raise refusal(f"{place}.{name}".lstrip("."), why)

    absent.__name__ = absent.__qualname__ = name
    absent.__module__, absent.__doc__ = _path(place), f"Raises: not here: {why}."
    return absent


def placeholder(place, name):
    """What stands for a name of the list; None for another."""
    why, names = ABSENT.get(place, ("", ""))
    if name not in names.split():
        return None
    return (_class if name.lstrip("_")[:1].isupper() else _function)(place, name, why)


def names_of(module, besides=None):
    """__getattr__ of a module that has some of its names in the list; besides(name): of others."""
    place = module.removeprefix("torch").removeprefix(_OWN).removeprefix(".")

    def __getattr__(name):
        found = placeholder(place, name)
        if found is None and f"{place}.{name}" in _PLACES:
            return importlib.import_module(f"{_OWN}.{place}.{name}")
        if found is None:
            if besides is not None:
                return besides(name)
            raise AttributeError(f"module '{module}' has no attribute '{name}'")
        setattr(sys.modules[f"{_OWN}.{place}"], name, found)
        return found

    return __getattr__


def _with_parents(places):
    """a.b.c and a.b."""
    for place in places:
        parts = place.split(".")
        yield from (".".join(parts[:n]) for n in range(1, len(parts) + 1))


_PLACES = frozenset(_with_parents(filter(None, ABSENT)))


class _Finder:
    """A finder and loader of modules of which there is no file. (importlib.abc, which it would derive from, takes 10 ms to import.)"""

    @classmethod
    def find_spec(cls, fullname, path=None, target=None):
        if fullname.startswith(f"{_OWN}.") and fullname.removeprefix(f"{_OWN}.") in _PLACES:
            return importlib.machinery.ModuleSpec(fullname, cls(), is_package=True)
        return None

    def create_module(self, spec):
        """A plain module."""

    def exec_module(self, module):
        place = module.__name__.removeprefix("torch").removeprefix(_OWN).removeprefix(".")
        module.__doc__ = f"Names of PyTorch that are not here: {ABSENT[place][0]}." if place in ABSENT else None
        module.__getattr__ = names_of(module.__name__)


def register():
    sys.meta_path.append(_Finder)  # behind the one that finds files
