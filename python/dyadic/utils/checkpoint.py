"""Activation checkpointing: backward keeps a part's inputs and computes the part again."""
from .. import _dyadic
from .._dyadic import Tensor


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
    """function(*args, **kwargs), of which backward keeps the tensors among `args` alone. Backward runs the function again, with the same
    random numbers and under the same autocast, and differentiates that. Parameters that the function uses get their gradients;
    other tensors that require grad are given as arguments. PyTorch's words about the way (use_reentrant, early_stop ...) are accepted:
    there is one."""
    places = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
    form = []  # of the result: None for one tensor, else its type and what stands beside tensors

    def run(*tensors):
        given = list(args)
        for i, t in zip(places, tensors):
            given[i] = t
        result = function(*given, **kwargs)
        kind = None if isinstance(result, Tensor) else type(result)
        parts = [result] if kind is None else list(result)
        form[:] = kind, [None if isinstance(p, Tensor) else p for p in parts], [isinstance(p, Tensor) for p in parts]
        return [p for p in parts if isinstance(p, Tensor)]

    tensors = iter(_dyadic._checkpoint(run, [args[i] for i in places]))
    kind, parts, is_tensor = form
    parts = [next(tensors) if t else p for t, p in zip(is_tensor, parts)]
    if kind is None:
        return parts[0]
    return kind(*parts) if hasattr(kind, "_fields") else kind(parts)


def checkpoint_sequential(functions, segments, input, use_reentrant=None, **kwargs):
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
