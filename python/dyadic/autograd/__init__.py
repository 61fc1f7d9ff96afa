"""Recording on and off, gradients as values, and their check against finite differences."""
from .. import _dyadic, _levels
from .._dyadic import _backward as backward
from .._dyadic import is_grad_enabled
from . import anomaly_mode, function, functional, grad_mode, graph, variable
from .anomaly_mode import detect_anomaly, set_detect_anomaly
from .function import Function
from .gradcheck import GradcheckError, gradcheck, gradgradcheck
from .grad_mode import Mode, Scope, enable_grad, inference_mode, no_grad, set_grad_enabled
from .variable import Variable
from .._ignored import ignored as _ignored

__all__ = [
    "Function",
    "GradcheckError",
    "Variable",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "functional",
    "graph",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "inference_mode",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
]


@_ignored("only_inputs", why="gradients are of the inputs alone", warn=True)
def grad(
    outputs,
    inputs,
    grad_outputs=None,
    retain_graph=None,
    create_graph=False,
    only_inputs=True,
    allow_unused=None,
    is_grads_batched=False,
    materialize_grads=False,
):
    """d(sum of outputs . grad_outputs) / d(inputs) as a tuple; nothing is accumulated into .grad. An input that the outputs do
    not depend on is an error, None (allow_unused), or gets zeros (materialize_grads). is_grads_batched: each of grad_outputs has
    a first dimension for as many passes, and so have the gradients."""
    retain = create_graph if retain_graph is None else retain_graph
    unused = materialize_grads if allow_unused is None else allow_unused
    if materialize_grads and not unused:
        raise ValueError("grad: materialize_grads gives zeros where allow_unused=False forbids them; leave allow_unused out")
    if is_grads_batched:
        seeds = [g for g in ([grad_outputs] if isinstance(grad_outputs, _dyadic.Tensor) else grad_outputs)]
        with _levels.Level(len(seeds[0]), "same") as level:
            found = _dyadic._grad(outputs, inputs, [level.enter(g, 0) for g in seeds], retain, create_graph, unused)
        gradients = tuple(None if g is None else level.leave(g, 0) for g in found)
    else:
        gradients = _dyadic._grad(outputs, inputs, grad_outputs, retain, create_graph, unused)
    if not materialize_grads:
        return gradients
    inputs = [inputs] if isinstance(inputs, _dyadic.Tensor) else inputs
    return tuple(_dyadic.zeros_like(x) if g is None else g for x, g in zip(inputs, gradients))


def __getattr__(name):
    if name in ("forward_ad", "profiler"):  # imported when it is asked for
        import importlib

        return importlib.import_module("." + name, __package__)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
