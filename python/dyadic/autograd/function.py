"""Functions with a gradient of their own."""
import functools

from .. import _levels
from .._dyadic import Tensor, _as_own_output, _attach_function, is_grad_enabled, zeros
from .grad_mode import no_grad

__all__ = ["Function", "FunctionCtx", "once_differentiable"]


def _version(t):
    return 0 if t is None or t.is_inference() else t._version


class FunctionCtx:
    """What a Function's forward leaves for its backward."""

    def __init__(self, needs_input_grad):
        self.needs_input_grad = needs_input_grad
        self._saved = ()
        self._outputs = {}  # saved tensors that are outputs, by their place: kept without their history, which holds this object
        self._versions = ()
        self._no_gradient = ()
        self._dirty = ()
        self._materialize = True
        self._released = False

    def save_for_backward(self, *tensors):
        """Keeps tensors (or None) for backward, which finds them in saved_tensors; writing into one before then is an error."""
        for i, t in enumerate(tensors):
            if t is not None and not isinstance(t, Tensor):
                raise TypeError(f"save_for_backward: it keeps Tensors and None: argument {i} is {type(t).__name__}; make it an attribute of ctx")
        self._saved = tensors
        self._versions = tuple(_version(t) for t in tensors)

    def mark_non_differentiable(self, *tensors):
        """These outputs get no history."""
        self._no_gradient = tuple(id(t) for t in tensors)

    def mark_dirty(self, *tensors):
        """These inputs were written in place; they are returned."""
        self._dirty = tuple(id(t) for t in tensors)

    def set_materialize_grads(self, value):
        """False: backward gets None, not zeros, for outputs that nothing depends on."""
        self._materialize = value

    @property
    def saved_tensors(self):
        """What save_for_backward kept. RuntimeError where one was written in place since, or when backward has let go of them."""
        if self._released:
            raise RuntimeError(
                "saved_tensors: they have been freed: backward has gone through the graph already; call it with retain_graph=True to go twice"
            )
        for i, (t, version) in enumerate(zip(self._saved, self._versions)):
            if _version(t) != version:
                raise RuntimeError(
                    f"saved_tensors: a tensor needed for backward was overwritten: saved tensor {i} was written in place "
                    "after the forward; clone it before writing"
                )
        return tuple(_as_own_output(self._outputs[i], t) if i in self._outputs else t for i, t in enumerate(self._saved))

    saved_variables = saved_tensors

    def _check_saved(self):
        for i, t in enumerate(self._saved):
            if t is not None and t.is_inference():
                raise RuntimeError(
                    f"save_for_backward: a tensor of inference mode cannot be saved: argument {i}; clone() it outside of the mode, or make it "
                    "under no_grad"
                )

    def _release(self):
        """After a backward that does not retain the graph."""
        self._released, self._saved, self._outputs = bool(self._saved) or self._released, (), {}

    def _let_go_of(self, outputs):
        place = {id(t): j for j, t in enumerate(outputs)}
        self._outputs = {i: place[id(t)] for i, t in enumerate(self._saved) if id(t) in place}
        self._saved = tuple(t.detach() if i in self._outputs else t for i, t in enumerate(self._saved))


def _is_differentiable(t):
    return isinstance(t, Tensor) and (t.is_floating_point() or t.is_complex())


def _zeros_of(t):
    """Makes zeros like t, and does not hold it."""
    return functools.partial(zeros, t.shape, dtype=t.dtype, device=t.device)


class Function:
    """A function with a gradient of its own: subclass it, write forward(ctx, *args) (or forward(*args) and setup_context(ctx,
    inputs, output)) and backward(ctx, *grad_outputs) as static methods, call it by apply. forward runs unrecorded; backward
    returns a gradient (or None) for each argument of forward.
    """

    @classmethod
    def apply(cls, *args):
        """Calls forward, and records backward where an argument requires grad. Inside of vmap, with arguments that differ between the
        entries, it is the class's vmap, if that is written."""
        if cls.vmap is not Function.vmap and _levels.differs(args):
            from ..func._rules import by_rule  # which is made of what this module is a part of

            return by_rule(cls.vmap, args)
        tensors = [a for a in args if isinstance(a, Tensor)]
        needed = tuple(isinstance(a, Tensor) and a.requires_grad for a in args)
        ctx = FunctionCtx(needed)
        with no_grad():
            if cls.setup_context is Function.setup_context:
                result = cls.forward(ctx, *args)
            else:
                result = cls.forward(*args)
                cls.setup_context(ctx, args, result)
        if not (is_grad_enabled() and any(needed)):
            return result
        outputs = result if isinstance(result, tuple) else (result,)
        ctx._check_saved()
        recorded = [_is_differentiable(t) and id(t) not in ctx._no_gradient for t in outputs]
        alone = [_zeros_of(t) if ctx._materialize and isinstance(t, Tensor) and not chosen else None for t, chosen in zip(outputs, recorded)]
        differentiable = [t for t, chosen in zip(outputs, recorded) if chosen]
        takes_gradient = [isinstance(a, Tensor) for a in args]

        def backward(*gradients):  # holds none of the outputs, whose history holds it
            gradients = iter(gradients)
            every = [next(gradients) if chosen else other and other() for chosen, other in zip(recorded, alone)]
            given = cls.backward(ctx, *every)
            given = given if isinstance(given, tuple) else (given,)
            n = len(takes_gradient)
            if len(given) < n or any(g is not None for g in given[n:]):
                raise RuntimeError(
                    f"{cls.__name__}: its backward returns the wrong number of gradients: {len(given)} for {n} arguments"
                )
            return [g for takes, g in zip(takes_gradient, given) if takes]

        dirty = [id(t) in ctx._dirty for t in differentiable]
        attached = _attach_function(cls.__name__, tensors, differentiable, backward, ctx, dirty, ctx._materialize)
        inputs = {id(t) for t in tensors} - set(ctx._dirty)
        ctx._let_go_of([None if id(t) in inputs else t for t in differentiable])
        attached = iter(attached)
        results = [next(attached) if chosen else t for t, chosen in zip(outputs, recorded)]
        return tuple(results) if isinstance(result, tuple) else results[0]

    generate_vmap_rule = False  # forward and backward see all entries at once as other functions do, whatever this says

    @staticmethod
    def vmap(info, in_dims, *args):
        """May be written: (result, out_dims) of all entries at once, for a forward that asks for values. info has batch_size and
        randomness, in_dims says for each argument where its entries lie, None where it is the same for all."""
        raise NotImplementedError("Function: vmap(info, in_dims, *args) is not written")

    @staticmethod
    def forward(*args, **kwargs):
        """Yours to write: forward(ctx, *args) gives the result from the arguments of apply; without ctx where setup_context is written."""
        raise NotImplementedError("Function: forward(ctx, *args) is not written")

    @staticmethod
    def setup_context(ctx, inputs, output):
        """May be written: fills ctx from the arguments and the result of forward."""
        raise NotImplementedError("Function: setup_context(ctx, inputs, output) is not written")

    @staticmethod
    def backward(*args, **kwargs):
        """Yours to write: backward(ctx, *grad_outputs) gives a gradient (or None) for each argument of forward."""
        raise NotImplementedError("Function: backward(ctx, *grad_outputs) is not written")


def once_differentiable(backward):
    """For a backward that is not to be differentiated itself: it runs unrecorded."""

    @functools.wraps(backward)
    def inside(ctx, *gradients):
        with no_grad():
            return backward(ctx, *gradients)

    return inside
