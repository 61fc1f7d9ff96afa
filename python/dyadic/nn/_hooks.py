"""Hooks of modules: functions that run before and after forward, whoever calls the module."""
from .._dyadic import Module


class RemovableHandle:
    """What a registration gives back: remove() undoes it. It is a context manager, too."""

    _next = 0

    def __init__(self, hooks):
        self.hooks, self.id = hooks, RemovableHandle._next
        RemovableHandle._next += 1

    def remove(self):
        self.hooks.pop(self.id, None)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.remove()


def _register(self, kind, hook, prepend):
    if "_forward_hooks" not in self.__dict__:
        self.__dict__["_forward_hooks"], self.__dict__["_forward_pre_hooks"] = {}, {}
        self._watch()
    hooks = self.__dict__[kind]
    handle = RemovableHandle(hooks)
    others = dict(hooks) if prepend else {}
    if prepend:
        hooks.clear()
    hooks[handle.id] = hook
    hooks.update(others)
    return handle


def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
    """hook(module, args) runs before forward; what it returns, unless None, replaces the arguments. with_kwargs: hook(module,
    args, kwargs), which returns both or None."""
    return _register(self, "_forward_pre_hooks", (hook, with_kwargs), prepend)


def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False):
    """hook(module, args, output) runs after forward; what it returns, unless None, replaces the output. with_kwargs: hook(module,
    args, kwargs, output)."""
    return _register(self, "_forward_hooks", (hook, with_kwargs), prepend)


def before(module, args, kwargs):
    for hook, with_kwargs in list(module._forward_pre_hooks.values()):
        new = hook(module, args, kwargs) if with_kwargs else hook(module, args)
        if new is None:
            continue
        if with_kwargs:
            args, kwargs = new
        else:
            args = new if isinstance(new, tuple) else (new,)
    return args, kwargs


def after(module, args, kwargs, output):
    for hook, with_kwargs in list(module._forward_hooks.values()):
        new = hook(module, args, kwargs, output) if with_kwargs else hook(module, args, output)
        output = output if new is None else new
    return output


def call(module, args, kwargs):
    args, kwargs = before(module, args, kwargs)
    return after(module, args, kwargs, module.forward(*args, **kwargs))


Module._forward_hooks, Module._forward_pre_hooks = {}, {}
Module.register_forward_hook, Module.register_forward_pre_hook = register_forward_hook, register_forward_pre_hook
