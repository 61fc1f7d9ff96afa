"""torch._foreach_*: an op on every tensor of a list, as averages of weights and clipping are written. Lists among the further
arguments go element by element, anything else serves all."""
from ._dyadic import Tensor

PREFIX = "_foreach_"


def _share(argument, i):
    return argument[i] if isinstance(argument, (list, tuple)) else argument


def _method(name):
    """Tensor's method; in place, where it has only the other form, that and a copy."""
    base = name.removesuffix("_")
    if hasattr(Tensor, name) or base == name or not hasattr(Tensor, base):
        return getattr(Tensor, name)
    return lambda t, *args, **kwargs: t.copy_(getattr(Tensor, base)(t, *args, **kwargs))


def foreach(name):
    """The function called `name`; AttributeError if tensors have no such method."""
    method = name.removeprefix(PREFIX)
    op, in_place, has_value = _method(method), method.endswith("_"), method.startswith("addc")

    def call(tensors, *args, **kwargs):
        if has_value and len(args) > 2:
            args, kwargs = args[:2], {"value": args[2], **kwargs}
        if "ord" in kwargs:  # norm's name of it here
            kwargs["p"] = kwargs.pop("ord")
        if not isinstance(tensors, (list, tuple)):  # _foreach_pow(2, exponents)
            return tuple(op(Tensor.new_tensor(t, tensors), t) for t in args[0])
        made = [
            op(t, *(_share(a, i) for a in args), **{key: _share(a, i) for key, a in kwargs.items()}) for i, t in enumerate(tensors)
        ]
        return None if in_place else tuple(made)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"Tensor.{method} of each tensor of a list."
    return call
