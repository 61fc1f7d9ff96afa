"""PyTorch's place of its tracer, of which code asks whether it runs."""
from ..._absent import names_of


def get_proxy_mode():
    """None: nothing is traced."""
    return None


__getattr__ = names_of(__name__)
