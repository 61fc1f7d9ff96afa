"""PyTorch's exporter, of which code asks whether it runs, and with which it registers what it would do."""
from .._absent import names_of
from .._ignored import ignored as _ignored


def is_in_onnx_export():
    """False: nothing is exported."""
    return False


@_ignored("symbolic_name", "symbolic_fn", "opset_version", why="nothing is exported")
def register_custom_op_symbolic(symbolic_name, symbolic_fn, opset_version):
    """Accepted: nothing is exported."""


@_ignored("symbolic_name", "opset_version", why="nothing is exported")
def unregister_custom_op_symbolic(symbolic_name, opset_version):
    """Accepted: nothing is exported."""


__getattr__ = names_of(__name__)
