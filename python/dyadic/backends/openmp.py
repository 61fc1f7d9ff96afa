"""OpenMP, which is not used: the library has threads of its own (dyadic.set_num_threads)."""
from ._absent import is_available  # noqa: F401
