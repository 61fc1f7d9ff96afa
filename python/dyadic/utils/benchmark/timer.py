"""Seconds per run of a statement, measured in blocks that are long against the clock."""
import statistics
import time
import timeit

from ..._dyadic import get_num_threads, set_num_threads
from ..._ignored import ignored as _ignored


class Measurement:
    """What a Timer has measured: the seconds of each block of number_per_run runs."""

    def __init__(self, number_per_run, raw_times, stmt, label=None, sub_label=None, description=None, num_threads=1):
        self.number_per_run, self.raw_times, self.num_threads = number_per_run, list(raw_times), num_threads
        self.stmt, self.label, self.sub_label, self.description = stmt, label, sub_label, description

    @property
    def times(self):
        """Seconds per run, one for each block."""
        return [t / self.number_per_run for t in self.raw_times]

    @property
    def mean(self):
        """The mean of times."""
        return statistics.mean(self.times)

    @property
    def median(self):
        """The median of times."""
        return statistics.median(self.times)

    @property
    def iqr(self):
        """The range of the middle half of times."""
        if len(self.raw_times) < 2:
            return 0.0
        first, _, third = statistics.quantiles(self.times, n=4, method="inclusive")
        return third - first

    title = property(lambda self: self.label or self.stmt.strip(), doc="What was measured.")

    def __repr__(self):
        scale, unit = next((s, u) for s, u in ((1, "s"), (1e-3, "ms"), (1e-6, "us"), (0, "ns")) if self.median >= s)
        scale = scale or 1e-9
        lines = [f"{self.title}: {self.description}" if self.description else self.title]
        lines.append(f"  Median: {self.median / scale:.2f} {unit}, IQR: {self.iqr / scale:.2f} {unit}")
        lines.append(f"  {len(self.raw_times)} measurements, {self.number_per_run} runs per measurement, {self.num_threads} threads")
        return "\n".join(lines)


class Timer:
    """Times stmt, a text of Python, with the names of globals, after setup; on num_threads threads."""

    def __init__(self, stmt="pass", setup="pass", timer=time.perf_counter, globals=None, label=None, sub_label=None, description=None, num_threads=1):
        self._timer = timeit.Timer(stmt, setup, timer, globals)
        self._about = {"stmt": stmt, "label": label, "sub_label": sub_label, "description": description, "num_threads": num_threads}

    def _blocks(self, number, done):
        """The seconds of blocks of number runs until done(blocks)."""
        before = get_num_threads()
        set_num_threads(self._about["num_threads"])
        try:
            times = [self._timer.timeit(number)]
            while not done(times):
                times.append(self._timer.timeit(number))
            return Measurement(number, times, **self._about)
        finally:
            set_num_threads(before)

    def timeit(self, number=1000000):
        """One block of number runs."""
        self._blocks(max(number // 100, 1), lambda times: True)  # to warm up
        return self._blocks(number, lambda times: True)

    @_ignored("callback", why="nobody is told of blocks", warn=True)
    def blocked_autorange(self, callback=None, min_run_time=0.2):
        """Blocks of at least a hundredth of min_run_time (at most 2 ms), as many as it takes."""
        number, least = 1, min(2e-3, min_run_time / 100)
        while self._blocks(number, lambda times: True).raw_times[0] < least:
            number *= 10
        return self._blocks(number, lambda times: sum(times) >= min_run_time)

    @_ignored("callback", why="nobody is told of blocks", warn=True)
    def adaptive_autorange(self, threshold=0.1, *, min_run_time=0.01, max_run_time=10.0, callback=None):
        """Blocks until the middle half of them lies within threshold of the median, at most max_run_time seconds."""
        number = self.blocked_autorange(min_run_time=min_run_time).number_per_run

        def done(times):
            if sum(times) >= max_run_time:
                return True
            found = Measurement(number, times, **self._about)
            return len(times) > 3 and sum(times) >= min_run_time and found.iqr < threshold * found.median

        return self._blocks(number, done)
