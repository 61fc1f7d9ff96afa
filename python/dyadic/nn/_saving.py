"""state_dict and load_state_dict: each module saves and loads its own tensors by methods that may be overridden, with hooks around
them. What is saved knows the version of each module's class (_metadata)."""
import warnings
from collections import OrderedDict
from collections.abc import Mapping

from .._dyadic import Module, Parameter, Tensor, _own_dict
from .._handle import RemovableHandle
from ..autograd import no_grad
from ._state import _IncompatibleKeys

_EXTRA = "_extra_state"


def _has(self, name):
    return getattr(type(self), name) is not getattr(Module, name)


def overrides(self, name):
    """Whether a module of the tree has a method of that name of its own."""
    return any(_has(m, name) for m in self.modules())


def _saved(self):
    """[(name, tensor)] of what a module has itself and saves."""
    return self._own_parameters() + [(name, b) for name, b, persistent in self._own_buffers() if persistent]


def _hooks(self, kind):
    return list(_own_dict(self).get(kind, {}).values())


def _save_to_state_dict(self, destination, prefix, keep_vars):
    """Puts what this module has itself into destination, without its children."""
    for name, t in _saved(self):
        destination[prefix + name] = t if keep_vars else t.detach()
    if _has(self, "get_extra_state"):
        destination[prefix + _EXTRA] = self.get_extra_state()


def state_dict(self, *args, destination=None, prefix="", keep_vars=False):
    """Parameters and buffers by name; they share memory with the module. Into `destination` if there is one, names behind `prefix`;
    keep_vars: the parameters themselves. What get_extra_state() gives is there, too."""
    for name, value in zip(("destination", "prefix", "keep_vars"), args):
        destination, prefix, keep_vars = {**dict(destination=destination, prefix=prefix, keep_vars=keep_vars), name: value}.values()
    if destination is None:
        destination = OrderedDict()
        destination._metadata = OrderedDict()
    about = {"version": self._version}
    if hasattr(destination, "_metadata"):
        destination._metadata[prefix[:-1]] = about
    for hook in _hooks(self, "_state_dict_pre_hooks"):
        hook(self, prefix, keep_vars)
    self._save_to_state_dict(destination, prefix, keep_vars)
    for name, child in self._own_children():
        child.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
    for hook in _hooks(self, "_state_dict_hooks"):
        changed = hook(self, destination, prefix, about)
        destination = destination if changed is None else changed
    return destination


def _shown(t):
    return f"{t.dtype.name}{list(t.shape)}"


