"""What surrounds a training loop: checkpoints of a whole run, early stopping, the history of its metrics, gradient accumulation.

    run = dy.train.Checkpoint("runs/digits", keep=3, best="val_loss", background=True, config={"lr": 0.001},
                              model=model, optimizer=optimizer, schedule=schedule, data=loader, history=history)
    resumed = run.resume()
    step = resumed.step if resumed else 0
    while step < steps:
        for x, y in loader:
            ...
            step += 1
            history.log(step, loss=loss)
            if step % 100 == 0:
                run.save(step, val_loss=validate())
    run.wait()
"""
import json
import math
import os
from typing import Any, NamedTuple

from .. import _dyadic
from .._dyadic import Module, _train
from .._numbers import number
from ..nn._saving import overrides
from ..optim import Optimizer
from ._parts import ExtraState, WrittenOptimizer
from ._windows import windows

__all__ = ["Checkpoint", "Difference", "EarlyStopping", "History", "Progress", "Resumed", "windows"]


class Difference(NamedTuple):
    """One thing in which a saved run and this one differ; str() is a line about it."""

    kind: str  # "missing": here, not saved; "unexpected": saved, not here; "changed"
    part: str
    name: str
    there: str
    here: str
    nearest: str
    text: str

    def __str__(self) -> str:
        return self.text


class Resumed(NamedTuple):
    """What was loaded."""

    path: str
    step: int
    metrics: dict[str, float]
    differences: list[Difference]


def _resumed(loaded):
    return loaded and Resumed(*loaded[:3], [Difference(*d) for d in loaded[3]])


def _numbers(metrics):
    return {name: number(value) for name, value in metrics.items()}


def _maximize(who, mode):
    if mode not in ("min", "max"):
        raise ValueError(f'{who}: mode is "{mode}"; it is min or max')
    return mode == "max"


class Checkpoint(_train.Checkpoint):
    """Saves and restores everything that a run consists of, by name: modules, optimizers, GradScaler, schedules, averages of weights,
    DataLoaders, Generators, History, EarlyStopping, dicts, and whatever has state_dict() and load_state_dict(). The state of the
    default generator is always part of it.

    folder       of the run's checkpoints, <name>-<step>.safetensors; made when it is needed
    keep         the newest so many stay, and the best by the metric `best` where one is named (the smallest, or with mode="max" the
                 largest)
    background   save() copies what it saves and returns; a thread writes. What goes wrong there is raised by the next save() or wait()
    shard_bytes  more bytes of tensors than that go into several files
    config       settings, as JSON has them: saved and compared, never changed
    parts        name=object; more by add()

    A file appears whole or not at all, and is sealed with a checksum. An optimizer's states go by the model's names for its
    parameters."""

    def __init__(
        self,
        folder: str | os.PathLike,
        *,
        name: str = "checkpoint",
        keep: int = 3,
        best: str | None = None,
        mode: str = "min",
        background: bool = False,
        shard_bytes: int = 0,
        config: dict | None = None,
        **parts: Any,
    ):
        super().__init__(os.fspath(folder), name, keep, best or "", _maximize("Checkpoint", mode), shard_bytes, background)
        self._parts: dict[str, Any] = {}
        if config is not None:
            self.config(config)
        for part, value in parts.items():
            self.add(part, value)

    def add(self, name: str, part: Any) -> "Checkpoint":
        """One more part of the run."""
        known = isinstance(part, (dict, _dyadic.Generator, _train.History, _train.EarlyStopping))
        if isinstance(part, type) or not (known or hasattr(part, "state_dict")):
            raise TypeError(
                f"Checkpoint: {name} is {type(part).__name__}; a part has state_dict() and load_state_dict(), or is a dict or a Generator"
            )
        saves = getattr(type(part), "state_dict", None)
        by_itself = saves is Module.state_dict and overrides(part, "_save_to_state_dict")
        native = saves in (Module.state_dict, Optimizer.state_dict) and not by_itself
        self._add(name, part._part if native and isinstance(part, Optimizer) else part, native)
        self._parts[name] = part
        if saves is Module.state_dict and not by_itself and overrides(part, "get_extra_state"):
            self.add(name + "_extra_state", ExtraState(part))
        if saves is Optimizer.state_dict and part._record is None:
            self.add(name + "_written", WrittenOptimizer(self, part))
        return self

    def config(self, settings: dict) -> None:
        """Settings that must be the same when the run goes on."""
        self._config(json.dumps(settings))

    def save(self, step: int, /, **metrics: Any) -> None:
        """A checkpoint of the run after `step` steps."""
        self._save(step, _numbers(metrics))

    def wait(self) -> None:
        """Returns when the last save is on the disk; raises what went wrong with it."""
        self._wait()

    def resume(self, strict: bool = True) -> Resumed | None:
        """Loads the newest complete checkpoint; None if there is none. A damaged one is passed over with a warning. strict: a run that
        has changed is a ValueError that lists the differences, and nothing is loaded; otherwise what fits is loaded and the differences are
        returned."""
        return _resumed(self._resume(strict))

    def load(self, path: str | os.PathLike, strict: bool = True) -> Resumed:
        """Loads this checkpoint."""
        return _resumed(self._load(os.fspath(path), strict))

    def load_best(self, strict: bool = True) -> Resumed | None:
        """Loads the best of those that are there."""
        return _resumed(self._load_best(strict))

    def save_file(self, path: str | os.PathLike, step: int, /, **metrics: Any) -> None:
        """A checkpoint as a file of any name."""
        self._save_file(os.fspath(path), step, _numbers(metrics))

    def checkpoints(self) -> list[tuple[int, str]]:
        """(step, path) of the checkpoints that are there, newest first."""
        return self._list()


