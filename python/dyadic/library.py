"""Ops of one's own under a name: Python functions with gradients, which torch.ops and what takes an op by name find."""
import functools
import inspect
from collections.abc import Sequence

from . import _dyadic, _levels, _ops
from ._ignored import ignored as _ignored
from .autograd import Function, no_grad
from .func._rules import by_rule, per_entry
from .utils import _pytree

__all__ = """
CustomOpDef Library custom_op define fallthrough_kernel get_ctx impl impl_abstract infer_schema opcheck register_autocast
register_autograd register_fake register_kernel register_torch_dispatch register_vmap triton_op wrap_triton
""".split()

_ops_by_name = {}  # of those that are defined here


def _tensors(values):
    return [t for t in _pytree.tree_leaves(values) if isinstance(t, _dyadic.Tensor)]


class CustomOpDef:
    """An op that is made of Python functions: what it computes, what it computes of shapes alone, and its gradient."""

    def __init__(self, qualified):
        if "::" not in qualified:
            raise ValueError(f'library: an op\'s name is "namespace::name", not "{qualified}"')
        self._qualname, self._function, self._schema = qualified, None, None
        self._fake = self._backward = self._setup = self._autocast = self._vmap = self._opoverload = None
        _ops_by_name[qualified] = self

    def _define(self, function, schema):
        """From now on torch.ops has it."""
        self._schema, self._opoverload = schema, _ops.define(self._qualname, self).default
        if function:
            self._function = function
            functools.update_wrapper(self, function)
        return self

    def __call__(self, *args, **kwargs):
        tensors = _tensors((args, kwargs))
        if _levels.differs(tensors):
            return self._of_entries(args, kwargs)
        if self._autocast and _dyadic.is_autocast_enabled("cpu"):
            args, kwargs = _pytree.tree_map_only(_dyadic.Tensor, self._narrowed, (args, kwargs))
        if _dyadic.is_grad_enabled() and any(t.requires_grad for t in tensors):
            return self._recorded(args, kwargs)
        return self._run(args, kwargs)

    def _of_entries(self, args, kwargs):
        args, kwargs = self._placed(args, kwargs)
        if self._vmap:
            return by_rule(functools.partial(self._vmap, **kwargs), args)
        return per_entry(lambda *one: self(*one, **kwargs), args)

    def _narrowed(self, t):
        return t.to(self._autocast) if t.is_floating_point() else t

    def _run(self, args, kwargs):
        function = self._function
        if self._fake and any(t.is_meta for t in _tensors((args, kwargs))):
            function = self._fake
        if function is None:
            raise NotImplementedError(f"{self._qualname}: the op is defined, but nothing computes it; library.impl() says what does")
        with no_grad():
            return function(*args, **kwargs)

    def _recorded(self, args, kwargs):
        args, kwargs = self._placed(args, kwargs)
        leaves, spec = _pytree.tree_flatten(args)
        made = None

        class Op(Function):
            @staticmethod
            def forward(ctx, *given):
                nonlocal made
                inputs = _pytree.tree_unflatten(given, spec)
                result = self._run(inputs, kwargs)
                flat, made = _pytree.tree_flatten(result)
                if self._setup:
                    self._setup(ctx, inputs=tuple(inputs), output=result, **({"keyword_only_inputs": kwargs} if kwargs else {}))
                return tuple(flat)

            @staticmethod
            def backward(ctx, *gradients):
                if self._backward is None:
                    raise RuntimeError(f"{self._qualname}: the op has no gradient; library.register_autograd() gives it one")
                found = self._backward(ctx, *_unlisted(gradients, made))
                found = found if isinstance(found, tuple) else (found,)
                return tuple(_flat_gradients(found, spec))

        Op.__name__ = Op.__qualname__ = self._qualname.partition("::")[2]
        return _pytree.tree_unflatten(list(Op.apply(*leaves)), made)

    def _placed(self, args, kwargs):
        """Arguments by position as far as they go; a gradient is one of each of these."""
        if self._function is None:
            return args, kwargs
        bound = inspect.signature(self._function).bind(*args, **kwargs)
        bound.apply_defaults()
        return bound.args, bound.kwargs

    def register_fake(self, fn, /):
        """What the op makes of tensors on meta."""
        self._fake = fn
        return fn

    def register_autograd(self, backward, /, *, setup_context=None):
        """backward(ctx, *gradients of results): the gradients of the arguments; setup_context(ctx, inputs, output) keeps what it needs."""
        self._backward, self._setup = backward, setup_context

    def register_kernel(self, device_types, fn=None, /):
        """What computes the op; of the devices only the CPU is here, and for others the function is not called."""
        kinds = [device_types] if isinstance(device_types, str) or device_types is None else list(device_types)

        def register(fn):
            if None in kinds or "cpu" in kinds or "default" in kinds:
                self._function = fn
            return fn

        return register if fn is None else register(fn)

    def register_autocast(self, device_type, cast_inputs):
        """Under autocast of that device floating-point arguments are converted to a dtype first."""
        if device_type == "cpu":
            self._autocast = cast_inputs

    def register_vmap(self, func=None, /):
        """func(info, in_dims, *args) gives (result, out_dims) of all entries of a vmap at once; without it the op is called for each."""
        if func is None:
            return self.register_vmap
        self._vmap = func
        return func

    def register_torch_dispatch(self, torch_dispatch_class, fn=None, /):
        """Raises: calls are not handed over here."""
        raise NotImplementedError(f"library.register_torch_dispatch: {self._qualname}: calls are not handed over to {torch_dispatch_class.__name__}")

    def set_kernel_enabled(self, device_type, enabled=True):
        """Raises: an op has one kernel."""
        raise NotImplementedError(f"library: {self._qualname} has one kernel: set_kernel_enabled({device_type!r}, {enabled})")

    def __repr__(self):
        return f"<CustomOpDef({self._qualname})>"


