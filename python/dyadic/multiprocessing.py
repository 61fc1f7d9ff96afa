"""Python's multiprocessing. Tensors travel between processes as copies."""
from multiprocessing import *  # noqa: F401,F403
from multiprocessing import get_context

__all__ = ["ProcessContext", "ProcessExitedException", "get_all_sharing_strategies", "get_context", "get_sharing_strategy"]
__all__ += ["set_sharing_strategy", "spawn", "start_processes"]


def get_all_sharing_strategies():
    """PyTorch's names: scripts choose among them."""
    return {"file_descriptor", "file_system"}


def get_sharing_strategy():
    """PyTorch's name of the usual one."""
    return "file_descriptor"


def set_sharing_strategy(new_strategy):
    """Accepted: tensors travel between processes as copies, so that nothing is left open or in the file system."""
    if new_strategy not in get_all_sharing_strategies():
        raise ValueError(f"set_sharing_strategy: it is one of {sorted(get_all_sharing_strategies())}, not {new_strategy!r}")


class ProcessExitedException(Exception):
    """A process that spawn has started failed; it has printed why."""

    def __init__(self, msg, error_index, error_pid, exit_code):
        super().__init__(msg)
        self.error_index, self.error_pid, self.exit_code = error_index, error_pid, exit_code


class ProcessContext:
    """The processes that spawn has started."""

    def __init__(self, processes):
        self.processes = processes

    def pids(self):
        """Their process ids."""
        return [int(p.pid) for p in self.processes]

    def join(self, timeout=None):
        """Waits for the next one that ends, at most timeout seconds; True if all have ended. If one fails the others are ended."""
        from multiprocessing.connection import wait

        running = [p.sentinel for p in self.processes if p.exitcode is None]
        if running:
            wait(running, timeout)
        codes = [p.exitcode for p in self.processes]  # once: they may change at any time
        failed = next((i for i, code in enumerate(codes) if code), None)
        if failed is None:
            return None not in codes
        for p in self.processes:
            p.terminate()
            p.join()
        one = self.processes[failed]
        raise ProcessExitedException(f"spawn: process {failed} ended with exit code {one.exitcode}", failed, one.pid, one.exitcode)


def start_processes(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """fn(i, *args) in processes i = 0 ... nprocs - 1. join: waits for all of them; else returns their ProcessContext."""
    context = get_context(start_method)
    processes = [context.Process(target=fn, args=(i, *args), daemon=daemon) for i in range(nprocs)]
    for p in processes:
        p.start()
    started = ProcessContext(processes)
    if not join:
        return started
    while not started.join():
        pass
    return None


def spawn(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """start_processes, each in an interpreter of its own: fn is a function of a module."""
    return start_processes(fn, args, nprocs, join, daemon, start_method)
