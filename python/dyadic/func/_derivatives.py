"""Derivatives of functions of trees of tensors (nested tuples, lists, dicts), by recording each call and running backward. They
nest; what comes out keeps a history where something other than the inputs required grad, and only there."""
import functools

from .. import _dyadic
from .._dyadic import Tensor, is_grad_enabled
from ..autograd.grad_mode import enable_grad
from ..utils._pytree import tree_flatten, tree_map_only, tree_unflatten
from .._ignored import ignored as _ignored
from ._vmap import of_rows


def _tracked(tree, recording):
    """The tree with each floating tensor as an input of its own; those inputs, and how to make the tree of them."""
    leaves, spec = tree_flatten(tree)
    inputs = []
    for i, x in enumerate(leaves):
        if isinstance(x, Tensor) and (x.is_floating_point() or x.is_complex()):
            leaves[i] = x.view_as(x) if recording and x.requires_grad else x.detach().requires_grad_()
            inputs.append(leaves[i])
        elif isinstance(x, Tensor):
            inputs.append(None)
    return tree_unflatten(leaves, spec), inputs, spec


def _depends_on_others(outputs, inputs):
    """Whether outputs have a history that does not begin in inputs."""
    own = {x.grad_fn if x.grad_fn is not None else id(x) for x in inputs}
    todo, seen = [], set()
    for y in outputs:
        if y.requires_grad:
            todo.append((y.grad_fn, y))
    while todo:
        node, leaf = todo.pop()
        if node is None or node.variable is not None:
            leaf = leaf if node is None else node.variable
            if id(leaf) not in own:
                return True
        elif node in own:
            if any(before is not None for before, _ in node.next_functions):
                return True
        elif node not in seen:
            seen.add(node)
            todo += [(before, None) for before, _ in node.next_functions if before is not None]
    return False


class _Recorded:
    """One recorded call: func of the tracked arguments, its results and whether others than the inputs made them."""

    def __init__(self, func, args, kwargs, places, has_aux, who):
        recording = is_grad_enabled()
        args = list(args)
        self.trees, self.inputs = [], []
        for place in places:
            if not -len(args) <= place < len(args):
                raise RuntimeError(f"{who}: argument {place} is not there: the function is called with {len(args)}")
            args[place], inputs, spec = _tracked(args[place], recording)
            self.trees.append((len(inputs), spec))
            self.inputs += inputs
        with enable_grad():
            result = func(*args, **kwargs)
        self.aux = None
        if has_aux:
            if not isinstance(result, tuple) or len(result) != 2:
                raise RuntimeError(f"{who}: with has_aux the function returns a pair (output, aux)")
            result, self.aux = result
        self.outputs, self.spec = tree_flatten(result)
        if not all(isinstance(y, Tensor) for y in self.outputs):
            raise RuntimeError(f"{who}: the function returns tensors, not {type(next(y for y in self.outputs if not isinstance(y, Tensor))).__name__}")
        used = [x for x in self.inputs if x is not None]
        self.keeps = recording and _depends_on_others(self.outputs, used)

    def outside(self, tree):
        """What the caller gets to see: without the history that was only ours."""
        return tree if self.keeps else tree_map_only(Tensor, Tensor.detach, tree)

    def value(self):
        return self.outside(tree_unflatten(self.outputs, self.spec))

    def gradients(self, outputs, seeds, retain=False, create=False):
        """Of all inputs, zeros where outputs do not depend on one."""
        inputs = [x for x in self.inputs if x is not None]
        pairs = [(y, s) for y, s in zip(outputs, seeds) if y.requires_grad]
        given = [None] * len(inputs)
        if pairs and inputs:
            given = _dyadic._grad([y for y, _ in pairs], inputs, [s for _, s in pairs], retain or create, create, True)
        given = iter(given)
        return [None if x is None else _or_zeros(next(given), x) for x in self.inputs]

    def as_arguments(self, values, single):
        """Values, one for each input, as the trees that the arguments were."""
        values, trees = list(values), []
        for count, spec in self.trees:
            trees.append(tree_unflatten(values[:count], spec))
            values = values[count:]
        return trees[0] if single else tuple(trees)


def _or_zeros(g, x):
    return _dyadic.zeros_like(x.detach()) if g is None else g


