"""class Own(nn.Module, metaclass=Meta): Python takes a metaclass alone where it derives from that of the bases, which a program for
PyTorch, whose modules have none, does not do. While this package is torch such a class is made by one that derives from both."""
import builtins
import functools

from . import _dyadic

_of_python = builtins.__build_class__
_OURS = type(_dyadic.Module)
# What Python asks of a class's real type, which is ours: a metaclass that answers in its own way is refused.
_ASKED = ("__instancecheck__", "__subclasscheck__", "__iter__", "__len__", "__contains__", "__getattr__", "__getattribute__", "__setattr__", "__eq__")


@functools.cache
def _join(meta, other):
    if issubclass(meta, other):
        return meta
    if issubclass(other, meta):
        return other
    return type(meta.__name__, (meta, other), {"__module__": meta.__module__, "__qualname__": meta.__qualname__})


class _Maker:
    """In the place of the metaclass: makes the class by it, which then is one of ours."""

    def __init__(self, meta):
        self.meta = meta

    def __prepare__(self, name, bases, **options):
        return self.meta.__prepare__(name, bases, **options)

    def __call__(self, name, bases, namespace, **options):
        meta = self.meta
        for asked in _ASKED:
            if getattr(meta, asked, None) is not getattr(_OURS, asked, None):
                raise TypeError(f"{name}: its metaclass {meta.__name__} has {asked}, which is not asked of a module's class; leave it out")
        made = meta(name, bases, namespace, **options)
        made._own_metaclass = meta
        if hasattr(meta, "__getitem__"):
            made.__class_getitem__ = classmethod(meta.__getitem__)
        _dyadic._take_class(made)
        return made


def _build_class(function, name, /, *bases, **options):
    if any(type(base) is _OURS for base in bases):
        of_bases = [getattr(base, "_own_metaclass", type(base)) for base in bases if isinstance(base, type)]
        metas = [options.get("metaclass", _OURS), *of_bases, _OURS]
        if all(isinstance(meta, type) and issubclass(meta, type) for meta in metas):
            meta = functools.reduce(_join, metas)
            if meta is not _OURS:
                options["metaclass"] = _Maker(meta)
    elif _OURS in bases:  # class Meta(ABCMeta, type(Own)): ours is one already
        bases = [base for base in bases if base is _OURS or not issubclass(_OURS, base)]
    return _of_python(function, name, *bases, **options)


def register():
    """From now on."""
    _dyadic._take_metaclasses()
    builtins.__build_class__ = _build_class
