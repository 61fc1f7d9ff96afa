"""What every library answers that is not used here."""


def is_available():
    """False: it is not used here."""
    return False


def is_built():
    """False: it is not used here."""
    return False