def _places(argnums):
    return (argnums,) if isinstance(argnums, int) else tuple(argnums)


def grad_and_value(func, argnums=0, has_aux=False):
    """The function that returns (d func / d argument argnums, func's value) of a func with a 0-d result; has_aux: func returns
    (result, aux), and (gradient, (value, aux)) comes out. argnums may be several numbers: a tuple of gradients."""

    @functools.wraps(func)
    def call(*args, **kwargs):
        run = _Recorded(func, args, kwargs, _places(argnums), has_aux, "grad")
        if len(run.outputs) != 1 or run.outputs[0].dim() != 0:
            shapes = [list(y.shape) for y in run.outputs]
            raise RuntimeError(f"grad: the function returns one 0-d tensor: its results have the shapes {shapes}; take their sum or mean")
        if any(x is None for x in run.inputs):
            raise RuntimeError("grad: an argument to differentiate has no floating-point numbers")
        given = run.gradients(run.outputs, [_dyadic.ones_like(run.outputs[0].detach())], run.keeps, run.keeps)
        gradients = run.as_arguments(given, isinstance(argnums, int))
        value = run.value()
        return gradients, (value, run.outside(run.aux)) if has_aux else value

    return call


def grad(func, argnums=0, has_aux=False):
    """The function that returns the gradient of a func with a 0-d result: grad_and_value without the value."""
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def call(*args, **kwargs):
        gradients, value = both(*args, **kwargs)
        return (gradients, value[1]) if has_aux else gradients

    return call


def vjp(func, *primals, has_aux=False):
    """(func(*primals), f), with aux behind where has_aux: f(cotangents), which look like the result, is a tuple of cotangents^T J,
    one for each primal (for a single one itself in a tuple of one)."""
    run = _Recorded(func, primals, {}, range(len(primals)), has_aux, "vjp")

    @_ignored("retain_graph", why="what is recorded stays as long as the function", of="func.vjp's function")
    def pull(cotangents, retain_graph=True, create_graph=None):
        seeds, spec = tree_flatten(cotangents)
        if len(seeds) != len(run.outputs):
            raise RuntimeError(f"vjp: the cotangents do not look like the result: {len(seeds)} for {len(run.outputs)} tensors")
        create = is_grad_enabled() if create_graph is None else create_graph
        given = run.gradients(run.outputs, seeds, True, create)
        free = run.keeps or any(s.requires_grad for s in seeds)
        given = given if create and free else [None if g is None else g.detach() for g in given]
        return run.as_arguments(given, False)

    value = run.value()
    return (value, pull, run.outside(run.aux)) if has_aux else (value, pull)


def _linear(run):
    """f(tangents, create) = J tangents, of one tangent or None for each floating input: the gradient of v^T J . tangents by v."""
    with enable_grad():
        seeds = [_dyadic.zeros_like(y.detach()).requires_grad_() for y in run.outputs]
        given = [g for g in run.gradients(run.outputs, seeds, True, True) if g is not None]

    def push(tangents, create):
        pairs = [(g, t) for g, t in zip(given, tangents) if t is not None and g.requires_grad]
        found = [None] * len(seeds)
        if pairs:
            found = _dyadic._grad([g for g, _ in pairs], seeds, [t for _, t in pairs], True, create, True)
        return [_or_zeros(p, y) for p, y in zip(found, run.outputs)]

    return push


def _push(run, tangents):
    """J tangents, and whether the tangents have a history."""
    tangents, _ = tree_flatten(tangents)
    tangents = [t for t, x in zip(tangents, run.inputs) if x is not None]
    with enable_grad():
        return _linear(run)(tangents, True), any(t.requires_grad for t in tangents)


def jvp(func, primals, tangents, *, strict=False, has_aux=False):
    """(func(*primals), J tangents), with aux behind where has_aux: by differentiating backward, so func's gradients need gradients."""
    if not isinstance(primals, tuple) or not isinstance(tangents, tuple) or len(primals) != len(tangents):
        raise RuntimeError("jvp: primals and tangents are tuples of one length")
    run = _Recorded(func, primals, {}, range(len(primals)), has_aux, "jvp")
    if strict and not all(y.requires_grad for y in run.outputs):
        raise RuntimeError("jvp: an output is independent of the inputs, which strict=True forbids")
    products, tracked = _push(run, tangents)
    if not (is_grad_enabled() and (run.keeps or tracked)):
        products = [p.detach() for p in products]
    value, products = run.value(), tree_unflatten(products, run.spec)
    return (value, products, run.outside(run.aux)) if has_aux else (value, products)


