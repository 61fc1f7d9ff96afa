"""Activation checkpointing: backward keeps a part's inputs and computes the part again."""
from .. import _dyadic
from .._dyadic import Tensor
from ._pytree import tree_flatten, tree_unflatten
from .._ignored import ignored as _ignored

_TENSOR = object()  # where a tensor was among the leaves of a result


class CheckpointError(RuntimeError):
    """What a function computes in backward is not what it has computed in forward."""


@_ignored(
    *("use_reentrant", "preserve_rng_state", "debug", "early_stop"),
    why="there is one way, which draws the same random numbers again",
)
def checkpoint(
    function,
    *args,
    use_reentrant=None,
    preserve_rng_state=True,
    determinism_check="default",
    debug=False,
    early_stop=True,
    **kwargs,
):
    """function(*args, **kwargs), of which backward keeps the tensors among the arguments alone, also those inside of tuples, lists
    and dicts. Backward runs the function again, with the same random numbers and under the same autocast, and differentiates that; a
    result of other shapes or dtypes than the first time is a CheckpointError (determinism_check="none": is not looked for).
    Parameters that the function uses get their gradients; other tensors that require grad are given as arguments."""
    given, spec = tree_flatten((args, kwargs))
    places = [i for i, a in enumerate(given) if isinstance(a, Tensor)]
    form = []  # of the result: its leaves but for tensors, its spec, what its tensors look like

    def run(*tensors):
        if not form:
            result = function(*args, **kwargs)
        else:
            again = list(given)
            for i, t in zip(places, tensors):
                again[i] = t
            again_args, again_kwargs = tree_unflatten(again, spec)
            result = function(*again_args, **again_kwargs)
        leaves, its = tree_flatten(result)
        tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
        looks = [(list(t.shape), t.dtype) for t in tensors]
        if form and looks != form[2] and determinism_check != "none":
            raise CheckpointError(f"checkpoint: the function gives tensors of other shapes or dtypes in backward: {looks}; in forward: {form[2]}")
        if not form:
            form.extend(([_TENSOR if isinstance(leaf, Tensor) else leaf for leaf in leaves], its, looks))
        return tensors

    tensors = iter(_dyadic._checkpoint(run, [given[i] for i in places]))
    leaves, its, _ = form
    return tree_unflatten([next(tensors) if leaf is _TENSOR else leaf for leaf in leaves], its)


@_ignored("use_reentrant", "preserve_rng_state", why="there is one way, which draws the same random numbers again")
def checkpoint_sequential(functions, segments, input, use_reentrant=None, *, preserve_rng_state=True):
    """A Sequential (or list of functions) in `segments` parts, each checkpointed."""
    functions = list(functions)
    size = max(1, len(functions) // segments)
    starts = list(range(0, size * segments, size))[:segments]
    for k, start in enumerate(starts):
        part = functions[start : starts[k + 1] if k + 1 < len(starts) else None]

        def run(x, part=part):
            for f in part:
                x = f(x)
            return x

        input = checkpoint(run, input) if k + 1 < len(starts) else run(input)
    return input


@_ignored("args", why="no GPU has a generator")
def get_device_states(*args):
    """([], []): no GPU has a generator. The CPU's is part of checkpoint."""
    return [], []


@_ignored("device_type", why="no GPU has a generator")
def set_device_states(devices, states, *, device_type=None):
    """Takes the states of no GPU."""
    if len(devices) or len(states):
        raise RuntimeError(f"set_device_states: there is no GPU whose state could be set: devices is {list(devices)}")


def detach_variable(inputs):
    """The tensors among inputs out of their history, requiring grad as before."""
    return tuple(x.detach().requires_grad_(x.requires_grad) if isinstance(x, Tensor) else x for x in inputs)
