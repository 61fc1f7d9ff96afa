"""Switches for cuDNN, which is not used."""
from ..autograd.grad_mode import Scope
from .._ignored import Switches, ignored as _ignored
from ._absent import is_available  # noqa: F401

_WHY = "there is no cuDNN"
globals().update(
    vars(Switches(_WHY, enabled=False, benchmark=False, allow_tf32=False, benchmark_limit=None, fp32_precision="ieee", deterministic=True))
)


def version():
    """None: there is no cuDNN."""
    return None


@_ignored("tensor", why=_WHY)
def is_acceptable(tensor):
    """False: no tensor is on a GPU."""
    return False


class flags(Scope):
    """Accepted: its switches change nothing."""

    @_ignored("enabled", "benchmark", "benchmark_limit", "deterministic", "allow_tf32", "fp32_precision", why=_WHY)
    def __init__(self, enabled=False, benchmark=False, benchmark_limit=10, deterministic=False, allow_tf32=True, fp32_precision="none"):
        pass

    def __enter__(self):
        return None

    def __exit__(self, *exc):
        return None