class EarlyStopping(_train.EarlyStopping):
    """Whether it is time to stop: when a metric has not improved by more than min_delta for `patience` updates. NaN is no improvement.
    restore_best: a module whose best state is kept, and restored by the update that says stop."""

    def __init__(self, patience: int = 5, min_delta: float = 0.0, mode: str = "min", restore_best: Module | None = None):
        super().__init__(patience, min_delta, _maximize("EarlyStopping", mode), restore_best)

    def update(self, metric: Any) -> bool:
        """True when it is time to stop."""
        return self._update(number(metric))


class History(_train.History):
    """Metrics by step: in memory, as they come in a CSV file, and for TensorBoard (a folder of event files). As a part of a Checkpoint it
    drops the rows after it when a run goes on: the file has each step once, however often the run was killed."""

    def __init__(self, csv: str | os.PathLike | None = None, tensorboard: str | os.PathLike | None = None):
        super().__init__(os.fspath(csv or ""), os.fspath(tensorboard or ""))

    def log(self, step: int, /, **values: Any) -> None:
        """A row, or more of the last one if it is of the same step."""
        self._log(step, _numbers(values))

    def text(self, tag: str, text: str, step: int) -> None:
        """A text for TensorBoard."""
        self._text(tag, text, step)

    def __getitem__(self, name: str) -> list[tuple[int, float]]:
        """(step, value) of each row that has this metric."""
        return self.column(name)


class Progress(_train.Progress):
    """A bar on standard error: redrawn in place on a terminal, a plain line every five seconds elsewhere.

    with Progress(steps, first_step=step) as bar:
        ...
        bar.step(step, loss=loss)
    """

    def __init__(self, steps: int, name: str = "train", first_step: int = 0):
        super().__init__(name, steps, first_step)

    def step(self, done: int, loss: Any = math.nan, tokens_per_s: float = math.nan) -> None:
        """So many steps are done; cheap enough for every step."""
        self._step(done, number(loss), tokens_per_s)

    def end(self, line: str = "") -> None:
        """The bar goes; the line, if there is one, stays."""
        self._end(line)

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *exc: Any) -> None:
        self.end()
