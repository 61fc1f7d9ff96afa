"""Whether an argument takes calls over by __torch_function__: that is not asked here, so none does."""
from ._dyadic import Tensor
from ._ignored import ignored as _ignored


@_ignored("relevant_args", why="no argument takes calls over")
def has_torch_function(relevant_args):
    """False: calls are not taken over."""
    return False


@_ignored("obj", why="no argument takes calls over")
def has_torch_function_unary(obj):
    """False: calls are not taken over."""
    return False


@_ignored("objs", why="no argument takes calls over")
def has_torch_function_variadic(*objs):
    """False: calls are not taken over."""
    return False


def is_tensor_like(inp):
    """Whether it is a Tensor."""
    return isinstance(inp, Tensor)


def handle_torch_function(public_api, relevant_args, *args, **kwargs):
    """Raises: there is nothing to hand a call to."""
    raise TypeError(f"handle_torch_function: no argument of {getattr(public_api, '__name__', public_api)} takes calls over; ask has_torch_function() first")


class TorchFunctionMode:
    """Of what takes all calls over while it is entered: that is not here. One with an attribute `enabled` that is False changes nothing and
    may be entered."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))

    def __enter__(self):
        if getattr(self, "enabled", True):
            raise NotImplementedError(f"{type(self).__name__}: a TorchFunctionMode is not entered here: calls are not handed over to Python")
        return self

    def __exit__(self, *exc):
        """Nothing was changed."""


def get_default_nowrap_functions():
    """Those whose results stay plain tensors: all, as no class of one's own is kept."""
    return set()
