"""What study.predict gives."""
from __future__ import annotations

import html as _html
from collections.abc import Iterable


class Predictions(list):
    """A dict for each recipe: "recipe", bytes at the peak of "parameters", "gradients", "optimizer", "activations", "workspace" and of
    all, "peak", "flops_per_step", and "fits": whether this machine's memory holds it. str() is a table."""

    def __init__(self, rows: Iterable[dict], table: str):
        super().__init__(rows)
        self._table = table

    def __str__(self) -> str:
        return self._table

    def _repr_html_(self) -> str:
        return f"<pre>{_html.escape(self._table)}</pre>"