def _unlisted(gradients, spec):
    """Gradients as the results are: a list of results has a list of gradients."""
    built = _pytree.tree_unflatten(list(gradients), spec)
    return built if isinstance(built, tuple) else (built,)


def _flat_gradients(found, spec):
    for gradient, child in zip(found, spec.children_specs):
        if gradient is None:
            yield from [None] * child.num_leaves
        else:
            yield from child.flatten_up_to(gradient)


def _op(op):
    """By its name, or itself. What it is made of may be registered before it is defined."""
    if isinstance(op, CustomOpDef):
        return op
    name = op if isinstance(op, str) else op.name()
    name = name.removesuffix(".default")
    return _ops_by_name.get(name) or CustomOpDef(name)


@_ignored("mutates_args", "device_types", "tags", why="every op is computed on the CPU, and writes are seen")
def custom_op(name, fn=None, /, *, mutates_args=(), device_types=None, schema=None, tags=None):
    """An op of a function (a decorator without fn): "namespace::name". It is called under no_grad; register_autograd gives it a gradient,
    register_fake what it makes on meta."""
    make = lambda fn: _op(name)._define(fn, schema)  # noqa: E731
    return make if fn is None else make(fn)


triton_op = custom_op


def wrap_triton(triton_kernel, /):
    """Raises: there is no Triton."""
    raise NotImplementedError(f"library.wrap_triton: kernels of Triton are for GPUs, of which there are none: {triton_kernel}")


@_ignored("lib", "tags", why="names are kept until the process ends")
def define(qualname, schema, *, lib=None, tags=()):
    """A name for an op: "namespace::name", "(Tensor x) -> Tensor". impl() says what computes it."""
    _op(qualname)._define(None, schema)


@_ignored("lib", why="names are kept until the process ends")
def impl(qualname, types, func=None, *, lib=None):
    """What computes an op that was defined (a decorator without func), on devices by name: "cpu" or "default"."""
    return _op(qualname).register_kernel(_devices(types), func)


def _devices(types):
    kinds = [types] if isinstance(types, str) else list(types)
    known = {"CPU": "cpu", "CompositeExplicitAutograd": "default", "CompositeImplicitAutograd": "default", "": "default"}
    return [known.get(kind, kind) for kind in kinds]


@_ignored("lib", why="names are kept until the process ends")
def register_kernel(op, device_types, func=None, /, *, lib=None):
    """impl."""
    return _op(op).register_kernel(device_types, func)


@_ignored("lib", "allow_override", why="names are kept until the process ends, and the last function counts")
def register_fake(op, func=None, /, *, lib=None, _stacklevel=1, allow_override=False):
    """What an op makes of tensors on meta (a decorator without func)."""
    return _op(op).register_fake if func is None else _op(op).register_fake(func)


impl_abstract = register_fake


@_ignored("lib", why="names are kept until the process ends")
def register_autograd(op, backward, /, *, setup_context=None, lib=None):
    """The gradient of an op: CustomOpDef.register_autograd."""
    _op(op).register_autograd(backward, setup_context=setup_context)


@_ignored("lib", why="names are kept until the process ends")
def register_autocast(op, device_type, cast_inputs, /, *, lib=None):
    """CustomOpDef.register_autocast."""
    _op(op).register_autocast(device_type, cast_inputs)


@_ignored("lib", why="names are kept until the process ends")
def register_vmap(op, func=None, /, *, lib=None):
    """CustomOpDef.register_vmap."""
    return _op(op).register_vmap(func)


@_ignored("lib", why="calls are not handed over")
def register_torch_dispatch(op, torch_dispatch_class, func=None, /, *, lib=None):
    """Raises: calls are not handed over here."""
    return _op(op).register_torch_dispatch(torch_dispatch_class, func)


