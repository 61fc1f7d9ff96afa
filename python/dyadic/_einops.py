"""einops sees dyadic's tensors: a backend for it, made when (and only if) einops itself is imported."""
import sys

from . import _dyadic


def _make(backends):
    class DyadicBackend(backends.AbstractBackend):
        framework_name = "dyadic"

        def is_appropriate_type(self, tensor):
            return isinstance(tensor, _dyadic.Tensor)

        def from_numpy(self, x):
            return _dyadic.tensor(x)

        def to_numpy(self, x):
            return x.detach().numpy()

        def arange(self, start, stop):
            return _dyadic.arange(start, stop)

        def reduce(self, x, operation, axes):
            if operation in ("min", "max"):
                operation = "a" + operation
            return getattr(_dyadic, operation)(x, list(axes))

        def transpose(self, x, axes):
            return x.permute(axes)

        def reshape(self, x, shape):
            return x.reshape(list(shape))

        def stack_on_zeroth_dimension(self, tensors):
            return _dyadic.stack(tensors)

        def add_axis(self, x, new_position):
            return x.unsqueeze(new_position)

        def add_axes(self, x, n_axes, pos2len):
            sizes = [-1] * n_axes
            for position, length in pos2len.items():
                x = x.unsqueeze(position)
                sizes[position] = length
            return x.expand(sizes)

        def tile(self, x, repeats):
            return _dyadic.tile(x, list(repeats))

        def concat(self, tensors, axis):
            return _dyadic.cat(tensors, axis)

        def is_float_type(self, x):
            return x.is_floating_point()

        def einsum(self, pattern, *x):
            return _dyadic.einsum(pattern, list(x))

    return DyadicBackend


class _After:
    """A finder and loader that lets the real loader import einops._backends and adds the backend behind it. (importlib.abc, which it
    could derive from, takes a tenth of the time to import all of dyadic.)"""

    def find_spec(self, name, path, target=None):
        if name != "einops._backends":
            return None
        import importlib.util

        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None:
            return None
        self._loader, spec.loader = spec.loader, self
        return spec

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        self._loader.exec_module(module)
        module._dyadic_backend = _make(module)


def register():
    """Called by `import dyadic`; does nothing slow."""
    if "einops._backends" in sys.modules:
        backends = sys.modules["einops._backends"]
        if not hasattr(backends, "_dyadic_backend"):
            backends._dyadic_backend = _make(backends)
    else:
        sys.meta_path.insert(0, _After())
