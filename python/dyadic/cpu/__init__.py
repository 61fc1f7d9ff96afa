"""torch.cpu's names for what runs on the CPU, as everything does."""
from . import amp  # noqa: F401
from .._ignored import ignored as _ignored


def is_available():
    """True."""
    return True


def device_count():
    """1."""
    return 1


def current_device():
    """"cpu"."""
    return "cpu"


@_ignored("device", why="ops have run when they return")
def synchronize(device=None):
    """Nothing is behind: ops have run when they return."""
