"""What every kind of GPU answers, of which there are none here."""


def is_available():
    """False: there is no GPU."""
    return False


def device_count():
    """0: there is no GPU."""
    return 0


def synchronize(device=None):
    """Nothing is behind: ops have run when they return."""


def empty_cache():
    """No GPU has a cache."""


def manual_seed(seed):
    """No GPU has a generator."""
