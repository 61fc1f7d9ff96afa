"""m.__dict__ of a module: its parts, arguments and attributes by name, as PyTorch's modules have them in one dict. What is made of it and
given back to it, by copy, pickle or by hand, is the whole module."""
from collections.abc import MutableMapping

from .._dyadic import Module, _begin_module, _has_begun, _Layer, _own_dict
from ._computed import COMPUTED, begin

_PARTS = ("training", "_parameters", "_buffers", "_non_persistent_buffers_set", "_modules")
_ARGUMENTS = "_layer_arguments"  # of a layer that is a record: all of them in order
_ABSENT = object()
_HIDDEN = "_parameter_objects"  # objects of parameters, kept alive


def _names(module):
    return (*_PARTS, *((_ARGUMENTS,) if isinstance(module, _Layer) else ()), *module._argument_names)


def _read(module, name):
    return module._arguments() if name == _ARGUMENTS else getattr(module, name, _ABSENT)  # an argument that was not given


def _write(module, name, value):
    if name == _ARGUMENTS:
        for i, argument in enumerate(value):
            if argument is not None:
                module._set_argument(i, argument)
    elif name in _PARTS or value is not None:
        setattr(module, name, value)


class Namespace(MutableMapping):
    """A view: what is changed here is changed in the module. copy() and states are plain dicts."""

    __slots__ = ("_module",)

    def __init__(self, module):
        self._module = module

    def _own(self):
        """What stands in the instance itself, without the children that are registered."""
        own = _own_dict(self._module)
        if not _has_begun(self._module):
            return own
        children = {name: m for name, m in self._module._module_entries() if name in own}
        return {name: v for name, v in own.items() if name != _HIDDEN and (name not in children or v is not children[name])}

    def __getitem__(self, name):
        own = self._own()
        if name in own or name not in _names(self._module) or not _has_begun(self._module):
            return own[name]
        value = _read(self._module, name)
        if value is _ABSENT:
            raise KeyError(name)
        return value

    def __setitem__(self, name, value):
        m = self._module
        if name in _names(m):
            _begin_module(m)
            _write(m, name, value)
        elif name == COMPUTED:
            for parameter, entry in value.items():
                begin(m, parameter, entry)
        else:
            _own_dict(m)[name] = value
            if name == "_forward_hooks":
                _begin_module(m)
                m._watch()

    def __delitem__(self, name):
        if name not in self._own():
            raise KeyError(name)
        del _own_dict(self._module)[name]

    def __iter__(self):
        return iter(self.copy())

    def __len__(self):
        return len(self.copy())

    def items(self):
        return self.copy().items()

    def values(self):
        return self.copy().values()

    def update(self, *args, **kwargs):
        """Takes entries over, those of which others depend first."""
        given = dict(*(a.copy() if isinstance(a, Namespace) else a for a in args), **kwargs)
        if _ARGUMENTS in given:  # all are in it
            given = {_ARGUMENTS: given[_ARGUMENTS], **{k: v for k, v in given.items() if k not in self._module._argument_names}}
        for name in sorted(given, key=lambda name: _PARTS.index(name) if name in _PARTS else len(_PARTS) if name == COMPUTED else -1):
            self[name] = given[name]

    def replace(self, values):
        """m.__dict__ = values: attributes that values lacks are gone, parts that it lacks stay."""
        values = dict(values.items())
        for name in self._own():
            if name not in values:
                del _own_dict(self._module)[name]
        self.update(values)

    def copy(self):
        """A dict of the entries."""
        own = self._own()
        if not _has_begun(self._module):
            return dict(own)
        others = {name: _read(self._module, name) for name in _names(self._module) if name not in own}
        return {**{name: v for name, v in others.items() if v is not _ABSENT}, **own}

    __copy__ = copy

    def __or__(self, other):
        return self.copy() | dict(other)

    def __repr__(self):
        return repr(self.copy())

    def __reduce_ex__(self, protocol):
        return dict, (self.copy(),)


Module._argument_names = ()
