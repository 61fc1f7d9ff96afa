"""What a compiled program reads beside its arguments, and what it does beside calling this package: a step runs again without its program
only while the one is as it was, and if the other is nothing.

Read are global names and variables of outer functions, of the program's functions and of those that they reach, and the attributes and
lists of objects found there. A run that calls anything else than such functions, this package and a few harmless builtins is not run
again without its program: a clock, a print, a file."""
import builtins
import functools
import os
import sys
import types

from . import _dyadic
from ._dyadic import Module, Tensor, _Guard, _own_dict, _refuse_step

_PACKAGE = os.path.dirname(__file__) + os.sep
_PLAIN = (type(None), bool, int, float, complex, str, bytes, range, slice, frozenset, type(Ellipsis), type(NotImplemented))
_PLAIN += (type(_dyadic.float32), Tensor)
_BUILT_IN = (types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType, types.GetSetDescriptorType)
_BUILT_IN += (types.MemberDescriptorType, types.ClassMethodDescriptorType)
_MOST = 20_000  # objects: more state than is watched
_HARMLESS = frozenset(
    getattr(builtins, name)
    for name in """
    abs all any bool bytes callable complex dict divmod enumerate filter float format frozenset getattr hasattr hash id int isinstance
    issubclass iter len list map max min object pow range repr reversed round set slice sorted str sum super tuple type zip
    __build_class__
    """.split()
)
_HARMLESS_OF = (str, bytes, int, float, tuple, dict, list, set, frozenset, type({}.items()), type({}.keys()), type({}.values()))


class _TooMuch(Exception):
    """Something is read that cannot be watched."""


def _is_ours(code):
    return code.co_filename.startswith(_PACKAGE)


