"""Lists of what the profiler has counted."""
from .._ignored import ignored as _ignored

_KEYS = ("count", "flops", "bytes")


class Event:
    """An op, or a marked range: calls, FLOPs, bytes, and of a range the time in microseconds."""

    def __init__(self, key, count, flops, bytes, time):
        self.key = self.name = key
        self.count, self.flops, self.bytes, self._time = count, flops, bytes, time

    @property
    def cpu_time_total(self):
        """Microseconds, of what record_function has marked."""
        if self._time is None:
            raise NotImplementedError(f"profiler: the time of single ops is not measured: {self.key}; record_function measures what it marks")
        return self._time

    cpu_time = property(lambda self: self.cpu_time_total / self.count, doc="The mean of cpu_time_total.")
    device_time_total = cuda_time_total = self_device_time_total = property(lambda self: 0, doc="0: there is no GPU.")

    def __repr__(self):
        return f"<Event {self.key}: {self.count} calls, {self.flops} FLOPs, {self.bytes} bytes>"


class EventList(list):
    """Entries, and the time of all."""

    def __init__(self, events, microseconds):
        super().__init__(events)
        self.self_cpu_time_total = microseconds

    def merged(self):
        """Entries of one name as one, those with most FLOPs first, then the longest."""
        found = {}
        for e in self:
            m = found.setdefault((e.key, e._time is None), Event(e.key, 0, 0, 0, None if e._time is None else 0))
            m.count, m.flops, m.bytes = m.count + e.count, m.flops + e.flops, m.bytes + e.bytes
            m._time = None if e._time is None else m._time + e._time
        return EventList(sorted(found.values(), key=lambda e: (-e.flops, -(e._time or 0), -e.bytes)), self.self_cpu_time_total)

    key_averages = merged

    def total(self):
        """All entries as one, with the whole time."""
        return Event("Total", sum(e.count for e in self), sum(e.flops for e in self), sum(e.bytes for e in self), self.self_cpu_time_total)

    total_average = total

    @_ignored("max_src_column_width", "max_shapes_column_width", "top_level_events_only", why="sources, shapes and nesting are not recorded")
    def table(
        self, sort_by=None, row_limit=100, max_src_column_width=75, max_name_column_width=55, max_shapes_column_width=80, header=None,
        top_level_events_only=False,
    ):  # fmt: skip
        """The entries as text: sort_by "count", "flops" or "bytes"; any other word (times are PyTorch's usual one) sorts by the time of what
        is marked, then by FLOPs."""
        key = (lambda e: getattr(e, sort_by)) if sort_by in _KEYS else lambda e: (e._time or 0, e.flops)
        rows = [("Name", "Calls", "FLOPs", "Bytes", "Time")]
        for e in sorted(self, key=key, reverse=True)[: row_limit if row_limit >= 0 else None]:
            name = e.key if max_name_column_width is None else e.key[:max_name_column_width]
            rows.append((name, str(e.count), str(e.flops), str(e.bytes), "" if e._time is None else f"{e._time / 1e3:.3f} ms"))
        widths = [max(len(row[i]) for row in rows) for i in range(5)]
        line = "  ".join("-" * w for w in widths)
        text = ["  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:]))]).rstrip() for row in rows]
        whole = f"Total time: {self.self_cpu_time_total / 1e3:.3f} ms; the time of single ops is not measured"
        return "\n".join([*([header] if header else []), text[0], line, *text[1:], line, whole]) + "\n"

    def __str__(self):
        return self.table()
