"""Switches for cuDNN, which is not used."""
from ..autograd.grad_mode import Scope
from ._absent import is_available  # noqa: F401

enabled, benchmark, allow_tf32, benchmark_limit, fp32_precision = False, False, False, None, "ieee"
deterministic = True


def version():
    """None: there is no cuDNN."""
    return None


def is_acceptable(tensor):
    """False: no tensor is on a GPU."""
    return False


class flags(Scope):
    """Accepted: its switches change nothing."""

    def __init__(self, enabled=False, benchmark=False, benchmark_limit=10, deterministic=False, allow_tf32=True, fp32_precision="none"):
        pass

    def __enter__(self):
        return None

    def __exit__(self, *exc):
        return None