def _codes(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _package_of(module):
    return (getattr(module, "__name__", "") or "").partition(".")[0]


_STANDARD = sys.stdlib_module_names


class _Looking:
    """Walks what a program reaches, and writes it down in a Guard."""

    def __init__(self):
        self.guard, self.codes, self.seen, self.kept, self.optimizers = _Guard(), set(), set(), [], []

    def visit(self, value, names=()):
        if isinstance(value, _PLAIN) and type(value) in _PLAIN or isinstance(value, Tensor):
            return
        key = (id(value), names if isinstance(value, types.ModuleType) else ())
        if key in self.seen:
            return
        if len(self.seen) > _MOST:
            raise _TooMuch("it reaches too many objects")
        self.seen.add(key)
        self.kept.append(value)
        if isinstance(value, types.ModuleType):
            self.module(value, names)
        elif isinstance(value, types.FunctionType):
            self.function(value)
        elif isinstance(value, types.MethodType):
            self.visit(value.__func__)
            self.visit(value.__self__)
        elif isinstance(value, functools.partial):
            self.visit([value.func, *value.args, *value.keywords.values()])
        elif isinstance(value, (property, staticmethod, classmethod)):
            for f in (value.fget, value.fset) if isinstance(value, property) else (value.__func__,):
                self.visit(f)
        elif isinstance(value, type):
            self.type(value)
        elif type(value) in (list, tuple, dict) or isinstance(value, tuple):
            self.container(value)
        elif isinstance(value, _BUILT_IN):
            """What it does is seen when it is called."""
        else:
            self.instance(value)

    def groups(self):
        """Options of optimizers, where the program itself reads them."""
        if any("param_groups" in code.co_names for code in self.codes):
            for optimizer in self.optimizers:
                self.visit(optimizer.param_groups)

    def container(self, value):
        if type(value) is list:
            self.guard.list(value)
        elif type(value) is dict:
            self.guard.dict(value)
        for element in value.values() if type(value) is dict else value:
            self.visit(element)

    def module(self, module, names):
        if _package_of(module) == "dyadic" or _package_of(module) in _STANDARD:
            return
        for name in names:
            if name in module.__dict__:
                self.name(module.__dict__, name, names)

    def name(self, scope, name, names):
        self.guard.item(scope, name, scope[name])
        self.visit(scope[name], names)

    def function(self, f):
        if _is_ours(f.__code__):
            return
        codes = list(_codes(f.__code__))
        self.codes.update(codes)
        names = tuple(sorted({name for code in codes for name in code.co_names}))
        for name in names:
            if name in f.__globals__:
                self.name(f.__globals__, name, names)
        for cell in f.__closure__ or ():
            try:
                content = cell.cell_contents
            except ValueError:
                raise _TooMuch("a variable of an outer function has no value yet") from None
            self.guard.cell(cell, content)
            self.visit(content, names)
        self.visit((*(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values()), names)

    def type(self, cls):
        for c in cls.__mro__:
            module = sys.modules.get(c.__module__)
            if c is object or (module and (_package_of(module) == "dyadic" or _package_of(module) in _STANDARD)):
                continue
            self.guard.type(c)
            for name, value in list(vars(c).items()):
                if name not in ("__dict__", "__weakref__", "_abc_impl"):
                    self.visit(value)

    def instance(self, value):
        self.type(type(value))
        if isinstance(value, Module):
            self.guard.module(value)
            self.guard.dict(_own_dict(value))
            for name, attribute in list(_own_dict(value).items()):
                if name != "_recording":
                    self.visit(attribute)
            for _, child in value.named_children():
                self.visit(child)
            return
        if isinstance(value, _dyadic._Optimizer) or hasattr(value, "_part") and isinstance(value._part, _dyadic._Optimizer):
            if value._hooks or type(value)._record is None:
                raise _TooMuch(f"{type(value).__name__} has hooks, or a step of its own")
            self.optimizers.append(value)
            return  # its groups and states are read each time
        attributes = getattr(value, "__dict__", None)
        if attributes is None or isinstance(value, (list, dict, set)):
            if type(value).__module__.partition(".")[0] == "dyadic":
                return
            raise _TooMuch(f"an object of {type(value).__module__}.{type(value).__qualname__} cannot be watched")
        self.guard.dict(attributes)
        for attribute in list(attributes.values()):
            self.visit(attribute)


class Watch:
    """Of one compiled function."""

    def __init__(self):
        self._codes, self._refusal, self._kept = frozenset(), None, []

    def look(self, function, args):
        """A Guard of what the program reads now."""
        from .nn._hooks import _of_all

        looking = _Looking()
        self._refusal = None
        try:
            looking.visit([function, _of_all])
            for value in args:
                looking.visit(value)
            looking.groups()
        except _TooMuch as refusal:
            self._refusal = str(refusal)
        self._codes, self._kept = looking.codes, looking.kept
        return looking.guard

    def run(self, function, args, kwargs):
        """function(*args, **kwargs), and what it calls is looked at."""
        if self._refusal:
            _refuse_step(self._refusal)
        elif sys.getprofile() is not None:
            _refuse_step("a profiler watches it")
        else:
            sys.setprofile(self._called)
            try:
                return function(*args, **kwargs)
            finally:
                sys.setprofile(None)
        return function(*args, **kwargs)

    def _called(self, frame, event, what):
        code = frame.f_code
        if event == "call":
            if code not in self._codes and not _is_ours(code) and not code.co_name.startswith("<"):
                self._stop(f"it calls {code.co_qualname if hasattr(code, 'co_qualname') else code.co_name}, which is not watched")
        elif event == "c_call" and not _is_ours(code) and not _is_harmless(what):
            self._stop(f"it calls {getattr(what, '__qualname__', what)}")

    @staticmethod
    def _stop(why):
        sys.setprofile(None)
        _refuse_step(why)


def _is_harmless(called):
    if called in _HARMLESS or (getattr(called, "__module__", None) or "").partition(".")[0] in ("dyadic", "math", "_operator", "_functools"):
        return True
    of = getattr(called, "__self__", None)
    return type(of) in _HARMLESS_OF or isinstance(of, (Tensor, Module)) or _package_of(of) == "dyadic"
