"""Modules and parameters by name or number, and the module that does nothing."""
import operator
from collections import OrderedDict
from collections.abc import Iterable, Mapping

from .._dyadic import Module, ModuleList, Parameter, Sequential, Tensor, _own_dict
from .._ignored import ignored as _ignored

__all__ = ["Identity", "ModuleDict", "ParameterDict", "ParameterList"]


class Identity(Module):
    """Gives back its input, whatever it was made with."""

    @_ignored("args", "kwargs", why="it gives back its input, whatever it was made with")
    def __init__(self, *args, **kwargs):
        super().__init__()

    def forward(self, input):
        return input


def _at(self, i, n):
    if not -n <= i < n:
        raise IndexError(f"{type(self).__name__}: {i} is out of range: there are {n} modules")
    return i % n


def _each(self, entries, what):
    """entries as a list, which is made before self changes."""
    try:
        return list(entries)
    except TypeError:
        raise TypeError(f"{type(self).__name__}.{what}: it takes several of what it holds, not {type(entries).__name__}") from None


class _Numbered:
    """What Sequential and ModuleList have beside what C++ gives them. Names are the numbers: whatever moves is registered anew."""

    def _set_all(self, modules):
        for name, _ in self._module_entries():
            delattr(self, name)
        for i, m in enumerate(modules):
            self.add_module(str(i), m)

    def _name(self, i):
        return self._module_entries()[_at(self, operator.index(i), len(self))][0]

    def __getitem__(self, i):
        if isinstance(i, slice):
            made = type(self)()
            for k, (name, m) in enumerate(self._module_entries()[i]):
                made.add_module(str(k) if isinstance(made, ModuleList) else name, m)
            return made
        return getattr(self, self._name(i))

    def __setitem__(self, i, module):
        setattr(self, self._name(i), module)

    def __delitem__(self, i):
        left = list(self)
        if not isinstance(i, slice):
            i = _at(self, operator.index(i), len(self))
        del left[i]
        self._set_all(left)

    def append(self, module):
        """Puts a module behind the others."""
        self.add_module(str(len(self)), module)
        return self

    def insert(self, index, module):
        """Puts a module before the one at index."""
        modules = list(self)
        if not -len(modules) <= index <= len(modules):
            raise IndexError(f"{type(self).__name__}.insert: {index} is out of range: there are {len(modules)} modules")
        if not isinstance(module, Module):
            raise TypeError(f"{type(self).__name__}.insert: it takes a module, not {type(module).__name__}")
        modules.insert(index, module)
        self._set_all(modules)
        return self

    def pop(self, key=-1):
        """Takes the module at key out and returns it."""
        module = self[key]
        del self[key]
        return module

    def extend(self, modules):
        """Appends modules."""
        for m in _each(self, modules, "extend"):
            self.append(m)
        return self

    def __iadd__(self, modules):
        return self.extend(modules)

    def __add__(self, others):
        return type(self)().extend(self).extend(others)

    def __mul__(self, n):
        if not isinstance(n, int):
            return NotImplemented
        return type(self)().extend(self)._repeat(n)

    __rmul__ = __mul__

    def __imul__(self, n):
        return self._repeat(n) if isinstance(n, int) else NotImplemented

    def _repeat(self, n):
        if n <= 0:
            raise ValueError(f"{type(self).__name__}: modules are repeated at least once: the factor is {n}")
        return self.extend(list(self) * (n - 1))


for _name, _method in vars(_Numbered).items():
    if callable(_method):
        setattr(Sequential, _name, _method)
        setattr(ModuleList, _name, _method)


class _Named(Module):
    """A dict whose values are attributes, so that they are registered."""

    def __init__(self, values=None):
        super().__init__()
        if values is not None:
            self.update(values)

    def __setitem__(self, key, value):
        if key not in self._keys:
            if hasattr(type(self), key):
                raise KeyError(f"{type(self).__name__}: {key} is the name of a method")
            self._keys.append(key)
        setattr(self, key, value)

    def __getitem__(self, key):
        if key not in self._keys:
            raise KeyError(key)
        return getattr(self, key)

    def __delitem__(self, key):
        if key not in self._keys:
            raise KeyError(key)
        self._keys.remove(key)
        delattr(self, key)

    def __len__(self):
        return len(self._keys)

    def __iter__(self):
        return iter(list(self._keys))

    def __contains__(self, key):
        return key in self._keys

    def _dict(self):
        return {key: getattr(self, key) for key in self._keys}

    def keys(self):
        return self._dict().keys()

    def values(self):
        return self._dict().values()

    def items(self):
        return self._dict().items()

    def update(self, values):
        for key, value in values.items() if hasattr(values, "items") else values:
            self[key] = value

    def __reversed__(self):
        return reversed(self._keys)

    def pop(self, key):
        value = self[key]
        del self[key]
        return value

    def get(self, key, default=None):
        return self[key] if key in self else default

    def setdefault(self, key, default=None):
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self):
        for key in list(self._keys):
            del self[key]


