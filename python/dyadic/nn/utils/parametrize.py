"""Parameters that are computed from others: module.weight = f(original), wherever the module reads it, with f a Module. The
originals are what is trained and saved: "parametrizations.<name>.original"."""
import contextlib

from ..._dyadic import Module, ModuleList, Parameter, Tensor, _own_dict
from ...autograd import no_grad
from .._computed import begin, end

__all__ = ["ParametrizationList", "cached", "is_parametrized", "register_parametrization", "remove_parametrizations"]

_cache = None


class ParametrizationList(ModuleList):
    """Functions of one parameter, applied in order, and what they are applied to: `original`, or original0, original1 ... where the
    first one's right_inverse gives several."""

    def __init__(self, modules, original):
        super().__init__(list(modules))
        value = original
        for m in reversed(list(self)):
            if hasattr(m, "right_inverse"):
                with contextlib.suppress(NotImplementedError):
                    value = m.right_inverse(value)
        if isinstance(value, Tensor):
            self.originals = ("original",)
            self.original = Parameter(value.detach().clone(), original.requires_grad)
        else:
            self.originals = tuple(f"original{i}" for i in range(len(value)))
            for name, v in zip(self.originals, value):
                setattr(self, name, Parameter(v.detach().clone(), original.requires_grad))

    @property
    def is_tensor(self):
        """Whether one tensor is behind it."""
        return self.originals == ("original",)

    def forward(self):
        first, *others = list(self)
        x = first(*(getattr(self, name) for name in self.originals))
        for m in others:
            x = m(x)
        return x

    @no_grad()
    def right_inverse(self, value):
        """Sets the originals so that the parametrization gives value."""
        for m in reversed(list(self)):
            if not hasattr(m, "right_inverse"):
                raise RuntimeError(f"parametrization {type(m).__name__} does not implement right_inverse.")
            value = m.right_inverse(value)
        for name, v in zip(self.originals, [value] if isinstance(value, Tensor) else value):
            getattr(self, name).copy_(v)


class _Parametrizations(Module):
    """The lists of a module, by the name of what they compute."""

    def __iter__(self):
        return iter([name for name, _ in self._own_children()])

    def __contains__(self, name):
        return name in dict(self._own_children())

    def __getitem__(self, name):
        return dict(self._own_children())[name]

    def _get_name(self):
        return "ModuleDict"


class _Parametrized:
    """In the place of a parameter that parametrizations of its module compute."""

    def read(self, module, name):
        if _cache is None:
            return module.parametrizations[name].forward()
        key = (id(module), name)
        if key not in _cache:
            _cache[key] = module.parametrizations[name].forward()
        return _cache[key]

    def write(self, module, name, value):
        module.parametrizations[name].right_inverse(value)


def _set_all(module, args):
    for name, _ in module.parametrizations._own_children():
        module._set_computed(name, getattr(module, name))


@contextlib.contextmanager
def cached():
    """Inside, every parametrized parameter is computed once."""
    global _cache
    before, _cache = _cache, {} if _cache is None else _cache
    try:
        yield
    finally:
        _cache = before


def is_parametrized(module, tensor_name=None):
    """Whether the module has parametrizations, or one of this name."""
    lists = dict(module._own_children()).get("parametrizations")
    if not isinstance(lists, _Parametrizations):
        return False
    return bool(dict(lists._own_children())) if tensor_name is None else tensor_name in lists


def register_parametrization(module, tensor_name, parametrization, *, unsafe=False):
    """module.<tensor_name> becomes parametrization(original); a second one is applied to what the first gives. With a right_inverse
    the original is right_inverse(parameter), so that assignments work. unsafe: it may change the shape or dtype."""
    if is_parametrized(module, tensor_name):
        value = getattr(module, tensor_name)
        _check(value, parametrization(value), tensor_name, unsafe)
        module.parametrizations[tensor_name].append(parametrization)
        return module
    if tensor_name not in dict(module.named_parameters(recurse=False)):
        raise ValueError(f"Module '{type(module).__name__}' does not have a parameter, a buffer, or a parametrized element with name '{tensor_name}'")
    value = getattr(module, tensor_name)
    with no_grad():
        made = ParametrizationList([parametrization], value)
        _check(value, made.forward(), tensor_name, unsafe)
    if not is_parametrized(module):
        module.parametrizations = _Parametrizations()
        _own_dict(module)["_parametrization_hook"] = module.register_forward_pre_hook(_set_all, prepend=True)
    setattr(module.parametrizations, tensor_name, made)
    begin(module, tensor_name, _Parametrized())
    return module


def _check(before, after, name, unsafe):
    if not unsafe and (after.shape != before.shape or after.dtype is not before.dtype):
        raise ValueError(
            f"Registering a parametrization may not change the shape or dtype of the tensor: {name} is {before.dtype} "
            f"{tuple(before.shape)}, it would be {after.dtype} {tuple(after.shape)}; pass unsafe=True"
        )


def remove_parametrizations(module, tensor_name, leave_parametrized=True):
    """A parameter again: of the computed value, or of the original."""
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {type(module).__name__} does not have a parametrization on {tensor_name}")
    made = module.parametrizations[tensor_name]
    if not leave_parametrized and not made.is_tensor:
        raise ValueError("Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a sequence of tensors.")
    with no_grad():
        value = made.forward() if leave_parametrized else made.original
    end(module, tensor_name, Parameter(value.detach().clone(), getattr(made, made.originals[0]).requires_grad))
    delattr(module.parametrizations, tensor_name)
    if not is_parametrized(module):
        _own_dict(module).pop("_parametrization_hook").remove()
        del module.parametrizations
    return module
