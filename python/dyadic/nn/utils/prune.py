"""Pruning: elements or slices of a parameter are held at zero. weight becomes weight_orig, a parameter, times weight_mask, a buffer, anew
before each forward. What is pruned again keeps its zeros, and amounts then count what is left."""
import numbers
from abc import ABC, abstractmethod

from ... import _dyadic
from ..._dyadic import _own_dict
from ...autograd import no_grad
from ... import linalg
from .._computed import begin, end, entries

__all__ = [
    "BasePruningMethod",
    "CustomFromMask",
    "Identity",
    "L1Unstructured",
    "LnStructured",
    "PruningContainer",
    "RandomStructured",
    "RandomUnstructured",
    "custom_from_mask",
    "global_unstructured",
    "identity",
    "is_pruned",
    "l1_unstructured",
    "ln_structured",
    "random_structured",
    "random_unstructured",
    "remove",
]


class BasePruningMethod(ABC):
    """One way to choose a mask: a derived class writes compute_mask() and says by PRUNING_TYPE what it is shown of a parameter that was pruned
    before: the elements that are left ("unstructured"), the slices along self.dim that are left ("structured"), or all ("global")."""

    PRUNING_TYPE: str
    _tensor_name = None

    def __call__(self, module, inputs):
        value = self.apply_mask(module)
        _own_dict(module)[self._tensor_name] = value
        module._set_computed(self._tensor_name, value)

    def read(self, module, name):
        """What stands in the place of the parameter (_computed.py)."""
        return _own_dict(module)[name]

    def write(self, module, name, value):
        """An assignment to it, until the next forward."""
        _own_dict(module)[name] = value

    @abstractmethod
    def compute_mask(self, t, default_mask):
        """The mask of a tensor of importances; what default_mask leaves out stays out."""

    def apply_mask(self, module):
        """The original with its mask."""
        original, mask = (getattr(module, f"{self._tensor_name}_{part}") for part in ("orig", "mask"))
        return mask.to(original.dtype) * original

    @classmethod
    def apply(cls, module, name, *args, importance_scores=None, **kwargs):
        """Prunes module.<name> by cls(*args, **kwargs), by the tensor itself or by scores of its shape; the method, or all that were applied."""
        method, older = cls(*args, **kwargs), _method_of(module, name)
        method._tensor_name = name
        value = getattr(module, name)
        scores = value if importance_scores is None else importance_scores
        if scores.shape != value.shape:
            raise AssertionError(f"prune: importance_scores is {list(scores.shape)}; {name} is {list(value.shape)}")
        if older is None:
            mask = method.compute_mask(scores.detach(), _dyadic.ones_like(value.detach()))
            begin(module, name, method)
            setattr(module, name + "_orig", value)
            module.register_buffer(name + "_mask", mask)
        else:
            method = PruningContainer(*(older if isinstance(older, PruningContainer) else (older,)), method)
            mask = method.compute_mask(scores.detach(), getattr(module, name + "_mask").detach().clone())
            setattr(module, name + "_mask", mask)
            entries(module)[name] = method
            _take_hook(module, older)
        module.register_forward_pre_hook(method)
        _own_dict(module)[name] = method.apply_mask(module)
        return method

    def prune(self, t, default_mask=None, importance_scores=None):
        """t with the mask that compute_mask() gives for it, or for scores of its shape."""
        if importance_scores is not None and importance_scores.shape != t.shape:
            raise AssertionError(f"prune: importance_scores is {list(importance_scores.shape)}; t is {list(t.shape)}")
        mask = _dyadic.ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(t if importance_scores is None else importance_scores, default_mask=mask)

    def remove(self, module):
        """The parameter stands in its place again, with its zeros."""
        name = self._tensor_name
        original = getattr(module, name + "_orig")
        with no_grad():
            original.copy_(self.apply_mask(module))
        _take_hook(module, self)
        for part in ("orig", "mask"):
            delattr(module, f"{name}_{part}")
        _own_dict(module).pop(name, None)
        end(module, name, original)


