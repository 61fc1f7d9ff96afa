"""The profiler: which steps are recorded, and what is made of them."""
import contextlib
import enum
import json
import os
import time

from .. import _dyadic
from .._ignored import ignored as _ignored
from ._events import Event, EventList

_open = []  # profiles that record


class ProfilerActivity(enum.Enum):
    """Whose work is recorded: the CPU's, whatever is chosen."""

    CPU, XPU, MTIA, CUDA, HPU, PrivateUse1 = range(6)


class ProfilerAction(enum.Enum):
    """What becomes of a step."""

    NONE, WARMUP, RECORD, RECORD_AND_SAVE = range(4)


def kineto_available():
    """False: PyTorch's recorder is not here."""
    return False


def supported_activities():
    """The CPU's."""
    return {ProfilerActivity.CPU}


def schedule(*, wait, warmup, active, repeat=0, skip_first=0, skip_first_wait=0):
    """step -> ProfilerAction: after skip_first steps cycles of wait, warmup and active ones, `repeat` of them (0: without end)."""
    if active < 1 or min(wait, warmup, repeat, skip_first) < 0:
        raise ValueError(f"profiler.schedule: steps are counted from 0, active ones from 1: wait {wait}, warmup {warmup}, active {active}")

    def action(step):
        step -= skip_first
        if step < 0:
            return ProfilerAction.NONE
        first_wait = 0 if skip_first_wait else wait
        step += wait - first_wait
        cycle, at = divmod(step, wait + warmup + active)
        if repeat and cycle >= repeat or at < wait:
            return ProfilerAction.NONE
        if at < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if at < wait + warmup + active - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def _default_schedule_fn(step):
    """Every step is recorded."""
    return ProfilerAction.RECORD


def tensorboard_trace_handler(dir_name, worker_name=None, use_gzip=False):
    """on_trace_ready that writes each trace into a folder, as a JSON file of its own."""

    def handler(prof):
        os.makedirs(dir_name, exist_ok=True)
        name = f"{worker_name or f'{os.uname().nodename}_{os.getpid()}'}.{time.time_ns()}.pt.trace.json"
        prof.export_chrome_trace(os.path.join(dir_name, name + ".gz" * use_gzip))

    return handler


class record_function(contextlib.ContextDecorator):
    """A name for what runs inside, as a context or a decorator: its time stands beside the ops."""

    def __init__(self, name, args=None):
        self.name, self.args = name, args

    def __enter__(self):
        self._begin = time.perf_counter_ns()
        return self

    def __exit__(self, *exc):
        for one in _open:
            one._ranges.append((self.name, self._begin, time.perf_counter_ns()))


class profile:
    """Records what runs inside: profile() as prof, then prof.key_averages().table(). With a schedule, prof.step() is called after each
    step, and on_trace_ready(prof) when its active steps are over."""

    @_ignored(
        *("activities", "record_shapes", "profile_memory", "with_stack", "with_flops", "with_modules"),
        *("experimental_config", "execution_trace_observer", "acc_events", "use_cuda", "custom_trace_id_callback", "post_processing_timeout_s"),
        why="calls, FLOPs and bytes are counted, whatever is chosen",
    )
    def __init__(
        self, *, activities=None, schedule=None, on_trace_ready=None, record_shapes=False, profile_memory=False, with_stack=False,
        with_flops=False, with_modules=False, experimental_config=None, execution_trace_observer=None, acc_events=False, use_cuda=None,
        custom_trace_id_callback=None, post_processing_timeout_s=None,
    ):  # fmt: skip
        self.schedule, self.on_trace_ready = schedule or _default_schedule_fn, on_trace_ready
        self._stepped = schedule is not None
        self.step_num, self.current_action = 0, ProfilerAction.NONE
        self._counter, self._ranges, self._counts, self._time = None, [], [], (0, 0)

    def start(self):
        """Begins with step 0."""
        self._turn(self.schedule(self.step_num))

    def stop(self):
        """Ends; what is recorded is handed to on_trace_ready."""
        if self._counter is not None:
            self._end()

    def step(self):
        """The next step begins."""
        if self.current_action is ProfilerAction.RECORD_AND_SAVE:
            self._end()
        self.step_num += 1
        self._turn(self.schedule(self.step_num))

    def _turn(self, action):
        records = action in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)
        if records and self._counter is None:
            self._counter, self._ranges = _dyadic.counting(), []
            self._counter.__enter__()
            self._time = time.perf_counter_ns(), 0
            _open.append(self)
        elif not records and self._counter is not None:
            self._end()
        self.current_action = action

    def _end(self):
        self._counter.__exit__(None, None, None)
        self._counts, self._counter = self._counter.counts(), None
        self._time = self._time[0], time.perf_counter_ns()
        _open.remove(self)
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *exc):
        self.stop()

    def events(self):
        """What is marked, one entry each, and the ops."""
        marked = [Event(name, 1, 0, 0, (end - begin) / 1e3) for name, begin, end in self._ranges]
        ops = [Event(c["op"], c["calls"], int(c["flops"]), int(c["bytes"]), None) for c in self._counts]
        return EventList(marked + ops, (self._time[1] - self._time[0]) / 1e3)

    def key_averages(self, group_by_input_shape=False, group_by_stack_n=0, group_by_overload_name=False):
        """Entries of one name as one. Shapes and stacks are not recorded: asking for groups by them is an error."""
        if group_by_input_shape or group_by_stack_n or group_by_overload_name:
            raise NotImplementedError("profiler.key_averages: ops are counted by name: shapes, stacks and forms are not recorded")
        return self.events().merged()

    def total_average(self):
        """All entries as one."""
        return self.events().total()

    def export_chrome_trace(self, path):
        """The marked ranges as a trace for chrome://tracing or Perfetto, the ops' counts beside them; compressed if the path ends in .gz."""
        base = self._time[0]
        events = [
            {"ph": "X", "name": name, "pid": os.getpid(), "tid": 0, "ts": (b - base) / 1e3, "dur": (e - b) / 1e3} for name, b, e in self._ranges
        ]
        events.append({"ph": "X", "name": "profile", "pid": os.getpid(), "tid": 1, "ts": 0, "dur": (self._time[1] - base) / 1e3})
        ops = [{**c, "dtype": c["dtype"].name} for c in self._counts]
        opener = __import__("gzip").open if str(path).endswith(".gz") else open
        with opener(path, "wt") as f:
            json.dump({"traceEvents": events, "ops": ops}, f)

    def add_metadata(self, key, value):
        """Raises: a trace has no place for it."""
        raise NotImplementedError(f"profiler.add_metadata: a trace has no place for {key}={value}")

    add_metadata_json = preset_metadata_json = add_metadata


class ExecutionTraceObserver:
    """Raises: ops are counted, not kept."""

    def __init__(self, *args, **kwargs):
        raise NotImplementedError("profiler.ExecutionTraceObserver: ops are counted, the order of their calls is not kept")