class Library:
    """Ops of one namespace, defined and given functions one by one: Library("mine", "DEF")."""

    @_ignored("dispatch_key", why="every op is computed on the CPU")
    def __init__(self, ns, kind, dispatch_key=""):
        if kind not in ("DEF", "FRAGMENT", "IMPL"):
            raise ValueError(f'library.Library: kind is "DEF", "FRAGMENT" or "IMPL", not "{kind}"')
        self.ns, self.kind = ns, kind

    @_ignored("alias_analysis", "tags", why="writes are seen")
    def define(self, schema, alias_analysis="", *, tags=()):
        """A name by its schema, "name(Tensor x) -> Tensor"; returns the name."""
        name = schema.partition("(")[0].strip().partition(".")[0]
        define(f"{self.ns}::{name}", schema[schema.find("(") :])
        return name

    @_ignored("with_keyset", "allow_override", why="an op has one function")
    def impl(self, op_name, fn, dispatch_key="", *, with_keyset=False, allow_override=False):
        """What computes an op; a function for another device, or for Autograd, Meta and such, is one of these alone."""
        name = op_name if isinstance(op_name, str) else op_name.name()
        op = _op(name if "::" in name else f"{self.ns}::{name}")
        if dispatch_key == "Meta":
            op.register_fake(fn)
        elif dispatch_key in ("", "CPU") or dispatch_key.startswith("Composite"):
            op._function = fn

    def _register_fake(self, op_name, fn, _stacklevel=1, *, allow_override=False):
        _op(f"{self.ns}::{op_name}").register_fake(fn)


def fallthrough_kernel():
    """Raises: in the place of a function it stands for none."""
    raise NotImplementedError("library.fallthrough_kernel: it is not called; it stands for no function")


def get_ctx():
    """Raises: sizes that depend on values have no shape on meta."""
    raise RuntimeError("library.get_ctx: sizes that depend on values are not known on meta here: the function of register_fake cannot make one up")


_TYPES = {int: "SymInt", float: "float", bool: "bool", str: "str", _dyadic.Tensor: "Tensor", _dyadic.dtype: "ScalarType", _dyadic.device: "Device"}


def _schema_type(kind):
    import types
    import typing

    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType) and type(None) in parts and len(parts) == 2:
        return _schema_type(next(p for p in parts if p is not type(None))) + "?"
    if origin in (list, tuple, Sequence) and parts:
        return _schema_type(parts[0]) + "[]"
    if kind not in _TYPES:
        raise ValueError(f"library.infer_schema: an op does not take or give a {kind}")
    return _TYPES[kind]


def infer_schema(prototype_function, /, *, mutates_args, op_name=None):
    """The schema of a function with annotations: "(Tensor x, float eps=1e-05) -> Tensor"."""
    signature, parts, starred = inspect.signature(prototype_function, eval_str=True), [], False
    for p in signature.parameters.values():
        kind = _schema_type(p.annotation)
        if mutates_args == "unknown" and kind.startswith("Tensor") or p.name in mutates_args:
            kind = kind.replace("Tensor", f"Tensor(a{len(parts)}!)", 1)
        if p.kind is p.KEYWORD_ONLY and not starred:
            parts, starred = [*parts, "*"], True
        text = f'"{p.default}"' if isinstance(p.default, str) else p.default
        parts.append(f"{kind} {p.name}" + ("" if p.default is p.empty else f"={text}"))
    found = signature.return_annotation
    returned = "()" if found in (None, inspect.Signature.empty) else _results(found)
    return f"{op_name or ''}({', '.join(parts)}) -> {returned}"


def _results(found):
    import typing

    if typing.get_origin(found) is tuple:
        return f"({', '.join(map(_schema_type, typing.get_args(found)))})"
    return _schema_type(found)


@_ignored("test_utils", why="what is tested does not depend on it")
def opcheck(op, args, kwargs=None, *, test_utils=None, raise_exception=True, rtol=None, atol=None):
    """Compares an op's results with what it makes on meta, and its gradient with differences of double precision inputs; raises where
    they differ, or without raise_exception says so in the dict of what was tested."""
    from .autograd import gradcheck
    from .testing import assert_close

    op, kwargs, found = _op(op), kwargs or {}, {}

    def test(name, run):
        try:
            run()
            found[name] = "SUCCESS"
        except Exception as e:
            if raise_exception:
                raise
            found[name] = e

    def fake():
        to_meta = lambda t: t.to("meta")  # noqa: E731
        made = _pytree.tree_map_only(_dyadic.Tensor, to_meta, (list(args), kwargs))
        for mine, real in zip(_tensors(op(*made[0], **made[1])), _tensors(op(*args, **kwargs))):
            assert (mine.shape, mine.dtype) == (real.shape, real.dtype), f"opcheck: {op._qualname}: on meta {mine.dtype}{list(mine.shape)}, else {real.dtype}{list(real.shape)}"

    if op._fake:
        test("test_faketensor", fake)
    inputs = [t for t in _tensors((args, kwargs)) if t.requires_grad]

    def run(*given):
        other = {id(t): g for t, g in zip(inputs, given)}
        changed = _pytree.tree_map_only(_dyadic.Tensor, lambda t: other.get(id(t), t), (list(args), kwargs))
        return op(*changed[0], **changed[1])

    if op._backward and inputs and all(t.dtype == _dyadic.float64 for t in inputs):
        test("test_autograd_registration", lambda: gradcheck(run, inputs, rtol=rtol or 1e-3, atol=atol or 1e-5))
    test("test_schema", lambda: assert_close(_tensors(op(*args, **kwargs)), _tensors(op(*args, **kwargs)), equal_nan=True))
    return found
