"""What surrounds training: data, checkpointing."""
from . import checkpoint, data, dlpack, hooks

__all__ = ["checkpoint", "data", "dlpack", "hooks"]


def __getattr__(name):
    if name in ("benchmark", "cpp_extension", "flop_counter", "model_zoo"):  # imported when it is asked for
        import importlib

        return importlib.import_module("." + name, __package__)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