class ModuleDict(_Named):
    """Modules by name: every one that it has."""

    def __init__(self, modules=None):
        super().__init__(modules)

    @property
    def _keys(self):
        return [name for name, _ in self._module_entries()]

    def __setitem__(self, key, module):
        self.add_module(key, module)

    def __delitem__(self, key):
        del self._modules[key]

    def update(self, modules):
        """Adds the modules of a dict or pairs."""
        if not isinstance(modules, Iterable):
            raise TypeError(f"ModuleDict.update: it takes a dict or pairs of names and modules, not {type(modules).__name__}")
        super().update(modules)


def _parameter(value):
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


def _shown(name, value, by_type):
    if not isinstance(value, Tensor):
        return f"({name}): Object of type: {type(value).__name__}"
    sizes = "x".join(map(str, value.shape))
    return f"({name}): Parameter containing: [{value.type() if by_type else value.dtype} of size {sizes}]"


def _repr_of(self, entries, by_type=False):
    """Every entry by its kind and size; those that are modules also as children."""
    lines = [f"    {_shown(name, value, by_type)}" for name, value in entries]
    lines += [f"  ({name}): " + repr(m).replace("\n", "\n  ") for name, m in self._own_children()]
    text = "\n".join(lines)
    return f"{type(self).__name__}(\n{text}\n)" if lines else f"{type(self).__name__}()"


class ParameterDict(_Named):
    """Parameters by name. Tensors become parameters. A plain dict is taken in the order of its keys, an OrderedDict in its own."""

    def __init__(self, parameters=None):
        _own_dict(self)["_keys"] = []
        super().__init__(parameters)

    def update(self, values):
        """Adds the entries of a dict or pairs."""
        if isinstance(values, Mapping) and not isinstance(values, OrderedDict):
            values = sorted(values.items())
        super().update(values)

    def __setitem__(self, key, value):
        super().__setitem__(key, _parameter(value))

    def __repr__(self):
        return _repr_of(self, self.items(), by_type=True)

    def __or__(self, other):
        made = self.copy()
        made.update(other)
        return made

    def __ior__(self, other):
        self.update(other)
        return self

    def copy(self):
        """Another one with the same parameters."""
        return ParameterDict(self.items())

    def fromkeys(self, keys, default=None):
        """One with these keys, each with the default."""
        return ParameterDict((key, default) for key in keys)

    def popitem(self):
        """Takes the last entry out: (key, parameter)."""
        key = self._keys[-1]
        return key, self.pop(key)


class ParameterList(Module):
    """Parameters by number. Tensors become parameters."""

    def __init__(self, values=None):
        super().__init__()
        _own_dict(self)["_count"] = 0
        self.extend(values or [])

    def append(self, value):
        """Adds a parameter; a tensor becomes one."""
        setattr(self, str(self._count), _parameter(value))
        _own_dict(self)["_count"] += 1
        return self

    def extend(self, values):
        """Appends parameters."""
        if isinstance(values, Tensor):
            raise TypeError("ParameterList.extend: it takes several parameters, not a Tensor; append takes one")
        for value in _each(self, values, "extend"):
            self.append(value)
        return self

    __iadd__ = extend

    def __repr__(self):
        return _repr_of(self, enumerate(self))

    def _at(self, i):
        if not -self._count <= i < self._count:
            raise IndexError(f"ParameterList: {i} is out of range: there are {self._count} parameters")
        return str(i % self._count)

    def __getitem__(self, i):
        if isinstance(i, slice):
            return ParameterList([self[k] for k in range(*i.indices(self._count))])
        return getattr(self, self._at(i))

    def __setitem__(self, i, value):
        setattr(self, self._at(i), _parameter(value))

    def __len__(self):
        return self._count

    def __iter__(self):
        return (self[i] for i in range(self._count))
