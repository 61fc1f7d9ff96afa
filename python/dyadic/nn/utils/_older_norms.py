"""What weight_norm and spectral_norm have in common, as they were before parametrizations: the originals are parameters and buffers of the module itself,
weight_g and weight_v, or weight_orig, weight_u and weight_v; the weight is computed anew before each forward."""
from ..._dyadic import Parameter, _own_dict
from ...autograd import no_grad
from .._computed import begin, end, entries


class OlderNorm:
    """A hook before forward, and what stands in the place of the parameter: the value that the hook has left in __dict__."""

    def read(self, module, name):
        return _own_dict(module)[name]

    def write(self, module, name, value):
        _own_dict(module)[name] = value

    def __call__(self, module, inputs):
        value = self.compute_weight(module, module.training)
        _own_dict(module)[self.name] = value
        module._set_computed(self.name, value)

    @classmethod
    def apply(cls, module, name, *options):
        what = cls.__name__
        if isinstance(entries(module).get(name), cls):
            raise RuntimeError(f"{what}: {name} of {type(module).__name__} has one already; remove it first")
        weight = dict(module._own_parameters()).get(name)
        if weight is None:
            raise ValueError(f"{what}: {type(module).__name__} has no parameter {name}; it has {', '.join(module._parameters)}")
        norm = cls(name, *options)
        begin(module, name, norm)
        norm.begin(module, weight)
        module.register_forward_pre_hook(norm)
        return module

    @classmethod
    def remove_from(cls, module, name):
        norm = entries(module).get(name)
        if not isinstance(norm, cls):
            raise ValueError(f"{cls.__name__}: {name} of {type(module).__name__} has none to remove")
        with no_grad():
            value = norm.compute_weight(module, False)
        hooks = module._forward_pre_hooks
        for key in [key for key, (hook, _) in hooks.items() if hook is norm]:
            del hooks[key]
        for part in norm.parts:
            delattr(module, f"{name}_{part}")
        del _own_dict(module)[name]
        end(module, name, Parameter(value.detach()))
        return module
