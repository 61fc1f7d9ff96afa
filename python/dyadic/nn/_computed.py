"""Parameters that Python answers for: what stands in their place reads and writes them. Parametrized ones are computed from others;
entries that were registered with None wait for a tensor."""
from .. import _dyadic
from .._dyadic import Embedding, LayerNorm, Linear, Module, Parameter, Tensor, _Layer


def begin(module, name, entry):
    """module.<name> is entry.read(module, name) from now on, and assignments are entry.write(module, name, value)."""
    if name not in dict(module._own_parameters()):
        setattr(module, name, Parameter(_dyadic.zeros(0)))
    module._begin_computed(name)
    module.__dict__.setdefault("_computed", {})[name] = entry


def end(module, name, parameter):
    """module.<name> is a parameter again."""
    del module.__dict__["_computed"][name]
    module._end_computed(name, parameter)


def entries(module):
    """What stands in the place of parameters, by name."""
    return module.__dict__.get("_computed", {})


class Absent:
    """An entry that is None, in __dict__, and that a tensor (a buffer) or an nn.Parameter will take the place of."""

    def __init__(self, kind, persistent=True):
        self.kind, self.persistent = kind, persistent

    def read(self, module, name):
        if name not in module.__dict__:
            raise AttributeError(f"'{type(module).__name__}' object has no attribute '{name}'")
        return None

    def write(self, module, name, value):
        deleted, kinds = name not in module.__dict__, (Tensor, Module) if self.kind == "buffer" else Parameter
        if value is None and not deleted:
            return
        if not deleted and not isinstance(value, kinds):
            wanted = "a Tensor" if self.kind == "buffer" else "an nn.Parameter"
            raise TypeError(f"Module: {name} is a {self.kind}: assign {wanted} or None, not {type(value).__name__}")
        leave_absent(module, name)
        if not deleted and isinstance(value, Tensor) and not isinstance(value, Parameter):
            module.register_buffer(name, value, self.persistent)
        else:
            setattr(module, name, value)


def leave_absent(module, name):
    """Nothing is of that name, if it was registered with None."""
    if isinstance(entries(module).get(name), Absent):
        end(module, name, Parameter(_dyadic.zeros(0)))
        delattr(module, name)


def _is_layer(module):
    return isinstance(module, (Embedding, LayerNorm, Linear, _Layer))


_OF_LAYERS = {"parameter": ("weight", "bias"), "buffer": ("running_mean", "running_var", "num_batches_tracked")}


def absent(module, kind):
    """[(name, None)] of the parameters or buffers that were registered with None, or that a layer was made without."""
    own = [name for name, e in entries(module).items() if isinstance(e, Absent) and e.kind == kind and name in module.__dict__]
    if _is_layer(module) and (kind == "parameter" or hasattr(module, "reset_running_stats")):
        there = {name for name, _ in module._own_parameters()} | {name for name, *_ in module._own_buffers()}
        own += [n for n in _OF_LAYERS[kind] if n not in there and n not in own and getattr(module, n, module) is None]
    return [(name, None) for name in own]


def _check_free(self, name, own, who):
    """A name that is in use for something else is refused, as nothing is replaced unasked."""
    if not isinstance(name, str) or name in own:
        return
    other_kind = any(name in entries_ for entries_ in (self._parameters, self._buffers, self._modules))
    if other_kind or (getattr(self, name, None) is not None and not hasattr(type(self), name)):
        raise KeyError(f'{who}: the attribute "{name}" is there already, and is not of this kind; take another name')


_native = {who: getattr(Module, who) for who in ("register_parameter", "register_buffer", "add_module")}


def _register_parameter(self, name, param):
    """An nn.Parameter, or None for one that is assigned later."""
    _check_free(self, name, self._parameters, "register_parameter")
    if _is_layer(self) and name in self._parameters and name not in entries(self):  # the layer's own
        return setattr(self, name, param)
    leave_absent(self, name)
    _native["register_parameter"](self, name, param)
    if param is None:
        begin(self, name, Absent("parameter"))
        self.__dict__[name] = None


def _register_buffer(self, name, tensor, persistent=True):
    """A tensor that is not trained, and saved with the module if it is persistent; None for one that is assigned later."""
    _check_free(self, name, self._buffers, "register_buffer")
    leave_absent(self, name)
    _native["register_buffer"](self, name, tensor, persistent)
    if tensor is None:
        begin(self, name, Absent("buffer", persistent))
        self.__dict__[name] = None


def _add_module(self, name, module):
    """A module under a name."""
    _check_free(self, name, self._modules, "add_module")
    leave_absent(self, name)
    _native["add_module"](self, name, module)


def _compute(self, name):
    return entries(self)[name].read(self, name)


def _assign_computed(self, name, value):
    entries(self)[name].write(self, name, value)


Module._compute, Module._assign_computed = _compute, _assign_computed
Module.register_parameter, Module.register_buffer, Module.add_module = _register_parameter, _register_buffer, _add_module
