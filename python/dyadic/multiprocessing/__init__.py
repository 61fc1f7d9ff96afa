"""Python's multiprocessing. Tensors that are sent to another process are shared with it, once this module is imported: what one writes the
other sees. Those of packed and scaled formats are sent as copies."""
from multiprocessing import *  # noqa: F401,F403
from multiprocessing import get_context

from .. import _shared
from .spawn import ProcessContext, ProcessExitedException, ProcessRaisedException, spawn, start_processes

__all__ = ["ProcessContext", "ProcessExitedException", "ProcessRaisedException", "get_all_sharing_strategies", "get_context", "get_sharing_strategy"]
__all__ += ["set_sharing_strategy", "spawn", "start_processes"]


def get_all_sharing_strategies():
    """PyTorch's names: scripts choose among them."""
    return {"file_descriptor", "file_system"}


def get_sharing_strategy():
    """PyTorch's name of the usual one."""
    return "file_descriptor"


def set_sharing_strategy(new_strategy):
    """Accepted: shared memory is a file without a name, so that nothing is left in the file system."""
    if new_strategy not in get_all_sharing_strategies():
        raise ValueError(f"set_sharing_strategy: it is one of {sorted(get_all_sharing_strategies())}, not {new_strategy!r}")


_shared.register()

_OWN = __package__.partition(".")[0]


class _AsTorch:
    """Of which a process that is started makes as_torch() before it reads anything else."""

    def __reduce__(self):
        return eval, (f"__import__({_OWN!r}).as_torch()",)


def start_as_torch():
    """From now on processes that are started in an interpreter of their own are as_torch, too."""
    from multiprocessing import spawn

    of_python = spawn.get_preparation_data

    def get_preparation_data(name):
        return {"as_torch": _AsTorch(), **of_python(name)}

    spawn.get_preparation_data = get_preparation_data
