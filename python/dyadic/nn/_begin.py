"""nn.Module.__init__ of an object of any class, and a layer's __init__ where that ran before. A layer that begins by the first alone has
no parameters, and as sizes what is assigned."""
import inspect

from .._dyadic import Embedding, LayerNorm, Linear, Module, ModuleList, Sequential, _begin_module, _end_module, _Layer, _own_dict

_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks", "_calls")


def replace_init(cls, begin):
    """begin(native, self, ...) in the place of cls.__init__, for derived classes: cls(...) itself stays C++'s."""
    native = cls.__init__  # kept alive here, as C++ goes on calling it

    def __init__(self, *args, **kwargs):
        begin(native, self, *args, **kwargs)

    me = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    __init__.__signature__ = inspect.Signature([me, *inspect.signature(cls).parameters.values()], return_annotation=None)
    __init__.__nb_signature__, __init__.__module__, __init__.__doc__ = native.__nb_signature__, cls.__module__, native.__doc__
    cls.__init__ = __init__


def _begin(native, self):
    """A module without entries, in training; one that had some before has none."""
    if _begin_module(self):
        return
    for entries in (self._module_entries(), self._parameter_entries(), self._buffer_entries()):
        for name, _ in entries:
            delattr(self, name)
    for name in _HOOKS:
        _own_dict(self).get(name, {}).clear()
    self.training = True


def _begin_anew(native, self, *args, **kwargs):
    if _end_module(self):
        for name in _HOOKS:
            _own_dict(self).pop(name, None)
    native(self, *args, **kwargs)


replace_init(Module, _begin)
for _class in (Linear, LayerNorm, Embedding, _Layer, Sequential, ModuleList):
    replace_init(_class, _begin_anew)
