"""The device beside the CPU that code asks for: there is none."""


def is_available():
    return False


def device_count():
    return 0


def current_accelerator(check_available=False):
    """None."""


def synchronize(device=None):
    """Nothing is behind: ops have run when they return."""
