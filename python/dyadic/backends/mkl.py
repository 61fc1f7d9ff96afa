"""Intel's MKL, which is not used."""
from ._absent import is_available  # noqa: F401
