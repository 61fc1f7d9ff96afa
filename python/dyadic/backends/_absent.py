"""What every library answers that is not used here."""


def is_available():
    """False: it is not used here."""
    return False


def is_built():
    """False: it is not used here."""
    return False


class Switches:
    """Switches that can be set, and change nothing."""

    def __init__(self, **switches):
        self.__dict__.update(switches)