def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
    """Takes what this module has itself out of state_dict, without its children, and lists what does not fit. Override it to rename
    keys of older states before. local_metadata: the version of what was saved, if it is known."""
    for hook, with_module in _hooks(self, "_load_state_dict_pre_hooks"):
        module = (self,) if with_module else ()
        hook(*module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
    own = dict(_saved(self))
    for name, mine in own.items():
        key = prefix + name
        if key not in state_dict:
            if strict:
                missing_keys.append(key)
        elif not isinstance(state_dict[key], Tensor):
            error_msgs.append(f"{key} is {_shown(mine)} here and {type(state_dict[key]).__name__} there")
        elif mine.shape != state_dict[key].shape:
            error_msgs.append(f"{key} is {_shown(mine)} here and {_shown(state_dict[key])} there")
        elif not local_metadata.get("assign_to_params_buffers", False) and _stored_otherwise(mine, state_dict[key]):
            there = f"{key} is {_shown(mine)} here and {_shown(state_dict[key])} there"
            error_msgs.append(f"{there}: assign=True takes it as it is stored, .to(dtype) of either makes them the same")
        elif local_metadata.get("assign_to_params_buffers", False):
            _assign(self, name, mine, state_dict[key])
        elif mine.device.type == "meta" and state_dict[key].device.type != "meta":
            warnings.warn(f"load_state_dict: {key} is on meta here and takes no values; assign=True puts the tensor there in its place", stacklevel=2)
        else:
            with no_grad():
                mine.detach().copy_(state_dict[key])
    extra, has_extra = prefix + _EXTRA, _has(self, "set_extra_state")
    if has_extra and extra in state_dict:
        self.set_extra_state(state_dict[extra])
    elif has_extra and strict:
        missing_keys.append(extra)
    if strict:
        children = {name for name, _ in self._own_children()}
        for key in state_dict:
            if key.startswith(prefix) and not (has_extra and key == extra):
                name, dot, _ = key[len(prefix) :].partition(".")
                if name not in (children if dot else own):
                    unexpected_keys.append(key)


def _stored_otherwise(mine, given):
    """Whether a copy would round to a scaled format, or unpack one, unseen."""
    return mine.dtype != given.dtype and (mine.dtype.is_scaled or given.dtype.is_scaled)


def _assign(self, name, mine, given):
    if isinstance(mine, Parameter):
        trained = mine.requires_grad and not given.dtype.is_scaled
        given = given if isinstance(given, Parameter) else Parameter(given.detach(), trained)
        given.requires_grad_(trained)
    setattr(self, name, given)


def _by_child(state, prefix):
    """The entries of each child, by its name."""
    parts = {}
    for key, t in state.items():
        name, dot, _ = key[len(prefix) :].partition(".")
        if dot and key.startswith(prefix):
            parts.setdefault(name, {})[key] = t
    return parts


def load_state_dict(self, state_dict, strict=True, assign=False):
    """Copies values by name; one error lists everything that does not fit. A scaled format (nf4, q8_0 ...) is copied only to the same one:
    another copy would round, or unpack, unseen. assign: the tensors themselves become the parameters, in their own dtypes and on their
    devices."""
    if not isinstance(state_dict, Mapping):
        raise TypeError(f"load_state_dict: it takes a dict of tensors, not {type(state_dict).__name__}")
    report, wrong = _IncompatibleKeys([], []), []
    metadata = getattr(state_dict, "_metadata", {})

    def load(m, state, prefix):
        about = {**metadata.get(prefix[:-1], {}), "assign_to_params_buffers": assign}
        m._load_from_state_dict(state, prefix, about, True, *report, wrong)
        parts = _by_child(state, prefix)
        for name, child in m._own_children():
            load(child, parts.get(name, {}), f"{prefix}{name}.")
        for hook in _hooks(m, "_load_state_dict_post_hooks"):
            hook(m, report)

    load(self, dict(state_dict), "")
    if strict and any(report):
        wrong = _lines_about(self, state_dict, report) + wrong
    if wrong:
        lines = "\n  ".join(wrong)
        raise RuntimeError(f"load_state_dict: {len(wrong)} keys of {type(self).__name__} do not fit:\n  {lines}")
    return report


_NEAREST = 20  # lines that look for the nearest key: it takes time


def _lines_about(self, state, report):
    """A line for each key that is missing or unexpected, with the nearest one of the other side."""
    import difflib

    mine = {f"{path}.{name}" if path else name: t for path, m in self.named_modules(remove_duplicate=False) for name, t in _saved(m)}
    others = [key for key in state if key not in mine]

    def near(i, key, where, names):
        return [f"nearest {where}: {n}" for n in difflib.get_close_matches(key, names, 1, 0.5)] if i < _NEAREST else []

    lines = []
    for i, key in enumerate(report.missing_keys):
        about = ([_shown(mine[key])] if key in mine else []) + near(i, key, "there", others)
        lines.append(f"missing {key}" + (f" ({'; '.join(about)})" if about else ""))
    for i, key in enumerate(report.unexpected_keys):
        lines.append(f"unexpected {key}" + "".join(f" ({n})" for n in near(i, key, "here", mine)))
    return lines


def _registering(kind, doc, wrapped=lambda hook: hook):
    def register(self, hook):
        hooks = _own_dict(self).setdefault(kind, {})
        handle = RemovableHandle(hooks)
        hooks[handle.id] = wrapped(hook)
        return handle

    register.__doc__ = doc
    return register


def _register_load_state_dict_pre_hook(self, hook, with_module=False):
    """hook(state_dict, prefix, ...), with_module: hook(module, state_dict, prefix, ...), changes what will be loaded."""
    return _registering("_load_state_dict_pre_hooks", "", lambda hook: (hook, with_module))(self, hook)


def _get_extra_state(self):
    """What a module keeps beside tensors: override it, and set_extra_state, to have it saved."""
    raise RuntimeError(f"{type(self).__name__}: get_extra_state() is not written")


def _set_extra_state(self, state):
    """Takes what get_extra_state() gave."""
    raise RuntimeError(f"{type(self).__name__}: set_extra_state() is not written")


Module._version = 1
Module.state_dict, Module.load_state_dict = state_dict, load_state_dict
Module._save_to_state_dict, Module._load_from_state_dict = _save_to_state_dict, _load_from_state_dict
Module.get_extra_state, Module.set_extra_state = _get_extra_state, _set_extra_state
Module.register_state_dict_pre_hook = _registering("_state_dict_pre_hooks", "hook(module, prefix, keep_vars) runs before state_dict().")
Module.register_state_dict_post_hook = _registering("_state_dict_hooks", "hook(module, state_dict, prefix, local_metadata) changes what state_dict() gives.")
Module._register_state_dict_hook = Module.register_state_dict_post_hook
Module.register_load_state_dict_pre_hook = _registering(
    "_load_state_dict_pre_hooks", "hook(module, state_dict, prefix, ...) changes what will be loaded.", lambda hook: (hook, True)
)
Module._register_load_state_dict_pre_hook = _register_load_state_dict_pre_hook
Module.register_load_state_dict_post_hook = _registering(
    "_load_state_dict_post_hooks", "hook(module, incompatible_keys) may clear what is no error."
)
