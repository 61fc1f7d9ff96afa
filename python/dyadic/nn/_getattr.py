"""nn.Module.__getattr__, for classes that have one and ask it first (super().__getattr__). Reads of all objects of classes that derive from
one with a __getattr__ take a detour through Python, so Module has it from the first class on that needs it."""
from .._dyadic import Module, _has_begun, _put_into_class


def _getattr(self, name):
    """A parameter, buffer or module of that name."""
    for entries in (self._parameters, self._buffers, self._modules) if _has_begun(self) else ():
        if name in entries:
            return entries[name]
    raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")


def _init_subclass(cls, **kwargs):
    super(Module, cls).__init_subclass__(**kwargs)
    if "__getattr__" in vars(cls) and "__getattr__" not in vars(Module):
        _put_into_class(Module, "__getattr__", _getattr)


Module.__init_subclass__ = classmethod(_init_subclass)
