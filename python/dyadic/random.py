"""The default generator: seeds, states, and a block whose draws do not count."""
from ._dyadic import get_rng_state, initial_seed, seed, set_rng_state
from ._more_functions import manual_seed
from .autograd import Scope
from ._ignored import ignored as _ignored


class fork_rng(Scope):
    """What is drawn inside leaves the generator outside as it was."""

    @_ignored("devices", "device_type", why="there is one device")
    def __init__(self, devices=None, enabled=True, device_type="cuda"):
        self._enabled = enabled

    def _again(self):
        return fork_rng(enabled=self._enabled)

    def __enter__(self):
        self._state = get_rng_state()

    def __exit__(self, *exc):
        if self._enabled:
            set_rng_state(self._state)


__all__ = ["fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]
