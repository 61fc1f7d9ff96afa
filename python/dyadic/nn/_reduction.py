"""The older way to say how losses are reduced: size_average and reduce, where PyTorch's signatures have them."""
import inspect
import warnings

from .._records import annotation

_YOUNGER = ("huber", "gaussian", "ctc", "linear", "adaptive")  # losses that came after reduction


def is_older(name, names):
    """Whether it is a loss that has size_average and reduce among its arguments."""
    return "reduction" in names and not name.lower().startswith(_YOUNGER)


def with_older(name, parameters):
    """The parameters of such a loss with these among them; those of anything else as they are."""
    names = [p.name for p in parameters]
    if not is_older(name, names):
        return parameters
    at = names.index("reduction")
    first = names.index("ignore_index") if "ignore_index" in names else names.index("eps") if name.lower().startswith("poisson") else at
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    old = [inspect.Parameter(p, kind, default=None, annotation=annotation("bool?")) for p in ("size_average", "reduce")]
    return [*parameters[:first], old[0], *parameters[first:at], old[1], *parameters[at:]]


def read(arguments):
    """Arguments by name with size_average and reduce, if they are given, as the reduction that they mean."""
    average, reduce = arguments.pop("size_average", None), arguments.pop("reduce", None)
    if average is not None or reduce is not None:
        word = "none" if reduce is False else "sum" if average is False else "mean"
        warnings.warn(f"size_average and reduce are deprecated; pass reduction={word!r}", stacklevel=4)
        arguments["reduction"] = word
    return arguments
