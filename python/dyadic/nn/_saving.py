"""state_dict and load_state_dict: what modules add to the C++ ones in Python (extra state, hooks, keys renamed on the way)."""
from .._dyadic import Module, Parameter
from .._handle import RemovableHandle

_EXTRA = "_extra_state"


def _tree(self):
    """(prefix, module) of the tree, under every name."""
    return [(path + "." if path else "", m) for path, m in self.named_modules(remove_duplicate=False)]


def has_extra_state(self):
    return any(type(m).get_extra_state is not Module.get_extra_state for m in self.modules())


def state_dict(self, *args, destination=None, prefix="", keep_vars=False):
    """Parameters and buffers by name; they share memory with the module. Into `destination` if there is one, names behind `prefix`;
    keep_vars: the parameters themselves. What get_extra_state() gives is there, too."""
    for name, value in zip(("destination", "prefix", "keep_vars"), args):
        destination, prefix, keep_vars = {**dict(destination=destination, prefix=prefix, keep_vars=keep_vars), name: value}.values()
    out = {} if destination is None else destination
    state = self._state_dict()
    if keep_vars:
        state.update((name, p) for name, p in self.named_parameters(remove_duplicate=False) if name in state)
    out.update((prefix + name, t) for name, t in state.items())
    for path, m in reversed(_tree(self)):  # children first
        if type(m).get_extra_state is not Module.get_extra_state:
            out[prefix + path + _EXTRA] = m.get_extra_state()
        for hook in m.__dict__.get("_state_dict_hooks", {}).values():
            hook(m, out, prefix + path, {})
    return out


def _renamed(self, state, strict):
    """The state after the modules' own renaming."""
    state = dict(state)
    for prefix, m in _tree(self):
        ignored = prefix, {}, strict, [], [], []
        for hook in m.__dict__.get("_load_pre_hooks", {}).values():
            hook(m, state, *ignored)
        if type(m)._load_from_state_dict is not Module._load_from_state_dict:
            m._load_from_state_dict(state, *ignored)
    return state


def load_state_dict(self, state_dict, strict=True, assign=False):
    """Copies values by name; one error lists everything that does not fit. assign: the tensors themselves become the parameters, in their
    own dtypes and on their devices."""
    state = _renamed(self, state_dict, strict)
    extra = {path: m for path, m in _tree(self) if type(m).set_extra_state is not Module.set_extra_state}
    extras = {path: state.pop(path + _EXTRA) for path in extra if path + _EXTRA in state}
    missing = [path + _EXTRA for path in extra if path not in extras]
    if strict and missing:
        raise RuntimeError(f"load_state_dict: missing {', '.join(missing)}")
    after = [(m, hook) for _, m in _tree(self) for hook in m.__dict__.get("_load_post_hooks", {}).values()]
    values = state
    if assign:  # compared here, not copied
        mine = self._state_dict()
        values = {name: mine[name] if name in mine and mine[name].shape == t.shape else t for name, t in state.items()}
    report = self._load_state_dict(values, strict and not after)
    report.missing_keys.extend(missing)
    for m, hook in after:
        hook(m, report)
    if strict and any(report):
        self._load_state_dict(values, True)  # raises
    if assign:
        _assign(self, state)
    for path, value in extras.items():
        extra[path].set_extra_state(value)
    return report


def _assign(self, state):
    for prefix, m in _tree(self):
        for name, p in m._own_parameters():
            if prefix + name in state:
                given = state[prefix + name]
                setattr(m, name, given if isinstance(given, Parameter) else Parameter(given.detach(), p.requires_grad))
        for name, _, persistent in m._own_buffers():
            if persistent and prefix + name in state:
                setattr(m, name, state[prefix + name])


def _registering(kind, doc):
    def register(self, hook):
        hooks = self.__dict__.setdefault(kind, {})
        handle = RemovableHandle(hooks)
        hooks[handle.id] = hook
        return handle

    register.__doc__ = doc
    return register


def _get_extra_state(self):
    """What a module keeps beside tensors: override it, and set_extra_state, to have it saved."""
    raise RuntimeError(f"{type(self).__name__}: get_extra_state() is not written")


def _set_extra_state(self, state):
    """Takes what get_extra_state() gave."""
    raise RuntimeError(f"{type(self).__name__}: set_extra_state() is not written")


def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
    """Override it to rename keys of older states in `state_dict`; values are copied afterwards."""


Module.state_dict, Module.load_state_dict = state_dict, load_state_dict
Module.get_extra_state, Module.set_extra_state, Module._load_from_state_dict = _get_extra_state, _set_extra_state, _load_from_state_dict
Module.register_state_dict_post_hook = _registering("_state_dict_hooks", "hook(module, state_dict, prefix, local_metadata) changes what state_dict() gives.")
Module.register_load_state_dict_pre_hook = _registering("_load_pre_hooks", "hook(module, state_dict, prefix, ...) changes what will be loaded.")
Module.register_load_state_dict_post_hook = _registering("_load_post_hooks", "hook(module, incompatible_keys) may clear what is no error.")
