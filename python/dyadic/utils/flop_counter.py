"""How many floating-point operations run, by the library's own counters: of every op, as its record says, forward and backward alike."""
from .. import _dyadic
from .._ignored import ignored as _ignored


class FlopCounterMode:
    """with FlopCounterMode() as counter: ...; counter.get_total_flops(). Counted are all ops; PyTorch's counter knows products,
    convolutions and attention alone, which are nearly all of it."""

    @_ignored("mods", "depth", "custom_mapping", why="ops are counted by name, as their records say")
    def __init__(self, mods=None, depth=2, display=True, custom_mapping=None):
        self.display, self._counter, self._found = display, None, []

    def __enter__(self):
        self._counter = _dyadic.counting()
        self._counter.__enter__()
        return self

    def __exit__(self, *exc):
        self._counter.__exit__(*exc)
        self._found, self._counter = self._counter.counts(), None
        if self.display:
            print(self.get_table())

    def _counts(self):
        return self._found if self._counter is None else self._counter.counts()

    def get_total_flops(self):
        """Of all ops together."""
        return sum(int(c["flops"]) for c in self._counts())

    def get_flop_counts(self):
        """{"Global": {op: FLOPs}}"""
        found = {}
        for c in self._counts():
            if c["flops"]:
                found[c["op"]] = found.get(c["op"], 0) + int(c["flops"])
        return {"Global": found}

    @_ignored("depth", why="ops are counted by name")
    def get_table(self, depth=None):
        """The counts as text, the largest first."""
        counts = sorted(self.get_flop_counts()["Global"].items(), key=lambda entry: -entry[1])
        total = max(self.get_total_flops(), 1)
        width = max([len("Global"), *(len(op) + 1 for op, _ in counts)])
        rows = [("Global", total if counts else 0), *((f" {op}", n) for op, n in counts)]
        return "\n".join(f"{name:<{width}}  {n:>18,}  {100 * n / total:6.2f}%" for name, n in rows)
