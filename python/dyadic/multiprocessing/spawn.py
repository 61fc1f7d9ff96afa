"""Processes that are started together, each with its number."""
import signal
import sys
import traceback
from multiprocessing import get_context


class ProcessException(Exception):
    """A process that spawn has started failed: which one."""

    def __init__(self, msg, error_index, pid):
        super().__init__(msg)
        self.msg, self.error_index, self.pid = msg, error_index, pid
        self.error_pid = pid

    def __reduce__(self):
        return type(self), (self.msg, self.error_index, self.pid)


class ProcessRaisedException(ProcessException):
    """Its function raised; the message holds the traceback."""


class ProcessExitedException(ProcessException):
    """It ended, by itself or by a signal."""

    def __init__(self, msg, error_index, error_pid, exit_code, signal_name=None):
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name

    def __reduce__(self):
        return type(self), (self.msg, self.error_index, self.pid, self.exit_code, self.signal_name)


def _call(fn, i, args, errors):
    try:
        fn(i, *args)
    except KeyboardInterrupt:
        """The parent was interrupted, too."""
    except Exception:
        errors.put(traceback.format_exc())
        sys.exit(1)


class ProcessContext:
    """The processes that spawn has started."""

    def __init__(self, processes, error_queues):
        self.processes, self.error_queues = processes, error_queues

    def pids(self):
        """Their process ids."""
        return [int(p.pid) for p in self.processes]

    def join(self, timeout=None, grace_period=None):
        """Waits for the next one that ends, at most timeout seconds; grace_period: for the others to end by themselves; True if all have ended. If one fails the others are ended."""
        from multiprocessing.connection import wait

        running = [p.sentinel for p in self.processes if p.exitcode is None]
        if running:
            wait(running, timeout)
        codes = [p.exitcode for p in self.processes]  # once: they may change at any time
        failed = next((i for i, code in enumerate(codes) if code), None)
        if failed is None:
            return None not in codes
        for p in self.processes:
            if grace_period is not None:
                p.join(grace_period)
            p.terminate()
            p.join()
        one = self.processes[failed]
        if not self.error_queues[failed].empty():
            text = self.error_queues[failed].get()
            raise ProcessRaisedException(f"\n\n-- Process {failed} terminated with the following error:\n{text}", failed, one.pid)
        name = signal.Signals(-one.exitcode).name if one.exitcode < 0 else None
        how = f"by signal {name}" if name else f"with exit code {one.exitcode}"
        raise ProcessExitedException(f"spawn: process {failed} ended {how}", failed, one.pid, one.exitcode, name)


def start_processes(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """fn(i, *args) in processes i = 0 ... nprocs - 1. join: waits for all of them; else returns their ProcessContext."""
    context = get_context(start_method)
    errors = [context.SimpleQueue() for _ in range(nprocs)]
    processes = [context.Process(target=_call, args=(fn, i, args, errors[i]), daemon=daemon) for i in range(nprocs)]
    for p in processes:
        p.start()
    started = ProcessContext(processes, errors)
    if not join:
        return started
    while not started.join():
        pass
    return None


def spawn(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """start_processes, each in an interpreter of its own: fn is a function of a module."""
    return start_processes(fn, args, nprocs, join, daemon, start_method)
