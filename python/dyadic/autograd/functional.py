"""Products with Jacobians, Jacobians and Hessians of functions of tensors, with PyTorch's signatures. strict=True: an output that does
not depend on an input is an error, not zeros."""
from .. import _dyadic
from .._ignored import ignored as _ignored

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]


def _as_tuple(x):
    return x if isinstance(x, tuple) else (x,)


class _Call:
    """func with its result as a tuple; remembers whether that was one tensor. strict: every output depends on every input."""

    def __init__(self, func, strict=False, who=""):
        self._func, self._strict, self._who = func, strict, who
        self.single = True

    def __call__(self, *inputs):
        result = self._func(*inputs)
        self.single = not isinstance(result, (tuple, list))
        outputs = (result,) if self.single else tuple(result)
        if self._strict:
            self._check(outputs, inputs)
        return outputs

    def _check(self, outputs, inputs):
        for i, y in enumerate(outputs):
            found = _dyadic._grad(y, inputs, _dyadic.ones_like(y), True, False, True) if y.requires_grad else [None]
            missing = [j for j, g in enumerate(found) if g is None]
            if missing:
                raise RuntimeError(f"{self._who}: output {i} is independent of input {missing[0]}, which strict=True forbids")


class _Gradient:
    """The gradient of a scalar function, recorded; remembers the function's value."""

    def __init__(self, func, strict, who):
        self._call = _Call(func, strict, who)

    def __call__(self, *inputs):
        (self.value,) = self._call(*inputs)
        return _dyadic._grad(self.value, inputs, create_graph=True)


def _check_v(v, inputs, who):
    if v is None and (len(inputs) != 1 or inputs[0].numel() != 1):
        raise RuntimeError(f"{who}: v is missing: it can be left out for a single input of one element only")


def _one(values, single):
    return values[0] if single else tuple(values)


def vjp(func, inputs, v=None, create_graph=False, strict=False):
    """(outputs, v^T J) of func at inputs; v as the outputs, or None for a scalar."""
    call = _Call(func, strict, "vjp")
    outputs, products = _dyadic._vjp(call, _as_tuple(inputs), None if v is None else _as_tuple(v), create_graph)
    return _one(outputs, call.single), _one(products, not isinstance(inputs, tuple))


def jvp(func, inputs, v=None, create_graph=False, strict=False):
    """(outputs, J v) of func at inputs; v as the inputs, or None for one input of one element."""
    call = _Call(func, strict, "jvp")
    given = _as_tuple(inputs)
    _check_v(v, given, "jvp")
    v = _dyadic.ones_like(given[0]) if v is None else v
    outputs, products = _dyadic._jvp(call, given, _as_tuple(v), create_graph)
    return _one(outputs, call.single), _one(products, call.single)


@_ignored("vectorize", "strategy", why="there is one way, all elements in one backward")
def jacobian(func, inputs, create_graph=False, strict=False, vectorize=False, strategy="reverse-mode"):
    """d outputs / d inputs: a tensor [*output, *input], in tuples where func has several outputs or inputs."""
    call = _Call(func, strict, "jacobian")
    single = not isinstance(inputs, tuple)
    rows = [_one(row, single) for row in _dyadic._jacobian(call, _as_tuple(inputs), create_graph)]
    if strict and create_graph and not all(t.requires_grad for row in rows for t in _as_tuple(row)):
        raise RuntimeError("jacobian: it does not depend on the input, which strict=True with create_graph=True forbids")
    return _one(rows, call.single)


@_ignored("vectorize", "outer_jacobian_strategy", why="there is one way, all elements in one backward")
def hessian(func, inputs, create_graph=False, strict=False, vectorize=False, outer_jacobian_strategy="reverse-mode"):
    """The second derivatives of a scalar function: a tensor [*input, *input], tuples of tuples for several inputs."""
    single, given = not isinstance(inputs, tuple), _as_tuple(inputs)
    if strict:  # the gradient's outputs depend on every input, too
        found = _dyadic._jacobian(_Call(_Gradient(func, True, "hessian"), True, "hessian, of the gradient"), given, create_graph)
    else:
        found = _dyadic._hessian(_Call(func), given, create_graph)
    return _one([_one(row, single) for row in found], single)


def _hessian_product(func, inputs, v, create_graph, strict, who):
    given = _as_tuple(inputs)
    _check_v(v, given, who)
    v = None if v is None else _as_tuple(v)
    gradient = _Gradient(func, strict, who)
    _, products = _dyadic._vjp(_Call(gradient, strict, f"{who}, of the gradient"), given, v, create_graph)
    return gradient.value if create_graph else gradient.value.detach(), _one(products, not isinstance(inputs, tuple))


def vhp(func, inputs, v=None, create_graph=False, strict=False):
    """(output, v^T H) of a scalar function; the Hessian is symmetric."""
    return _hessian_product(func, inputs, v, create_graph, strict, "vhp")


def hvp(func, inputs, v=None, create_graph=False, strict=False):
    """(output, H v) of a scalar function."""
    return _hessian_product(func, inputs, v, create_graph, strict, "hvp")
