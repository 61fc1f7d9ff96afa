"""Methods of Module that need no C++: parts by their dotted names, PyTorch's words for places and types."""
from collections.abc import KeysView, MutableMapping

from .._dyadic import Embedding, LayerNorm, Linear, Module, Parameter, empty_like
from ..autograd import no_grad
from ._begin import replace_init
from ._state import _ARGUMENTS, _library_class


def _get_submodule(self, target):
    """The module of a dotted name: "encoder.layers.0"; "" is self."""
    m = self
    for name in target.split(".") if target else ():
        part = getattr(m, name, None)
        if not isinstance(part, Module):
            raise AttributeError(f'get_submodule: {type(m).__name__} has no module "{name}": the target is "{target}"')
        m = part
    return m


def _find(self, target, names, what):
    path, _, name = target.rpartition(".")
    m = _get_submodule(self, path)
    if name not in {n for n, _ in names(m)}:
        raise AttributeError(f'get_{what}: {type(m).__name__} has no {what} "{name}": the target is "{target}"')
    return getattr(m, name)


def _get_parameter(self, target):
    """The parameter of a dotted name."""
    return _find(self, target, lambda m: m.named_parameters(recurse=False), "parameter")


def _get_buffer(self, target):
    """The buffer of a dotted name."""
    return _find(self, target, lambda m: m.named_buffers(recurse=False), "buffer")


def _set_submodule(self, target, module, strict=False):
    """Puts a module in the place of a dotted name; strict: where one is already."""
    path, _, name = target.rpartition(".")
    m = _get_submodule(self, path)
    if strict:
        _get_submodule(m, name)
    m.add_module(name, module)


def _to_empty(self, *, device, recurse=True):
    """Parameters and buffers on a device, uninitialized: what a module made on meta needs before it is filled."""
    fresh = {}  # of shared ones, one
    for m in self.modules() if recurse else [self]:
        for name, p in m._own_parameters():
            if id(p) not in fresh:
                fresh[id(p)] = p, Parameter(empty_like(p.detach(), device=device), p.requires_grad)
            setattr(m, name, fresh[id(p)][1])
        for name, b, persistent in m._own_buffers():
            m.register_buffer(name, empty_like(b, device=device), persistent)
    return self


def _cpu(self):
    """Parameters and buffers on the CPU, gradients with them."""
    return self.to("cpu")


def _cuda(self, device=None):
    """Parameters and buffers on a device of the kind cuda, gradients with them."""
    return self.to("cuda" if device is None else f"cuda:{device}" if isinstance(device, int) else device)


def _type(self, dst_type):
    """Converts the floating-point parameters and buffers."""
    return self.to(dst_type)


Module.get_submodule, Module.get_parameter, Module.get_buffer = _get_submodule, _get_parameter, _get_buffer
Module.set_submodule, Module.to_empty = _set_submodule, _to_empty
Module.cpu, Module.cuda, Module.type = _cpu, _cuda, _type


def _own_children(self):
    """[(name, module)] of this module alone, a shared one under every name."""
    return [(name, m) for name, m in self._module_entries() if m is not None]


def _named_children(self):
    """(name, module) of this module alone, a shared one once."""
    seen = set()
    for name, m in self._own_children():
        if id(m) not in seen:
            seen.add(id(m))
            yield name, m


def _children(self):
    """The modules of this module alone, a shared one once."""
    return (m for _, m in self.named_children())


def _apply(self, fn):
    """Calls fn on every module of the tree, children first."""
    for m in self.children():
        m.apply(fn)
    fn(self)
    return self


Module._own_children, Module.named_children, Module.children, Module.apply = _own_children, _named_children, _children, _apply


def _register_module(self, name, module):
    """add_module."""
    self.add_module(name, module)


Module.register_module = _register_module


def _reset_parameters(self):
    """Fresh values, as a new layer has them."""
    made = _library_class(type(self))
    fresh = made(*_ARGUMENTS[made](self), dtype=self.weight.dtype) if self.weight is not None else self
    with no_grad():
        for (_, mine), (_, new) in zip(self._own_parameters(), fresh._own_parameters()):
            mine.copy_(new)


Linear.reset_parameters = Embedding.reset_parameters = LayerNorm.reset_parameters = _reset_parameters


def reset_by_own(self):
    """A derived class may begin in its own way."""
    if type(self).reset_parameters is not _reset_parameters:
        self.reset_parameters()


def _begin(native, self, *args, **kwargs):
    native(self, *args, **kwargs)
    reset_by_own(self)


replace_init(Linear, _begin)
replace_init(LayerNorm, _begin)


def _dir(self):
    """The names that are attributes: those of the class, parts and what was assigned."""
    parts = [name for entries in (self._parameters, self._buffers, self._modules) for name in entries]
    return sorted({name for name in (*dir(type(self)), *self.__dict__, *parts) if not name[0].isdigit()})


Module.__dir__ = _dir


class _Keys(KeysView):
    def __repr__(self):
        return f"odict_keys({list(self)})"


class _Entries(MutableMapping):
    """A module's own parts of one kind by name: what PyTorch keeps in dicts, which people read and write. type(entries)(others), by which
    they make a dict like another one, is a plain dict."""

    def __new__(cls, module, read=None, write=None):
        return dict(module) if read is None else super().__new__(cls)

    def __init__(self, module, read, write):
        self._module, self._read, self._write = module, read, write

    def __getitem__(self, name):
        return dict(self._read(self._module))[name]

    def __setitem__(self, name, value):
        (setattr if name in self else self._write)(self._module, name, value)

    def __delitem__(self, name):
        if name not in dict(self._read(self._module)):
            raise KeyError(name)
        delattr(self._module, name)

    def __iter__(self):
        return iter([name for name, _ in self._read(self._module)])

    def __len__(self):
        return len(self._read(self._module))

    def keys(self):
        return _Keys(self)

    def items(self):
        return self.copy().items()

    def values(self):
        return self.copy().values()

    def copy(self):
        """A dict of the entries."""
        return dict(self._read(self._module))

    __copy__ = copy

    def __reduce_ex__(self, protocol):
        return dict, (self.copy(),)

    def __repr__(self):
        return repr(self.copy())


def _entries(read, write):
    def replace(self, values):
        """All entries become these."""
        values, entries = dict((values or {}).items()), _Entries(self, read, write)
        before = entries.copy()
        for name in before.keys() - values.keys():
            del entries[name]
        for name, value in values.items():
            (setattr if name in before else write)(self, name, value)

    return property(lambda self: _Entries(self, read, write), replace)


Module._modules = _entries(Module._module_entries, Module.add_module)
Module._parameters = _entries(Module._parameter_entries, Module.register_parameter)
Module._buffers = _entries(Module._buffer_entries, Module.register_buffer)


def _not_saved(self):
    """The names of buffers that are not saved."""
    return {name for name, _ in self._buffer_entries() if not self._is_persistent(name)}


def _set_not_saved(self, names):
    for name, buffer in self._buffer_entries():
        if self._is_persistent(name) == (name in names):
            self.register_buffer(name, buffer, name not in names)


Module._non_persistent_buffers_set = property(_not_saved, _set_not_saved)


class Unflatten(Module):
    """One dimension as several."""

    def __init__(self, dim, unflattened_size):
        super().__init__()
        self.dim, self.unflattened_size = dim, unflattened_size

    def forward(self, input):
        return input.unflatten(self.dim, list(self.unflattened_size))

    def extra_repr(self):
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


__all__ = ["Unflatten"]
