"""What every kind of GPU answers, of which there are none here."""
from ._ignored import ignored as _ignored


def is_available():
    """False: there is no GPU."""
    return False


def device_count():
    """0: there is no GPU."""
    return 0


@_ignored("device", why="ops have run when they return", of="cuda.synchronize")
def synchronize(device=None):
    """Nothing is behind: ops have run when they return."""


def empty_cache():
    """No GPU has a cache."""


@_ignored("seed", why="there is no GPU", of="cuda.manual_seed")
def manual_seed(seed):
    """No GPU has a generator."""