class PruningContainer(BasePruningMethod):
    """Methods that were applied one after the other."""

    PRUNING_TYPE = "container"

    def __init__(self, *args):
        self._pruning_methods = ()
        self._tensor_name = args[0]._tensor_name if args else None
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method):
        """One more, of the same parameter."""
        if method is not None and not isinstance(method, BasePruningMethod):
            raise TypeError(f"PruningContainer: a method is a BasePruningMethod: it is {type(method).__name__}")
        if method is not None and method._tensor_name != self._tensor_name:
            raise ValueError(f"PruningContainer: it is of {self._tensor_name}, the method of {method._tensor_name}")
        self._pruning_methods += (method,)

    def __len__(self):
        return len(self._pruning_methods)

    def __iter__(self):
        return iter(self._pruning_methods)

    def __getitem__(self, idx):
        return self._pruning_methods[idx]

    def compute_mask(self, t, default_mask):
        """default_mask with what the last method takes from what is left."""
        method = self._pruning_methods[-1]
        left = _left(method, t, default_mask)
        mask = default_mask.to(t.dtype).clone()
        mask[left] = method.compute_mask(t[left], default_mask=default_mask[left]).to(t.dtype)
        return mask


def _left(method, t, mask):
    """The index of what a method is shown."""
    if method.PRUNING_TYPE == "unstructured":
        return mask == 1
    if method.PRUNING_TYPE == "global":
        return (slice(None),) * t.dim()
    if method.PRUNING_TYPE != "structured":
        raise ValueError(f"prune: PRUNING_TYPE is unstructured, structured or global: it is {method.PRUNING_TYPE}")
    if not hasattr(method, "dim"):
        raise AttributeError(f"prune: {type(method).__name__} is structured and does not say along which dimension: set its dim")
    _check_dim(method.dim, t)
    dim = method.dim % t.dim()
    kept = mask.sum([d for d in range(t.dim()) if d != dim]) != 0
    return (*(slice(None),) * dim, kept)


def _check_dim(dim, t):
    if not -t.dim() <= dim < t.dim():
        raise IndexError(f"prune: dim {dim} is out of range of {list(t.shape)}")


def _method_of(module, name):
    found = entries(module).get(name)
    return found if isinstance(found, BasePruningMethod) else None


def _take_hook(module, method):
    hooks = module._forward_pre_hooks
    for key in [key for key, (hook, _) in hooks.items() if hook is method]:
        del hooks[key]


def _check_amount(amount):
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"prune: amount is a number of elements or a part of them: it is {amount!r}")
    if amount < 0 or (amount > 1 and not isinstance(amount, numbers.Integral)):
        raise ValueError(f"prune: amount is an int of at least 0 or a part from 0. to 1.: it is {amount}")


def _count(amount, of):
    """How many of so many an amount is."""
    if not isinstance(amount, numbers.Integral):
        return round(amount * of)
    if amount > of:
        raise ValueError(f"prune: amount is {amount}; there are {of} to choose from")
    return int(amount)


class Identity(BasePruningMethod):
    """Nothing is pruned; the parameter has the form of a pruned one."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t, default_mask):
        return default_mask


class _ByAmount(BasePruningMethod):
    """A number of elements, or a part of them, those of the smallest scores."""

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount):
        _check_amount(amount)
        self.amount = amount

    def compute_mask(self, t, default_mask):
        mask, count = default_mask.clone(), _count(self.amount, t.numel())
        if count:
            mask.view(-1)[_dyadic.topk(self._scores(t).reshape(-1), count, largest=False).indices] = 0
        return mask


class RandomUnstructured(_ByAmount):
    """Elements by chance."""

    def _scores(self, t):
        return _dyadic.rand_like(t)


class L1Unstructured(_ByAmount):
    """The elements of the smallest absolute values."""

    def _scores(self, t):
        return t.abs()


class _Structured(BasePruningMethod):
    """A number of slices along dim, or a part of them, those of the smallest scores."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount, dim=-1):
        _check_amount(amount)
        self.amount, self.dim = amount, dim

    def compute_mask(self, t, default_mask):
        if t.dim() < 2:
            raise ValueError(f"prune: slices need two dimensions or more: the parameter is {list(t.shape)}")
        _check_dim(self.dim, t)
        count = _count(self.amount, t.size(self.dim))
        if not count:
            return default_mask
        kept = _dyadic.ones([t.size(self.dim)], dtype=default_mask.dtype)
        kept[_dyadic.topk(self._scores(t), count, largest=False).indices] = 0
        return default_mask * kept.reshape([-1 if d == self.dim % t.dim() else 1 for d in range(t.dim())])


