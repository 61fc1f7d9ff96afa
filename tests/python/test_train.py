"""dyadic.train: checkpoints of a run, early stopping, histories; TensorBoard's files read by a reader of their own."""
import csv
import math
import os
import pathlib
import signal
import struct
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import dyadic as dy
from dyadic import nn, optim
from dyadic.optim.swa_utils import AveragedModel
from dyadic.train import Checkpoint, EarlyStopping, History, Progress
from dyadic.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.up, self.norm, self.drop, self.down = nn.Linear(4, 16), nn.BatchNorm1d(16), nn.Dropout(0.3), nn.Linear(16, classes)

    def forward(self, x):
        return self.down(self.drop(nn.functional.relu(self.norm(self.up(x)))))


class Run:
    """All that a training run may consist of."""

    def __init__(self, folder, workers=0):
        source = dy.Generator().manual_seed(7)
        x, y = dy.randn(50, 4, generator=source), dy.randint(0, 3, (50,), generator=source)
        self.model = Net()
        self.optimizer = optim.AdamW(self.model.parameters(), lr=0.01)
        self.scaler = dy.amp.GradScaler(init_scale=64.0, growth_interval=5)
        self.schedule = optim.lr_scheduler.ReduceLROnPlateau(self.optimizer, patience=2)
        self.average = AveragedModel(self.model)
        self.noise = dy.Generator().manual_seed(1)
        self.data = DataLoader(TensorDataset(x, y), batch_size=8, shuffle=True, num_workers=workers)
        self.notes = {"seen": 0}
        self.history = History(csv=folder / "history.csv")
        self.checkpoint = Checkpoint(
            folder / "checkpoints",
            config={"lr": 0.01, "sizes": [4, 16]},
            background=True,
            shard_bytes=1500,
            **{k: v for k, v in vars(self).items()},
        )
        self.step = 0

    def train(self, steps, every=4):
        while self.step < steps:
            for x, y in self.data:
                x = x + 0.1 * dy.randn(*x.shape, generator=self.noise)
                self.optimizer.zero_grad()
                loss = nn.functional.cross_entropy(self.model(x), y)
                self.scaler.scale(loss).backward()
                self.scaler.step(self.optimizer)
                self.scaler.update()
                self.schedule.step(loss)
                self.average.update_parameters(self.model)
                self.step += 1
                self.notes["seen"] += len(y)
                self.history.log(self.step, loss=loss, lr=self.optimizer.param_groups[0]["lr"])
                if self.step % every == 0:
                    self.checkpoint.save(self.step, loss=loss)
                print("step", self.step, flush=True)
                if self.step == steps:
                    break
        self.checkpoint.wait()
        self.history.sync()

    def bits(self):
        states = [self.model.state_dict(), self.average.state_dict(), *self.optimizer.state_dict()["state"].values()]
        return [(k, t.tolist()) for s in states for k, t in s.items()] + [self.notes, self.scaler.state_dict(), self.schedule.state_dict()]


