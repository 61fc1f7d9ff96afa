"""Modules and parameters by name or number, and the module that does nothing."""
from .._dyadic import Module

__all__ = ["Identity", "ModuleDict", "ParameterDict", "ParameterList"]


class Identity(Module):
    """Gives back its input, whatever it was made with."""

    def __init__(self, *args, **kwargs):
        super().__init__()

    def forward(self, x):
        return x


class _Named(Module):
    """A dict whose values are attributes, so that they are registered."""

    def __init__(self, values=None):
        super().__init__()
        self.__dict__["_keys"] = []
        self.update(values or {})

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

    def keys(self):
        return list(self._keys)

    def values(self):
        return [self[key] for key in self._keys]

    def items(self):
        return [(key, self[key]) for key in self._keys]

    def update(self, values):
        for key, value in values.items() if hasattr(values, "items") else values:
            self[key] = value

    def pop(self, key):
        value = self[key]
        del self[key]
        return value

    def clear(self):
        for key in list(self._keys):
            del self[key]


class ModuleDict(_Named):
    """Modules by name."""


class ParameterDict(_Named):
    """Parameters by name."""


class ParameterList(Module):
    """Parameters by number."""

    def __init__(self, values=None):
        super().__init__()
        self.__dict__["_count"] = 0
        self.extend(values or [])

    def append(self, value):
        setattr(self, str(self._count), value)
        self.__dict__["_count"] += 1
        return self

    def extend(self, values):
        for value in values:
            self.append(value)
        return self

    def _at(self, i):
        if not -self._count <= i < self._count:
            raise IndexError(f"ParameterList: {i} is out of range: there are {self._count} parameters")
        return str(i % self._count)

    def __getitem__(self, i):
        if isinstance(i, slice):
            return ParameterList([self[k] for k in range(*i.indices(self._count))])
        return getattr(self, self._at(i))

    def __setitem__(self, i, value):
        setattr(self, self._at(i), value)

    def __len__(self):
        return self._count

    def __iter__(self):
        return (self[i] for i in range(self._count))
