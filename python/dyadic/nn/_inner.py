"""Methods that PyTorch's modules have inside, which people override or call: _apply, _call_impl, _named_members."""
from .. import _dyadic
from .._dyadic import Module, Tensor
from ..autograd import no_grad
from ._saving import overrides


@no_grad()
def _apply(self, fn, recurse=True):
    """fn's result in the place of every parameter, gradient and buffer; to(), float() and their kind call it where it is overridden."""
    for m in self.children() if recurse else ():
        m._apply(fn)
    for _, p in self._own_parameters():
        grad, p.grad = p.grad, None
        p.data = fn(p).detach()
        p.grad = None if grad is None else fn(grad)
    for name, b, _ in self._own_buffers():
        setattr(self, name, fn(b))
    return self


def _converting(name, dtype_of):
    native = getattr(Module, name)

    def convert(self, *args, **kwargs):
        dtype = dtype_of(*args, **kwargs) if overrides(self, "_apply") else None
        if dtype is None:
            return native(self, *args, **kwargs)
        return self._apply(lambda t: t.to(dtype) if t.is_floating_point() else t)

    convert.__name__, convert.__doc__ = name, native.__doc__
    convert.__nb_signature__, convert.__module__ = native.__nb_signature__, Module.__module__
    setattr(Module, name, convert)


def _dtype_among(*args, **kwargs):
    kinds = [t.dtype if isinstance(t, Tensor) else t for t in (*args, *kwargs.values())]
    return next((k for k in kinds if isinstance(k, _dyadic.dtype)), None)


_converting("to", _dtype_among)
for _name, _dtype in (("float", _dyadic.float32), ("double", _dyadic.float64), ("half", _dyadic.float16), ("bfloat16", _dyadic.bfloat16)):
    _converting(_name, lambda dtype=_dtype: dtype)


def _named_members(self, get_members_fn, prefix="", recurse=True, remove_duplicate=True):
    """(name, member) of what get_members_fn(module) gives as pairs, for each module of the tree."""
    seen = set()
    modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
    for path, m in modules:
        for name, member in get_members_fn(m):
            if member is None or id(member) in seen:
                continue
            if remove_duplicate:
                seen.add(id(member))
            yield f"{path}.{name}" if path else name, member


def _named_buffers(self, prefix="", recurse=True, remove_duplicate=True):
    """(name, buffer) of the tree, or of this module alone; one that several names have once, unless remove_duplicate is False."""
    return self._named_members(lambda m: [(name, b) for name, b, _ in m._own_buffers()], prefix, recurse, remove_duplicate)


def _buffers(self, recurse=True):
    """All buffers of the tree, one that several names have once."""
    return (b for _, b in self.named_buffers(recurse=recurse))


_called = Module.__call__


def _call_impl(self, *args, **kwargs):
    """What calling the module does: forward with the hooks around it."""
    return _called(self, *args, **kwargs)


Module._apply, Module._named_members = _apply, _named_members
Module.named_buffers, Module.buffers = _named_buffers, _buffers
Module._call_impl = Module._wrapped_call_impl = _call_impl
