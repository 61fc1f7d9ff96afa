"""Whether an argument takes calls over by __torch_function__ (_own_classes.py)."""
from . import _dyadic
from ._dyadic import Tensor
from ._own_classes import call, enter_mode, is_of_own_class, leave_mode


def has_torch_function(relevant_args):
    """Whether one of them is of a class of its own that derives from Tensor, and takes calls over."""
    return _dyadic._overrides() and any(map(is_of_own_class, relevant_args))


def has_torch_function_unary(obj):
    """Whether it takes calls over."""
    return has_torch_function((obj,))


def has_torch_function_variadic(*objs):
    """Whether one of them takes calls over."""
    return has_torch_function(objs)


def is_tensor_like(inp):
    """Whether it is a Tensor."""
    return isinstance(inp, Tensor)


def handle_torch_function(public_api, relevant_args, *args, **kwargs):
    """What the classes of relevant_args make of the call."""
    if not has_torch_function(relevant_args):
        name = getattr(public_api, "__name__", public_api)
        raise TypeError(f"handle_torch_function: no argument of {name} takes calls over; ask has_torch_function() first")
    return call(public_api, args, kwargs, relevant_args)


class TorchFunctionMode:
    """Takes all calls over while it is entered: of ops, as functions, methods and operators, and of indexing. A derived class writes
    __torch_function__(func, types, args, kwargs); what it calls goes to the mode around it, or happens. Functions that are written in
    Python (of nn.functional) show the ops that they call; attributes and tensor() are no calls."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        raise NotImplementedError(f"{type(self).__name__}: a TorchFunctionMode writes __torch_function__(func, types, args, kwargs)")

    def __enter__(self):
        enter_mode(self)
        return self

    def __exit__(self, *exc):
        leave_mode()


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that does what it is asked."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def get_default_nowrap_functions():
    """Those whose results the default __torch_function__ leaves as they are: none, as gradients and bases are read without it."""
    return set()
