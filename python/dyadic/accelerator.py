"""The device beside the CPU that code asks for: there is none."""
from ._no_gpu import device_count, is_available, synchronize  # noqa: F401
from ._ignored import ignored as _ignored


@_ignored("check_available", why="there is no accelerator")
def current_accelerator(check_available=False):
    """None."""
