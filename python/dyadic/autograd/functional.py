"""Products with Jacobians, Jacobians and Hessians of functions of tensors, with PyTorch's signatures."""
from .. import _dyadic

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]


def _as_tuple(x):
    return x if isinstance(x, tuple) else (x,)


class _Call:
    """func with its result as a tuple; remembers whether that was one tensor."""

    def __init__(self, func):
        self._func = func
        self.single = True

    def __call__(self, *inputs):
        result = self._func(*inputs)
        self.single = not isinstance(result, (tuple, list))
        return (result,) if self.single else tuple(result)


def _one(values, single):
    return values[0] if single else tuple(values)


def vjp(func, inputs, v=None, create_graph=False, strict=False):
    """(outputs, v^T J) of func at inputs; v as the outputs, or None for a scalar."""
    call = _Call(func)
    outputs, products = _dyadic._vjp(call, _as_tuple(inputs), None if v is None else _as_tuple(v), create_graph)
    return _one(outputs, call.single), _one(products, not isinstance(inputs, tuple))


def jvp(func, inputs, v=None, create_graph=False, strict=False):
    """(outputs, J v) of func at inputs; v as the inputs, or None for one input of one element."""
    call = _Call(func)
    given = _as_tuple(inputs)
    if v is None:
        if len(given) != 1 or given[0].numel() != 1:
            raise RuntimeError("jvp: v is missing: it can be left out for a single input of one element only")
        v = _dyadic.ones_like(given[0])
    outputs, products = _dyadic._jvp(call, given, _as_tuple(v), create_graph)
    return _one(outputs, call.single), _one(products, call.single)


def jacobian(func, inputs, create_graph=False, strict=False, vectorize=False, strategy="reverse-mode"):
    """d outputs / d inputs: a tensor [*output, *input], in tuples where func has several outputs or inputs."""
    call = _Call(func)
    single = not isinstance(inputs, tuple)
    rows = [_one(row, single) for row in _dyadic._jacobian(call, _as_tuple(inputs), create_graph)]
    return _one(rows, call.single)


def hessian(func, inputs, create_graph=False, strict=False, vectorize=False, outer_jacobian_strategy="reverse-mode"):
    """The second derivatives of a scalar function: a tensor [*input, *input], tuples of tuples for several inputs."""
    single = not isinstance(inputs, tuple)
    rows = [_one(row, single) for row in _dyadic._hessian(_Call(func), _as_tuple(inputs), create_graph)]
    return _one(rows, single)


def vhp(func, inputs, v=None, create_graph=False, strict=False):
    """(output, v^T H) of a scalar function; the Hessian is symmetric."""
    return hvp(func, inputs, v, create_graph, strict)


def hvp(func, inputs, v=None, create_graph=False, strict=False):
    """(output, H v) of a scalar function."""
    single = not isinstance(inputs, tuple)
    call = _Call(func)
    value = []

    def gradient(*x):
        y = call(*x)
        value.append(y[0].detach())
        return _dyadic._grad(y[0], x, create_graph=True)

    _, products = _dyadic._vjp(gradient, _as_tuple(inputs), _as_tuple(v), create_graph)
    return value[0], _one(products, single)
