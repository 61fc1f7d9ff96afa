"""The package opt_einsum, which is not used: einsum contracts from left to right."""
from .._ignored import Switches
from ._absent import is_available  # noqa: F401

globals().update(vars(Switches("einsum contracts from left to right", enabled=False, strategy=None)))


def get_opt_einsum():
    """None: it is not used."""
    return None
