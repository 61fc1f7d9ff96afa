"""Hooks of modules: functions that run before and after forward, whoever calls the module."""
from .._dyadic import Module, Tensor, _own_dict
from .._handle import RemovableHandle
from ..autograd import Function, is_grad_enabled


_of_all = {"_forward_pre_hooks": {}, "_forward_hooks": {}, "_backward_pre_hooks": {}, "_backward_hooks": {}}  # of every module


def _watch(self):
    if "_forward_hooks" not in _own_dict(self):
        _own_dict(self).update(_forward_hooks={}, _forward_pre_hooks={}, _backward_hooks={}, _backward_pre_hooks={}, _calls=[])
        self._watch()


def _hooks(module, kind):
    return [*_of_all[kind].values(), *getattr(module, kind).values()]


def _register(self, kind, hook, prepend):
    _watch(self)
    hooks = _own_dict(self)[kind]
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


def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False, always_call=False):
    """hook(module, args, output) runs after forward; what it returns, unless None, replaces the output. with_kwargs: hook(module,
    args, kwargs, output). always_call: it runs even if forward raises, with None for the output."""
    return _register(self, "_forward_hooks", (hook, with_kwargs, always_call), prepend)


def register_full_backward_hook(self, hook, prepend=False):
    """hook(module, grad_input, grad_output) runs in backward when the gradients of the module's inputs are known: tuples, None for
    what needs none. What it returns, unless None, replaces grad_input."""
    return _register(self, "_backward_hooks", hook, prepend)


def register_full_backward_pre_hook(self, hook, prepend=False):
    """hook(module, grad_output) runs in backward when the gradients of the module's results are known; what it returns, unless None,
    replaces them."""
    return _register(self, "_backward_pre_hooks", hook, prepend)


class _Call:
    """One forward of a module with backward hooks: what its two boundaries tell each other."""

    def __init__(self, module, inputs):
        self.module, self.grad_output = module, ()
        self.waits = is_grad_enabled() and any(t.requires_grad for t in inputs)
        self.inputs = len(inputs)

    def run(self, grad_input):
        for hook in _hooks(self.module, "_backward_hooks"):
            new = hook(self.module, grad_input, self.grad_output)
            if new is not None:
                grad_input = new if isinstance(new, tuple) else (new,)
        return grad_input


class _Inputs(Function):
    @staticmethod
    def forward(ctx, call, *tensors):
        ctx.call = call
        return tuple(t.view(t.shape) for t in tensors)

    @staticmethod
    def backward(ctx, *gradients):
        return (None,) + tuple(ctx.call.run(gradients))


class _Outputs(Function):
    @staticmethod
    def forward(ctx, call, *tensors):
        ctx.call = call
        return tuple(t.view(t.shape) for t in tensors)

    @staticmethod
    def backward(ctx, *gradients):
        for hook in _hooks(ctx.call.module, "_backward_pre_hooks"):
            new = hook(ctx.call.module, gradients)
            if new is not None:
                gradients = new if isinstance(new, tuple) else (new,)
        ctx.call.grad_output = gradients
        if not ctx.call.waits:
            ctx.call.run((None,) * ctx.call.inputs)
        return (None,) + gradients


def _through(function, call, values):
    """The tuple with its tensors passed through a boundary."""
    tensors = [v for v in values if isinstance(v, Tensor)]
    passed = iter(function.apply(call, *tensors))
    return tuple(next(passed) if isinstance(v, Tensor) else v for v in values)


def before(module, args, kwargs):
    """What forward is called with: C++ asks, where it calls the module."""
    for hook, with_kwargs in _hooks(module, "_forward_pre_hooks"):
        new = hook(module, args, kwargs) if with_kwargs else hook(module, args)
        if new is None:
            continue
        if with_kwargs:
            args, kwargs = new
        else:
            args = new if isinstance(new, tuple) else (new,)
    if _hooks(module, "_backward_hooks") or _hooks(module, "_backward_pre_hooks"):
        module._calls.append(_Call(module, [a for a in args if isinstance(a, Tensor)]))
        args = _through(_Inputs, module._calls[-1], args)
    return args, kwargs


def after(module, args, kwargs, output):
    """What the module gives."""
    calls = _own_dict(module).get("_calls")  # none where C++ alone watches the module
    if calls:
        several = isinstance(output, tuple)
        output = _through(_Outputs, calls.pop(), output if several else (output,))
        output = output if several else output[0]
    for hook, with_kwargs, _ in _hooks(module, "_forward_hooks"):
        new = hook(module, args, kwargs, output) if with_kwargs else hook(module, args, output)
        output = output if new is None else new
    return output


def record(module, recording):
    """Makes the module a compiled one (compiler.py)."""
    _watch(module)
    _own_dict(module)["_recording"] = recording


def call(module, args, kwargs):
    """Where Python calls the module."""
    recording = _own_dict(module).get("_recording")
    return recording.call(_call, (module, args, kwargs), {}) if recording else _call(module, args, kwargs)


def _call(module, args, kwargs):
    calls = _own_dict(module).get("_calls", [])
    waiting = len(calls)
    try:
        args, kwargs = before(module, args, kwargs)
        output = module._forward_in_hooks(tuple(args), kwargs)
    except Exception:
        del calls[waiting:]  # a forward that failed has no backward
        for hook, with_kwargs, always in _hooks(module, "_forward_hooks"):
            if always:
                hook(module, args, kwargs, None) if with_kwargs else hook(module, args, None)
        raise
    return after(module, args, kwargs, output)


_native_call = Module.__call__


def _call_watched(self, *args, **kwargs):
    """Module.__call__ once there have been hooks of every module: C++ calls the hooks of those that are watched."""
    if any(_of_all.values()):
        for m in self.modules():
            _watch(m)
    return _native_call(self, *args, **kwargs)


def _register_for_all(kind, hook):
    hooks = _of_all[kind]
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    Module.__call__ = _call_watched
    return handle


def register_module_forward_pre_hook(hook):
    """hook(module, args) runs before every module's forward; what it returns, unless None, replaces the arguments."""
    return _register_for_all("_forward_pre_hooks", (hook, False))


def register_module_forward_hook(hook, *, with_kwargs=False, always_call=False):
    """hook(module, args, output) runs after every module's forward; what it returns, unless None, replaces the output."""
    return _register_for_all("_forward_hooks", (hook, with_kwargs, always_call))


def register_module_full_backward_hook(hook):
    """hook(module, grad_input, grad_output) of every module, as Module.register_full_backward_hook of one."""
    return _register_for_all("_backward_hooks", hook)


def register_module_full_backward_pre_hook(hook):
    """hook(module, grad_output) of every module, as Module.register_full_backward_pre_hook of one."""
    return _register_for_all("_backward_pre_hooks", hook)


Module._forward_hooks, Module._forward_pre_hooks, Module._backward_hooks, Module._backward_pre_hooks = {}, {}, {}, {}
Module.register_forward_hook, Module.register_forward_pre_hook = register_forward_hook, register_forward_pre_hook
Module.register_full_backward_hook = register_full_backward_hook
Module.register_full_backward_pre_hook = register_full_backward_pre_hook
