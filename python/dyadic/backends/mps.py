"""Apple's GPUs, which are not used."""
from ._absent import is_available, is_built  # noqa: F401
