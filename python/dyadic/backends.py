"""Switches that scripts set for other libraries: they are there, and nothing of Dyadic depends on them."""


class _Backend:
    def __init__(self, **switches):
        self.__dict__.update(switches)

    def is_available(self):
        return False

    def is_built(self):
        return False


cuda = _Backend(matmul=_Backend(allow_tf32=False))
cudnn = _Backend(enabled=False, deterministic=True, benchmark=False, allow_tf32=False)
mps = _Backend()
