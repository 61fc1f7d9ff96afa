"""What surrounds training: data, checkpointing."""
from . import checkpoint, data, dlpack, hooks

__all__ = ["checkpoint", "data", "dlpack", "hooks"]


def __getattr__(name):
    if name in ("benchmark", "model_zoo"):  # imported when it is asked for
        import importlib

        return importlib.import_module("." + name, __name__)
    raise AttributeError(f"module 'dyadic.utils' has no attribute '{name}'")
