"""Hooks around layers that are trained as they will be stored: they call the layer's child "quantizer"."""
from .._dyadic import Tensor, _own_dict, _quant


# Copied and pickled by what it is made of: its C++ object has more than its entries.
_quant.Quantizer.__reduce_ex__ = lambda self, protocol: (_remade, (*self._made_of(), {name: t.detach() for name, t in self.state_dict().items()}))


def _remade(activations, learned, parts, state):
    return _quant.remade(activations, learned, list(parts), dict(state))


def _quantizer(module):
    return next((child for name, child in module._own_children() if name == "quantizer" and isinstance(child, _quant.Quantizer)), None)


def enter(module, args):
    if (q := _quantizer(module)) is None:
        return None
    first = args[0] if args and isinstance(args[0], Tensor) else None
    x = q._enter(module, first)
    return None if first is None else (x, *args[1:])


def leave(module, *_):
    if (q := _quantizer(module)) is not None:
        q._leave(module)


def layers(model):
    """A model's modules, and whether their Python objects, on which hooks stand, live as long as they do: not those of C++'s members."""
    found = {id(model): (model, True)}
    for parent in list(model.modules()):
        for name, child in parent._own_children():
            if child is not None:
                found.setdefault(id(child), (child, name in _own_dict(parent)))
    return list(found.values())


def watch(model):
    """Every layer with a quantizer calls it."""
    for module, lasts in layers(model):
        if (q := _quantizer(module)) is None:
            continue
        if lasts:
            module.register_forward_pre_hook(enter)
            module.register_forward_hook(leave, always_call=True)
        else:
            q._watch(module)


def unwatch(model):
    """Layers without one do not look for it any more."""
    for module in model.modules():
        if _quantizer(module) is None:
            for kind in ("_forward_pre_hooks", "_forward_hooks"):
                hooks = _own_dict(module).get(kind, {})
                for key in [key for key, entry in hooks.items() if entry[0] in (enter, leave)]:
                    del hooks[key]
