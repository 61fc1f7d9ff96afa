"""What the library is built of and runs with."""
from ._dyadic import __version__, get_num_threads, isa


def show():
    """A text for reports: the version, the instructions in use, the number of threads."""
    return f"Dyadic {__version__}\n  - CPU instructions in use: {isa()}\n  - threads: {get_num_threads()}\n  - no GPU"


def parallel_info():
    """A text for reports: the number of threads."""
    return f"Dyadic {__version__}\n  - threads: {get_num_threads()}"
