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
