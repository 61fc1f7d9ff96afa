"""What every kind of GPU answers, of which there are none here."""


def is_available():
    return False


def device_count():
    return 0


def synchronize(device=None):
    """Nothing is behind: ops have run when they return."""


def empty_cache():
    """No GPU has a cache."""


def manual_seed(seed):
    """No GPU has a generator."""
