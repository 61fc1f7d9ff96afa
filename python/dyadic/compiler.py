"""torch.compile and what belongs to it. Functions and modules run as the Python that they are, so results are those of eager code, bit for
bit; what they call is remembered, and pointwise calls that follow one another run as one pass over memory (docs/compile.md)."""
import contextlib
import functools

from ._dyadic import Module as _Module
from ._dyadic import _own_dict, _Recording
from ._ignored import _say
from ._ignored import ignored as _ignored
from ._watched import Watch as _Watch

__all__ = ["allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin", "disable", "is_compiling", "is_dynamo_compiling"]
__all__ += ["explain", "is_exporting", "list_backends", "reset", "set_stance"]

_BACKENDS = """
aot_eager aot_eager_decomp_partition aot_eager_default_partitioner aot_ts cudagraphs eager eager_debug eager_noexcept inductor onnxrt openxla
openxla_eval pre_dispatch_eager ts tvm
""".split()  # PyTorch's
_ONE_WAY = "there is one way of compiling, and code that it does not reach runs as it is"
_MODES = ("default", "lite", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")


def _check(backend, mode, options):
    """What PyTorch refuses, too."""
    if isinstance(backend, str) and backend not in _BACKENDS:
        from ._dynamo.exc import InvalidBackend

        raise InvalidBackend(f"compile: unknown backend: backend is {backend!r}; the known ones are {', '.join(_BACKENDS)}, or a function")
    if mode is not None and options is not None:
        raise RuntimeError("compile: mode and options exclude each other: give one of them")
    if mode is not None and mode not in _MODES:
        raise RuntimeError(f"compile: unknown mode: mode is {mode!r}; the known ones are {', '.join(_MODES)}")


@_ignored(
    *("dynamic", "backend", "options", "name", "recompile_limit", "isolate_recompiles", "dynamic_shapes"),
    why=_ONE_WAY,
    warn=True,
)
def compile(
    model=None,
    *,
    fullgraph=False,
    dynamic=None,
    backend=None,
    mode=None,
    options=None,
    name=None,
    disable=False,
    recompile_limit=None,
    isolate_recompiles=False,
    dynamic_shapes=None,
    check=False,
):
    """model compiled: of a function another one, of a module itself, whose calls from Python are compiled from now on; without one a
    decorator. What became of it says compiler.explain(). mode: "reduce-overhead" runs a step again without its program once two runs have
    been the same (docs/compile.md says what is compared); others run the program. fullgraph: a value that is read on the way is an error that
    names the line. check: of steps that run again the program runs as well, and an error names the first call whose bits differ. disable:
    model itself. The other keywords are PyTorch's, the first use of each says that it changes nothing, and a backend or mode that PyTorch
    does not know is its error."""
    _check(backend, mode, options)
    if disable:
        return _unchanged if model is None else model

    if mode not in (None, "default", "reduce-overhead"):
        _say("compile", "mode", _ONE_WAY)
    options = (mode or "default", bool(fullgraph), bool(check))
    return functools.partial(_compiled, options) if model is None else _compiled(options, model)


class _Memory(_Recording):
    """What a compiled function or module remembers. A copy begins anew."""

    def __init__(self, *options):
        super().__init__(*options)
        self._options = options
        if options[0] == "reduce-overhead":
            self.watch = _Watch()

    def __reduce_ex__(self, protocol):
        return _Memory, self._options


def _compiled(options, model):
    if not callable(model):
        raise TypeError(f"compile: it takes a function or a module: model is {type(model).__name__}")
    if isinstance(model, _Module):
        from .nn import _hooks

        _hooks.record(model, _Memory(*options))
        return model
    recording = _Memory(*options)

    @functools.wraps(model)
    def run(*args, **kwargs):
        return recording.call(model, args, kwargs)

    run._recording = recording
    return run


def _compile_module(self, *args, **kwargs):
    """torch.compile(self), with its arguments."""
    compile(self, *args, **kwargs)


_Module.compile = _compile_module


def explain(compiled, *, dot=False):
    """What became of a compiled function or module, as text: how many calls matched what was recorded, which of them run as one pass over
    memory, how often, in what time and beside what limit of the machine, and which run as they come, with the reason. dot: these
    passes as Graphviz draws them (`dot -Tsvg`)."""
    recording = _own_dict(compiled).get("_recording") if isinstance(compiled, _Module) else getattr(compiled, "_recording", None)
    if recording is None:
        raise ValueError(f"explain: it is not compiled: {compiled!r}; give what torch.compile() gave")
    return recording.dot() if dot else recording.explain()


def _unchanged(model):
    return model


@_ignored("recursive", "reason", why="what a compiled function calls needs no exception")
def disable(fn=None, recursive=True, *, reason=None):
    """fn itself, or a decorator that changes nothing: what runs as it is within a compiled function is right already."""
    return _unchanged if fn is None else fn


def allow_in_graph(fn):
    """fn itself: there are no graphs."""
    return fn


assume_constant_result = allow_in_graph


class set_stance(contextlib.ContextDecorator):
    """Accepted, as a call, a context and a decorator: results are those of eager code anyway."""

    @_ignored("skip_guard_eval_unsafe", "force_backend", why="compiled functions run their program anyway")
    def __init__(self, stance="default", *, skip_guard_eval_unsafe=False, force_backend=None):
        self.stance = stance

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        """Nothing was changed."""


def is_compiling():
    """False: the program itself runs, never a copy of it."""
    return False


is_dynamo_compiling = is_exporting = is_compiling


@_ignored("exclude_tags", why="there is one way of compiling")
def list_backends(exclude_tags=("debug", "experimental")):
    """[]: there is one way of compiling, without a name."""
    return []


def reset():
    """Nothing: what is recorded belongs to each compiled function, and is never wrong."""


def cudagraph_mark_step_begin():
    """No GPU records graphs."""