def linearize(func, *primals):
    """(func(*primals), f), f(*tangents) = J tangents at primals."""
    run = _Recorded(func, primals, {}, range(len(primals)), False, "linearize")

    def push(*tangents):
        products, tracked = _push(run, tangents)
        keep = is_grad_enabled() and (run.keeps or tracked)
        return tree_unflatten(products if keep else [p.detach() for p in products], run.spec)

    return run.value(), push


def jacrev(func, argnums=0, has_aux=False, *, chunk_size=None, _preallocate_and_copy=False):
    """The function that returns d func / d argument argnums: tensors [*result, *argument], in the structure of func's result and
    within it of the argument: one backward for all elements of the result (vmap), or for chunk_size of them at a time."""

    @functools.wraps(func)
    def call(*args, **kwargs):
        run = _Recorded(func, args, kwargs, _places(argnums), has_aux, "jacrev")
        return _jacobian(run, _by_outputs(run, chunk_size), argnums, has_aux)

    return call


def _jacobian(run, parts, argnums, has_aux):
    """parts[i][k], of output i by input k, in the structure of results and arguments."""
    parts = parts if run.keeps else [[None if p is None else p.detach() for p in row] for row in parts]
    result = tree_unflatten([run.as_arguments(row, isinstance(argnums, int)) for row in parts], run.spec)
    return (result, run.outside(run.aux)) if has_aux else result


def _units(x):
    """The unit vectors of x, [numel, *x.shape]."""
    return _dyadic.eye(x.numel(), dtype=x.dtype, device=x.device).reshape([x.numel(), *x.shape])


def _by_outputs(run, chunk_size=None):
    """A backward for all elements of an output."""
    parts = []
    for y in run.outputs:
        pull = lambda seed, y=y: [g for g in run.gradients([y], [seed], True, run.keeps) if g is not None]  # noqa: E731
        rows = iter(of_rows(pull, _units(y), 0, chunk_size))
        parts.append([None if x is None else next(rows).reshape([*y.shape, *x.shape]) for x in run.inputs])
    return parts


def jacfwd(func, argnums=0, has_aux=False, *, chunk_size=None, randomness="error"):
    """jacrev's result by products with unit vectors of the arguments, all at once (vmap) or chunk_size at a time. A product is a derivative
    of backward: where the arguments have more elements than the result, or numbers are complex, it is jacrev. func runs once: all
    products see the same random numbers."""
    if randomness == "different":
        raise RuntimeError("jacfwd: randomness='different': func runs once, all passes see the same random numbers; pass 'same'")

    @functools.wraps(func)
    def call(*args, **kwargs):
        run = _Recorded(func, args, kwargs, _places(argnums), has_aux, "jacfwd")
        inputs = [x for x in run.inputs if x is not None]
        fewer = sum(x.numel() for x in inputs) < sum(y.numel() for y in run.outputs)
        forward = fewer and not any(t.is_complex() for t in (*run.outputs, *inputs))
        return _jacobian(run, (_by_inputs if forward else _by_outputs)(run, chunk_size), argnums, has_aux)

    return call


def _by_inputs(run, chunk_size=None):
    """A product with all unit vectors of an input."""
    push, used = _linear(run), [x for x in run.inputs if x is not None]
    columns = []
    for x in run.inputs:
        if x is None:
            columns.append([None] * len(run.outputs))
            continue
        products = lambda unit, x=x: push([unit if other is x else None for other in used], run.keeps)  # noqa: E731
        found = of_rows(products, _units(x), -1, chunk_size)
        columns.append([p.reshape([*y.shape, *x.shape]) for p, y in zip(found, run.outputs)])
    return [[column[i] for column in columns] for i in range(len(run.outputs))]


def hessian(func, argnums=0):
    """The function that returns the second derivatives: jacfwd(jacrev(func))."""
    return jacfwd(jacrev(func, argnums), argnums)
