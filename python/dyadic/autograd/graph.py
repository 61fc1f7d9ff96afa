"""Nodes of the graph that backward walks, and hooks on them."""
import threading

from .._dyadic import GradFn, _SavedHooks
from .._dyadic import GradFn as Node
from .._handle import RemovableHandle
from .._ignored import ignored as _ignored

__all__ = ["Node", "register_multi_grad_hook", "save_on_cpu", "saved_tensors_hooks"]


def _add(node, hook, before):
    hooks = {}
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    node._hook(lambda *gradients: [h(*gradients) for h in hooks.values()][0] if hooks else None, before)
    return handle


def _register_hook(self, hook):
    """hook(grad_inputs, grad_outputs) runs when the node has computed the gradients of its inputs, None for those that need none;
    what it returns, unless None, replaces them. Returns a handle: handle.remove() takes it off."""
    return _add(self, hook, False)


def _register_prehook(self, hook):
    """hook(grad_outputs) runs before the node computes; what it returns, unless None, replaces them. Returns a handle."""
    return _add(self, hook, True)


GradFn.register_hook, GradFn.register_prehook = _register_hook, _register_prehook


class _Handles:
    def __init__(self, handles):
        self._handles = handles

    def remove(self):
        for h in self._handles:
            h.remove()


def register_multi_grad_hook(tensors, fn, *, mode="all"):
    """Calls fn when backward has the gradients of tensors: mode "all", with a list of them once all are there; "any", with the first,
    and only once."""
    if mode not in ("all", "any"):
        raise ValueError(f"register_multi_grad_hook: mode is {mode!r}; it is 'all' or 'any'")
    tensors, lock, seen = list(tensors), threading.Lock(), {}

    def any_hook(gradient):
        if not seen:
            seen[0] = gradient
            fn(gradient)

    def hook_of(i):
        def hook(gradient):
            with lock:
                seen[i] = gradient
                done = len(seen) == len(tensors)
                gradients = [seen[k] for k in range(len(tensors))] if done else []
                if done:
                    seen.clear()
            if done:
                fn(gradients)

        return hook

    return _Handles([t.register_hook(any_hook if mode == "any" else hook_of(i)) for i, t in enumerate(tensors)])


class saved_tensors_hooks:
    """Inside, what an op saves for backward is pack_hook(tensor), whatever it returns, and backward reads unpack_hook of that. What a
    Function of one's own saves stays as it is."""

    def __init__(self, pack_hook, unpack_hook):
        self._hooks = _SavedHooks(pack_hook, unpack_hook)

    def __enter__(self):
        self._hooks.enter()

    def __exit__(self, *exc):
        self._hooks.exit()


class save_on_cpu(saved_tensors_hooks):
    """Inside, what backward needs is kept on the CPU, and comes back to where it was."""

    @_ignored("pin_memory", "device_type", why="there is one device")
    def __init__(self, pin_memory=False, device_type="cuda"):
        super().__init__(lambda t: (t.device, t.cpu()), lambda kept: kept[1].to(kept[0]))
