"""Intel GPUs."""
from ._no_gpu import device_count, empty_cache, is_available, manual_seed, synchronize  # noqa: F401
