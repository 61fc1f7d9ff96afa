"""torch.plan: what training takes, and how it fits into less (docs/plan.md)."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ._sizes import size_in_bytes

__all__ = ["MemoryPlan", "plan"]


class MemoryPlan:
    """What plan() found. str() is a table; `candidates` are in the order of the time that they cost."""

    def __init__(self, found: Any):
        self._plan = found

    @property
    def candidates(self) -> list:
        """The ways to train that no other beats in both time and bytes: name, exact, allowed, fits, seconds, peak, bytes by category."""
        return self._plan.candidates

    @property
    def fits(self) -> bool:
        """Whether any candidate that is allowed is within the limit."""
        return self._plan.fits()

    @property
    def chosen(self) -> Any:
        """The fastest that is allowed and fits; OutOfMemoryError that names the least that would do where there is none."""
        return self._plan.chosen()

    def least(self, allowed: bool = True) -> int:
        """Bytes: the smallest limit that can be met; allowed=False: by what is not allowed as well."""
        return self._plan.least(allowed)

    @contextlib.contextmanager
    def recomputing(self) -> Iterator[None]:
        """Forward by the chosen candidate: what it says is made again in backward, to the same bits. Ends before backward begins."""
        from ._dyadic import _study

        scope = _study.Recomputing(self._plan.chosen())
        try:
            yield
        finally:
            del scope

    def __str__(self) -> str:
        return self._plan.text()

    def __repr__(self) -> str:
        return f"<MemoryPlan of {len(self.candidates)} candidates>"

    def _repr_html_(self) -> str:
        import html

        return f"<pre>{html.escape(str(self))}</pre>"


def plan(
    make_model: Callable[[], Any],
    batch: Any,
    loss: Callable[[Any, Any], Any] | None = None,
    *,
    recipe: Any = "f32",
    optimizer: str | type = "AdamW",
    optimizer_options: Mapping[str, Any] | None = None,
    memory_limit: int | str | None = None,
    offload_folder: str | os.PathLike[str] | None = None,
    allow: Sequence[str] = (),
) -> MemoryPlan:
    """Plans training on batches like `batch` so that it fits, before anything is allocated: the model is made on the device meta.

    make_model    makes the module, as in study.predict
    loss          loss(model, batch); None: the mean of what the model makes of the batch, or of its first part
    recipe        precision, a name or a study.Recipe
    memory_limit  bytes that all tensors may take: 4 << 30 or "4G"; None: none
    offload_folder
                  where parameters and optimizer states may lie, in the same bits: a candidate whose on_disk says so asks for
                  accelerate's dispatch_model(model, {"": "disk"}, offload_dir=offload_folder); None: they stay in memory
    allow         what may change results: "accumulation" (a batch in pieces), "states" (of the optimizer, in 8 bits)"""
    from . import _study_arguments as arguments, study
    from ._dyadic import _study

    if isinstance(allow, str):
        allow = [allow]
    return MemoryPlan(
        _study.plan(
            arguments.maker(make_model),
            batch,
            arguments.on_meta(loss or arguments.mean_output),
            study._recipes([recipe])[0],
            arguments.name_of(optimizer),
            dict(optimizer_options or {}),
            size_in_bytes(memory_limit or 0, "memory_limit"),
            os.fspath(offload_folder or ""),
            list(allow),
        )
    )
