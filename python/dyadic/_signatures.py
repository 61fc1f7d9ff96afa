"""inspect.signature of the classes that are bound in C++: read, when it is asked for, from the text that nanobind keeps of __init__."""
import re

from . import _dyadic


class _OfInit:
    def __get__(self, instance, cls):
        if instance is not None:
            from ._records import call_signature

            return call_signature(instance)
        bound = getattr(cls.__init__, "__nb_signature__", None)
        return _read(*bound[0]) if bound else None  # None: inspect looks further


def _read(text, doc, defaults):
    import inspect

    from ._records import Spelled

    scope = {"defaults": defaults}
    code = re.sub(r"\\(\d+)", r"defaults[\1]", text.replace("object", "Any"))
    exec(f"from __future__ import annotations\n{code}: pass", scope)
    signature = inspect.signature(scope["__init__"])
    own = list(signature.parameters.values())[1:]
    return inspect.Signature([p.replace(annotation=Spelled(p.annotation) if p.annotation is not p.empty else p.empty) for p in own])


for _module in (_dyadic, _dyadic._data, _dyadic._data.transforms, _dyadic._train):
    for _class in list(vars(_module).values()):
        if isinstance(_class, type) and type(_class) is not type and hasattr(_class.__init__, "__nb_signature__"):
            _class.__signature__ = _OfInit()
