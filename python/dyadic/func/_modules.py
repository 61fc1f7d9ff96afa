"""Modules as functions of their parameters."""
from .. import _dyadic
from .._dyadic import Parameter


def _slots(module):
    """Where each parameter and buffer lives, by its dotted name: (module, own name)."""
    return {
        f"{path}.{name}" if path else name: (part, name)
        for path, part in module.named_modules(remove_duplicate=False)
        for name in [n for n, _ in part._own_parameters()] + [n for n, _, _ in part._own_buffers()]
    }


def _shared(slots):
    """The other names of a tensor that has several."""
    tensors = {name: getattr(part, own) for name, (part, own) in slots.items()}
    names = {}
    for name, t in tensors.items():
        names.setdefault(id(t), []).append(name)
    return {name: [other for other in same if other != name] for same in names.values() for name in same if len(same) > 1}


def functional_call(module, parameter_and_buffer_dicts, args=None, kwargs=None, *, tie_weights=True, strict=False):
    """module(*args, **kwargs) with other tensors in the place of those parameters and buffers that a dict (or several) names.
    tie_weights: a tensor that the module has under several names is replaced under all of them. strict: all are named."""
    given = parameter_and_buffer_dicts
    if not isinstance(given, dict):
        merged = {}
        for d in given:
            if merged.keys() & d.keys():
                raise ValueError(f"functional_call: {sorted(merged.keys() & d.keys())} are in more than one dict")
            merged |= d
        given = merged
    slots = _slots(module)
    unknown = [name for name in given if name not in slots]
    missing = [name for name in slots if name not in given]
    if strict and (unknown or missing):
        raise RuntimeError(f"functional_call: the names do not fit: unknown are {unknown}, missing {missing}")
    values = {name: value for name, value in given.items() if name in slots}
    if tie_weights:
        ties = _shared(slots)
        for name in list(values):
            for other in ties.get(name, ()):
                if other in given and given[other] is not given[name]:
                    raise ValueError(f"functional_call: {name} and {other} are one tensor of the module, and get two")
                values[other] = given[name]
    before = []
    try:
        for name, value in values.items():
            part, own = slots[name]
            # A view stands in for the caller's tensor, which does not become a Parameter by being read from a module.
            before.append((part, own, part._swap(own, value if isinstance(value, Parameter) else value.view_as(value))))
        args = () if args is None else args if isinstance(args, tuple) else (args,)
        return module(*args, **(kwargs or {}))
    finally:
        for part, own, value in reversed(before):
            part._swap(own, value)


def stack_module_state(models):
    """(parameters, buffers) of modules of one kind as dicts of stacked tensors: what vmap over functional_call takes."""
    models = list(models)
    if not models:
        raise RuntimeError("stack_module_state: no models")
    if len({type(m) for m in models}) > 1 or len({m.training for m in models}) > 1:
        raise RuntimeError("stack_module_state: the models are of one class and in one mode")

    def stacked(values):
        t = _dyadic.stack([v.detach() for v in values])
        return t.requires_grad_() if any(v.requires_grad for v in values) else t

    kinds = []
    for read in (lambda m: dict(m.named_parameters()), lambda m: dict(m.named_buffers())):
        all_of = [read(m) for m in models]
        kinds.append({name: stacked([d[name] for d in all_of]) for name in all_of[0]})
    return tuple(kinds)


def replace_all_batch_norm_modules_(root):
    """Batch norms of the tree keep no running statistics from now on; returns the tree."""
    from .. import nn

    for m in root.modules():
        if isinstance(m, nn.modules.batchnorm._BatchNorm):
            m.running_mean = m.running_var = m.num_batches_tracked = None
            m.track_running_stats = False
    return root
