"""Whether several processes can train together: not here. Scripts ask first."""


def is_available():
    """False: training is in one process."""
    return False


def is_initialized():
    """False: there is no process group."""
    return False