def test_a_run_goes_on_with_the_same_bits(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    dy.manual_seed(3)
    whole = Run(tmp_path / "a")
    whole.train(30)
    dy.manual_seed(3)
    Run(tmp_path / "b", workers=2).train(18)  # the last checkpoint is of step 16
    dy.manual_seed(4)
    second = Run(tmp_path / "b")
    resumed = second.checkpoint.resume()
    assert resumed.step == 16 and resumed.differences == [] and set(resumed.metrics) == {"loss"}
    assert resumed.path == str(tmp_path / "b" / "checkpoints" / "checkpoint-00000016.safetensors.index.json")
    second.step = resumed.step
    second.train(30)
    assert second.bits() == whole.bits()
    assert (tmp_path / "b" / "history.csv").read_text() == (tmp_path / "a" / "history.csv").read_text()
    assert [step for step, _ in second.checkpoint.checkpoints()] == [28, 24, 20]


@pytest.mark.slow
def test_a_killed_process_goes_on(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent(
            f"""
            import pathlib, sys
            sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r})
            import dyadic as dy
            from test_train import Run
            dy.manual_seed(3)
            run = Run(pathlib.Path(sys.argv[1]), workers=1)
            if resumed := run.checkpoint.resume():
                run.step = resumed.step
            run.train(40, every=3)
            pathlib.Path(sys.argv[1], "bits").write_text(repr(run.bits()))
            """
        )
    )

    def start(folder):
        folder.mkdir(exist_ok=True)
        return subprocess.Popen([sys.executable, program, folder], stdout=subprocess.PIPE, text=True)

    assert start(tmp_path / "whole").wait() == 0
    random, kills = np.random.default_rng(1), 0
    while True:
        process = start(tmp_path / "killed")
        for _ in range(int(random.integers(4, 9))):
            process.stdout.readline()
        if process.poll() is None and kills < 6:
            os.kill(process.pid, signal.SIGKILL)
            kills += 1
        process.stdout.read()
        if process.wait() == 0:
            break
    assert kills >= 4
    for name in ("bits", "history.csv"):
        assert (tmp_path / "killed" / name).read_text() == (tmp_path / "whole" / name).read_text()


def test_a_changed_run_is_a_diff(tmp_path):
    Checkpoint(tmp_path, config={"lr": 0.1, "data": {"batch": 8}}, model=Net()).save(5, val=0.5)
    model = Net(classes=4)
    before = model.down.weight.tolist()
    run = Checkpoint(tmp_path, config={"lr": 0.2, "data": {"batch": 8}}, modle=model)
    with pytest.raises(ValueError, match="the run: missing modle \\(nearest there: model\\)"):
        run.resume()
    run = Checkpoint(tmp_path, config={"lr": 0.2, "data": {"batch": 8}}, model=model)
    with pytest.raises(ValueError) as e:
        run.resume()
    assert str(e.value).splitlines()[1:-1] == [
        "model: down.weight is f32[3, 16] there and f32[4, 16] here",
        "model: down.bias is f32[3] there and f32[4] here",
        "config: lr is 0.1 there and 0.2 here",
    ]
    assert model.down.weight.tolist() == before
    resumed = run.resume(strict=False)
    assert resumed.step == 5 and resumed.metrics == {"val": 0.5}
    assert [(d.kind, d.part, d.name) for d in resumed.differences] == [
        ("changed", "model", "down.weight"),
        ("changed", "model", "down.bias"),
        ("changed", "config", "lr"),
    ]
    assert str(resumed.differences[2]) == "config: lr is 0.1 there and 0.2 here"
    assert model.down.weight.tolist() == before


def test_optimizers_go_by_the_models_names(tmp_path):
    model, other = Net(), Net()
    one = optim.Adam(model.parameters())
    model(dy.ones(4, 4)).sum().backward()
    one.step()
    Checkpoint(tmp_path, model=model, optimizer=one).save(1)
    two = optim.Adam(list(other.parameters())[::-1])
    Checkpoint(tmp_path, model=other, optimizer=two).resume()
    assert two.steps == 1
    for p, q in zip(model.parameters(), other.parameters()):
        assert one.state[p]["exp_avg"].tolist() == two.state[q]["exp_avg"].tolist()
    assert "optimizer.exp_avg.model.down.bias" in dy.load(tmp_path / "checkpoint-00000001.safetensors")


class Anything:
    def __init__(self, state=None):
        self.state = state

    def state_dict(self):
        return self.state

    def load_state_dict(self, state):
        self.state = state


def test_states_of_any_form(tmp_path):
    state = {
        "none": None,
        "numbers": [1, -1, 2**70, 0.1, math.inf, -math.inf, True, np.float32(0.5), np.int64(3)],
        "text": "é\n\"",
        "bytes": b"\x00\xff",
        "pair": (1, [2, (3,)]),
        "nested": {"a.b": dy.arange(3), "list": [dy.ones(2, dtype=dy.bfloat16), {"deep": dy.tensor(5)}]},
        7: {("key", 1): "value"},
        "array": np.arange(4.0).reshape(2, 2),
        "$odd": 1,
    }
    Checkpoint(tmp_path, any=Anything(state), top=Anything(dy.arange(2)), plain={"x": math.nan}).save(0)
    any, top, plain = Anything(), Anything(), {"old": 1}
    Checkpoint(tmp_path, any=any, top=top, plain=plain).resume()
    back = any.state
    assert list(back) == list(state)
    for key in ("none", "numbers", "text", "bytes", "pair", 7, "$odd"):
        assert back[key] == state[key] and type(back[key]) is type(state[key])
    assert back["nested"]["a.b"].tolist() == [0, 1, 2] and back["nested"]["list"][0].dtype == dy.bfloat16
    assert back["nested"]["list"][1]["deep"].item() == 5 and back["nested"]["list"][1]["deep"].dtype == dy.int64
    assert isinstance(back["array"], np.ndarray) and back["array"].tolist() == [[0, 1], [2, 3]]
    assert top.state.tolist() == [0, 1]
    assert list(plain) == ["x"] and math.isnan(plain["x"])
    with pytest.raises(TypeError, match="a state holds numbers, texts, tensors, lists and dicts: a.0 is function"):
        Checkpoint(tmp_path, any=Anything({"a": [lambda: 0]})).save(1)
    with pytest.raises(ValueError, match="two tensors of a state come out as a.b"):
        Checkpoint(tmp_path, any=Anything({"a.b": dy.ones(1), "a": {"b": dy.ones(1)}})).save(1)
    with pytest.raises(TypeError, match="Checkpoint: x is int; a part has state_dict"):
        Checkpoint(tmp_path, x=3)


def test_errors_of_parts_and_of_the_writer(tmp_path):
    class Broken(Anything):
        def state_dict(self):
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        Checkpoint(tmp_path, x=Broken()).save(0)
    (tmp_path / "file").write_text("in the way")
    run = Checkpoint(tmp_path / "file" / "c", background=True, x={})
    run.save(1)
    with pytest.raises(RuntimeError, match="cannot make the folder"):
        run.wait()
    run.save(2)
    with pytest.raises(RuntimeError, match="cannot make the folder"):
        run.save(3)
    with pytest.raises(ValueError, match='Checkpoint: mode is "low"; it is min or max'):
        Checkpoint(tmp_path, mode="low")
    assert Checkpoint(tmp_path / "nothing", x={}).resume() is None


def test_the_best_and_damage(tmp_path):
    notes = {}
    run = Checkpoint(tmp_path, keep=2, best="accuracy", mode="max", notes=notes)
    for step, accuracy in enumerate([0.1, 0.9, 0.5, 0.6, 0.7]):
        notes["accuracy"] = accuracy
        run.save(step, accuracy=accuracy)
    assert [step for step, _ in run.checkpoints()] == [4, 3, 1]
    assert run.load_best().step == 1 and notes == {"accuracy": 0.9}
    newest = pathlib.Path(run.checkpoints()[0][1])
    newest.write_bytes(newest.read_bytes()[:-9])
    with pytest.warns(UserWarning, match="checkpoint-.*: damaged"):
        assert run.resume().step == 3
    run.save_file(tmp_path / "one", 9)
    assert run.load(tmp_path / "one").step == 9


def test_early_stopping_restores_the_best(tmp_path):
    model = Net()
    stop = EarlyStopping(patience=2, restore_best=model)
    kept = None
    for metric in (1.0, dy.tensor(0.5), math.nan):
        with dy.no_grad():
            model.up.weight.fill_(float(metric))
        assert not stop.update(metric)
        kept = kept if metric != metric else model.up.weight.tolist()
    Checkpoint(tmp_path, model=model, stop=stop).save(1)
    other = Net()
    again = EarlyStopping(patience=2, restore_best=other)
    Checkpoint(tmp_path, model=other, stop=again).resume()
    assert again.update(0.5) and again.stopped and again.best == 0.5 and again.best_update == 1 and again.updates == 4
    assert other.up.weight.tolist() == kept
    assert EarlyStopping(patience=1, mode="max").update(1) is False


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def fields(data):
    """A protocol buffer's message: {field: [values]}."""
    found, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        else:
            size, at = {1: (8, at), 5: (4, at)}.get(key & 7) or varint(data, at)
            value, at = data[at : at + size], at + size
        found.setdefault(key >> 3, []).append(value)
    return found


def masked_crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ 0x82F63B78 * (crc & 1)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def events(path):
    data, at = path.read_bytes(), 0
    while at < len(data):
        (size,) = struct.unpack_from("<Q", data, at)
        assert struct.unpack_from("<I", data, at + 8)[0] == masked_crc32c(data[at : at + 8])
        body = data[at + 12 : at + 12 + size]
        assert struct.unpack_from("<I", data, at + 12 + size)[0] == masked_crc32c(body)
        yield fields(body)
        at += 16 + size


def test_history(tmp_path):
    history = History(csv=tmp_path / "h.csv", tensorboard=tmp_path / "tb")
    history.log(1, loss=0.5)
    history.log(2, loss=dy.tensor(0.25), **{"val/loss": np.float32(0.125)})
    history.text("note", "grüße", 2)
    history.sync()
    assert history["loss"] == [(1, 0.5), (2, 0.25)] and len(history) == 2
    assert history.rows == [{"step": 1, "loss": 0.5}, {"step": 2, "loss": 0.25, "val/loss": 0.125}]
    with open(tmp_path / "h.csv", newline="") as f:
        assert list(csv.DictReader(f)) == [{"step": "1", "loss": "0.5", "val/loss": ""}, {"step": "2", "loss": "0.25", "val/loss": "0.125"}]

    (path,) = (tmp_path / "tb").iterdir()
    assert path.name.startswith("events.out.tfevents.")
    first, *rest = events(path)
    assert first[3] == [b"brain.Event:2"] and struct.unpack("<d", first[1][0])[0] > 1.6e9
    seen = []
    for event in rest:
        (value,) = fields(event[5][0])[1]
        value = fields(value)
        if 2 in value:
            seen.append((event[2][0], value[1][0], struct.unpack("<f", value[2][0])[0]))
        else:
            tensor, metadata = fields(value[8][0]), fields(value[9][0])
            assert tensor[1] == [7] and fields(tensor[2][0])[2] == [b"\x08\x01"] and fields(metadata[1][0])[1] == [b"text"]
            seen.append((event[2][0], value[1][0], tensor[8][0].decode()))
    assert seen == [(1, b"loss", 0.5), (2, b"loss", 0.25), (2, b"val/loss", 0.125), (2, b"note", "grüße")]


def test_progress_elsewhere_than_on_a_terminal(capfd):
    with Progress(10, name="mine", first_step=2) as bar:
        bar.step(3, loss=dy.tensor(0.5))
        bar.note("a note")
        bar.end("done")
    assert capfd.readouterr().err == "a note\ndone\n"


def test_other_instructions_are_said(tmp_path):
    resume = "import sys, dyadic as dy; dy.train.Checkpoint(sys.argv[1], notes={}).resume()"
    for first, second, said in (("sse4", "sse4", False), ("sse4", "avx2", True)):
        folder = tmp_path / second
        run = lambda code, isa: subprocess.run(
            [sys.executable, "-c", code, str(folder)], env={**os.environ, "DYADIC_ISA": isa}, capture_output=True, text=True, check=True
        )
        run("import sys, dyadic as dy; dy.train.Checkpoint(sys.argv[1], notes={}).save(1)", first)
        assert ("written on sse4" in run(resume, second).stderr) == said
