"""torch.compile and what belongs to it. Nothing is compiled: functions and modules run as the Python that they are, so results are those of
eager code, and nothing is faster."""
import contextlib

from ._ignored import ignored as _ignored

__all__ = ["allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin", "disable", "is_compiling", "is_dynamo_compiling"]
__all__ += ["is_exporting", "list_backends", "reset", "set_stance"]

_BACKENDS = """
aot_eager aot_eager_decomp_partition aot_eager_default_partitioner aot_ts cudagraphs eager eager_debug eager_noexcept inductor onnxrt openxla
openxla_eval pre_dispatch_eager ts tvm
""".split()  # PyTorch's
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
    *("fullgraph", "dynamic", "backend", "mode", "options", "name", "recompile_limit", "isolate_recompiles", "dynamic_shapes"),
    why="there is no compiler yet, code runs as it is",
    warn=True,
)
@_ignored("disable", why="there is no compiler yet, code runs as it is")
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
):
    """model itself, a function or a module; without one a decorator that changes nothing. There is no compiler here yet: the keywords are
    PyTorch's, the first use of each says that it changes nothing, and a backend or mode that PyTorch does not know is its error."""
    _check(backend, mode, options)
    return _unchanged if model is None else model


def _unchanged(model):
    return model


@_ignored("recursive", "reason", why="nothing is compiled")
def disable(fn=None, recursive=True, *, reason=None):
    """fn itself, or a decorator that changes nothing: nothing is compiled."""
    return _unchanged if fn is None else fn


def allow_in_graph(fn):
    """fn itself: there are no graphs."""
    return fn


assume_constant_result = allow_in_graph


class set_stance(contextlib.ContextDecorator):
    """Accepted, as a call, a context and a decorator: code runs as it is."""

    @_ignored("skip_guard_eval_unsafe", "force_backend", why="nothing is compiled")
    def __init__(self, stance="default", *, skip_guard_eval_unsafe=False, force_backend=None):
        self.stance = stance

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        """Nothing was changed."""


def is_compiling():
    """False: Python runs."""
    return False


is_dynamo_compiling = is_exporting = is_compiling


@_ignored("exclude_tags", why="there is no compiler yet")
def list_backends(exclude_tags=("debug", "experimental")):
    """[]: there is no compiler."""
    return []


def reset():
    """Nothing has been compiled."""


def cudagraph_mark_step_begin():
    """No GPU records graphs."""
