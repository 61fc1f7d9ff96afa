"""Inner names of PyTorch that programs look at: types, and questions whose answer is no."""
import contextlib

from .. import _dyadic
from .._absent import names_of
from .._dyadic import Generator, Tensor as TensorBase, device, dtype  # noqa: F401
from .._ignored import ignored as _ignored
from .._size import Size  # noqa: F401
from .._own_classes import DisableTorchFunctionSubclass
from . import _functorch, _nn  # noqa: F401

_TensorBase, _TensorMeta = TensorBase, type(TensorBase)


@_ignored("event", why="nothing is reported")
def _log_api_usage_once(event):
    """Nothing is reported to anyone."""


def _get_tracing_state():
    """None: nothing is traced."""
    return None


def _is_torch_function_enabled():
    """Whether calls are handed to classes that derive from Tensor."""
    return _dyadic._overrides()


def _disabled_torch_function_impl(cls, func, types, args=(), kwargs=None):
    """func's result as it is: of a class that takes nothing over."""
    with DisableTorchFunctionSubclass():
        return func(*args, **(kwargs or {}))


def _get_privateuse1_backend_name():
    """PyTorch's name of a device of which there is none."""
    return "privateuseone"


def _get_accelerator(check=None):
    """The CPU: there is no other device."""
    return device("cpu")


DisableTorchFunction = DisableTorchFunctionSubclass


class _DispatchKeys(type):
    def __getattr__(cls, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return cls(name)


class DispatchKey(metaclass=_DispatchKeys):
    """A word for one of the ways by which PyTorch calls an op. Here there is one way, and no word changes it."""

    def __init__(self, name):
        self.name = name

    def __eq__(self, other):
        return isinstance(other, DispatchKey) and self.name == other.name

    def __hash__(self):
        return hash(self.name)

    def __repr__(self):
        return f"DispatchKey.{self.name}"


class DispatchKeySet:
    """Several such words."""

    def __init__(self, key):
        self._keys = frozenset([key])

    def __or__(self, other):
        made = DispatchKeySet(None)
        made._keys = self._keys | other._keys
        return made

    def has(self, key):
        """Whether the word is among them."""
        return key in self._keys


def _switch(name):
    @_ignored("values", why="nothing is translated", of="_C._jit_*")
    def switch(*values):
        """False, what it was: nothing is translated."""
        return False

    switch.__name__ = name
    return switch


_jit_set_profiling_executor, _jit_set_profiling_mode = _switch("_jit_set_profiling_executor"), _switch("_jit_set_profiling_mode")
_jit_override_can_fuse_on_cpu, _jit_override_can_fuse_on_gpu = _switch("_jit_override_can_fuse_on_cpu"), _switch("_jit_override_can_fuse_on_gpu")
_jit_set_texpr_fuser_enabled, _jit_set_nvfuser_enabled = _switch("_jit_set_texpr_fuser_enabled"), _switch("_jit_set_nvfuser_enabled")
_jit_can_fuse_on_cpu, _jit_can_fuse_on_gpu = _switch("_jit_can_fuse_on_cpu"), _switch("_jit_can_fuse_on_gpu")

_has_cuda = _has_cudnn = _has_mkldnn = _has_mps = _has_xpu = False
_get_default_device = lambda: str(_dyadic.get_default_device())  # noqa: E731
__getattr__ = names_of(__name__)
