"""Seeds of everything that draws random numbers."""
import sys

from ._dyadic import manual_seed


def seed_everything(seed: int) -> int:
    """Seeds Dyadic, `random`, and numpy's global generator if numpy is loaded; returns the seed."""
    import random

    manual_seed(seed)
    random.seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed % 2**32)
    return seed
