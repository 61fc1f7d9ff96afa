"""inspect.signature of classes and functions that are bound in C++: read, when it is asked for, from the text that nanobind keeps."""
import re

from . import _dyadic


class _OfInit:
    def __get__(self, instance, cls):
        if instance is not None:
            from ._records import call_signature

            return call_signature(instance)
        bound = getattr(cls.__init__, "__nb_signature__", None)
        return _read(*bound[0]) if bound else None  # None: inspect looks further


def _read(text, doc, defaults, bound=True):
    import inspect

    from ._records import Spelled

    scope = {"defaults": defaults}
    code = re.sub(r"\\(\d+)", r"defaults[\1]", text.replace("object", "Any"))
    code = re.sub(r"^def \w*\(", "def bound(", code)  # a property's reader has no name
    exec(f"from __future__ import annotations\n{code}: pass", scope)
    signature = inspect.signature(scope["bound"])
    own = list(signature.parameters.values())[bound:]
    return inspect.Signature([p.replace(annotation=Spelled(p.annotation) if p.annotation is not p.empty else p.empty) for p in own])


def _of_function(function):
    """Of a function or method, and of a method of an object without self. What has several forms takes any arguments."""
    import inspect

    forms, bound = function.__nb_signature__, hasattr(function, "__self__")
    if len(forms) == 1:
        return _read(*forms[0], bound=bound)
    any_ = [("args", inspect.Parameter.VAR_POSITIONAL), ("kwargs", inspect.Parameter.VAR_KEYWORD)]
    return inspect.Signature([inspect.Parameter(name, kind) for name, kind in any_])


for _module in (_dyadic, _dyadic._data, _dyadic._data.transforms, _dyadic._train):
    for _class in list(vars(_module).values()):
        if isinstance(_class, type) and type(_class) is not type and hasattr(_class.__init__, "__nb_signature__"):
            _class.__signature__ = _OfInit()
for _type in {type(_dyadic.manual_seed), type(_dyadic.Module.__call__), type(_dyadic.default_generator.manual_seed)}:
    _dyadic._give_type(_type, "__signature__", property(_of_function))
