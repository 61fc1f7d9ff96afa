"""Parameters that Python answers for: what stands in their place reads and writes them. Parametrized ones are computed from others."""
from .. import _dyadic
from .._functions import strided
from .._dyadic import Embedding, LayerNorm, Linear, Module, Parameter, _Layer, _own_dict

COMPUTED = "_computed_parameters"  # in a module's own dict; programs have a _computed of theirs


def begin(module, name, entry):
    """module.<name> is entry.read(module, name) from now on, and assignments are entry.write(module, name, value)."""
    if name not in dict(module._own_parameters()):
        setattr(module, name, Parameter(_dyadic.zeros(0)))
    module._begin_computed(name)
    _own_dict(module).setdefault(COMPUTED, {})[name] = entry


def end(module, name, parameter):
    """module.<name> is a parameter again."""
    del _own_dict(module)[COMPUTED][name]
    module._end_computed(name, parameter)


def entries(module):
    """What stands in the place of parameters, by name."""
    return _own_dict(module).get(COMPUTED, {})


def _is_layer(module):
    return isinstance(module, (Embedding, LayerNorm, Linear, _Layer))


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
    _native["register_parameter"](self, name, param)


def _register_buffer(self, name, tensor, persistent=True):
    """A tensor that is not trained, and saved with the module if it is persistent; None for one that is assigned later."""
    _check_free(self, name, self._buffers, "register_buffer")
    if getattr(tensor, "layout", strided) is not strided:
        raise TypeError(f'register_buffer: "{name}" is a sparse tensor: buffers are dense; keep it as a plain attribute, or its values() as a buffer')
    _native["register_buffer"](self, name, tensor, persistent)


def _add_module(self, name, module):
    """A module under a name."""
    _check_free(self, name, self._modules, "add_module")
    _native["add_module"](self, name, module)


def _compute(self, name):
    return entries(self)[name].read(self, name)


def _assign_computed(self, name, value):
    entries(self)[name].write(self, name, value)


Module._compute, Module._assign_computed = _compute, _assign_computed
Module.register_parameter, Module.register_buffer, Module.add_module = _register_parameter, _register_buffer, _add_module
