"""What ran while a program did: calls, FLOPs and bytes of each op, by the library's own counters, and the time of what is marked by
record_function. The time of single ops is not measured."""
from .profiler import (
    ExecutionTraceObserver,
    ProfilerAction,
    ProfilerActivity,
    kineto_available,
    profile,
    record_function,
    schedule,
    supported_activities,
    tensorboard_trace_handler,
)

__all__ = """
ExecutionTraceObserver ProfilerAction ProfilerActivity kineto_available profile record_function schedule supported_activities
tensorboard_trace_handler
""".split()