class RandomStructured(_Structured):
    """Slices by chance."""

    def _scores(self, t):
        return _dyadic.rand([t.size(self.dim)])


class LnStructured(_Structured):
    """The slices of the smallest n-norm."""

    def __init__(self, amount, n, dim=-1):
        super().__init__(amount, dim)
        self.n = n

    def _scores(self, t):
        others = [d for d in range(t.dim()) if d != self.dim % t.dim()]
        if self.n == "nuc" or self.n == "fro" and len(others) == 2:
            return linalg.matrix_norm(t, self.n, others)
        return linalg.vector_norm(t, 2 if self.n == "fro" else self.n, others)


class CustomFromMask(BasePruningMethod):
    """A mask that is there."""

    PRUNING_TYPE = "global"

    def __init__(self, mask):
        self.mask = mask

    def compute_mask(self, t, default_mask):
        return default_mask * self.mask.to(default_mask.dtype)


def identity(module, name):
    """The form of a pruned parameter, with nothing pruned."""
    Identity.apply(module, name)
    return module


def random_unstructured(module, name, amount):
    """Prunes `amount` elements, a number or a part, by chance."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module, name, amount, importance_scores=None):
    """Prunes the `amount` elements, a number or a part, of the smallest absolute values or scores."""
    L1Unstructured.apply(module, name, amount, importance_scores=importance_scores)
    return module


def random_structured(module, name, amount, dim):
    """Prunes `amount` slices along dim by chance."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module, name, amount, n, dim, importance_scores=None):
    """Prunes the `amount` slices along dim of the smallest n-norm."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module, name, mask):
    """Prunes what mask, of the parameter's shape, has as zero."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(parameters, pruning_method, importance_scores=None, **kwargs):
    """Prunes several parameters, (module, name) pairs, together: elements are chosen among those of all."""
    pairs, given = list(parameters), importance_scores or {}
    if not isinstance(given, dict):
        raise TypeError(f"global_unstructured: importance_scores is a dict by (module, name): it is {type(given).__name__}")
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(f"global_unstructured: pruning_method is an unstructured one: {type(method).__name__} is {method.PRUNING_TYPE}")
    values = [getattr(module, name).detach() for module, name in pairs]
    scores = _dyadic.cat([given.get(pair, v).detach().reshape(-1) for pair, v in zip(pairs, values)])
    before = [getattr(module, name + "_mask", None) for module, name in pairs]
    masks = _dyadic.cat([_dyadic.ones_like(v).reshape(-1) if m is None else m.reshape(-1) for m, v in zip(before, values)])
    chosen = PruningContainer(method).compute_mask(scores, masks).split([v.numel() for v in values])
    for (module, name), value, mask in zip(pairs, values, chosen):
        custom_from_mask(module, name, mask.reshape(value.shape))


def remove(module, name):
    """The parameter stands in its place again, with its zeros."""
    method = _method_of(module, name)
    if method is None:
        raise ValueError(f"prune.remove: {name} of {type(module).__name__} is not pruned")
    method.remove(module)
    return module


def is_pruned(module):
    """Whether a parameter of the module or of one in it is pruned."""
    return any(isinstance(entry, BasePruningMethod) for m in module.modules() for entry in entries(m).values())
