"""What a study is asked: refused in one line that names it, kept in the report, and compared when it goes on."""
import importlib.util
import json
import random
import re
from pathlib import Path

import pytest

import dyadic as dy
from dyadic import nn, study
from dyadic.nn import functional as F
from dyadic.utils.data import DataLoader, TensorDataset

ROOT = Path(__file__).parents[2]


def make():
    return nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 5))


def losses(model, batch):
    return F.cross_entropy(model(batch[0]), batch[1], reduction="none")


def batches(n, seed=1):
    source = dy.Generator().manual_seed(seed)
    return [(dy.randn(40, 32, generator=source), dy.randint(0, 5, (40,), generator=source)) for _ in range(n)]


TRAIN, HELD = batches(4), batches(2, 2)
BASE = dict(evaluation=HELD, steps=12, recipes=["bf16"], formats=["bf16", "q8_0"], progress=False)


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study") / "a"
    study.study(make, TRAIN, losses, **BASE, out=folder)
    return folder


@pytest.mark.parametrize(
    "change, named",
    [
        (dict(clip=0.5), r"its clip is 1, here it is 0\.5"),
        (dict(recipes=[study.Recipe(parameters="bf16", name="bf16")]), "its recipe bf16 is parameters f32, compute bf16.*parameters bf16, compute none"),
        (dict(recipes=["bf16", "f16"]), "its recipes is f32 bf16, here it is f32 bf16 f16"),
        (dict(formats=["bf16"]), "its formats is f32 bf16 q8_0, here it is f32 bf16"),
        (dict(loss=lambda m, b: losses(m, b) * 2), "its first loss is "),
        (dict(batches=TRAIN[1:]), "its first batch is [0-9a-f]{16}, here it is [0-9a-f]{16}"),
        (dict(evaluation=HELD[:1]), "its evaluation is "),
        (dict(metric=study.accuracy), "its metric is none, here it is accuracy, larger is better"),
        (dict(shadow=True), "its shadow is no, here it is yes"),
        (dict(steps=13), "its steps is 12, here it is 13"),
        (dict(optimizer_options={"lr": 0.5}), "its training is AdamW; a warm-up, then a cosine, here it is AdamW, lr 0.5"),
    ],
)
def test_another_study_is_refused_by_what_differs(done, change, named):
    options = {**BASE, **change, "out": done, "resume": True}
    loss, of = options.pop("loss", losses), options.pop("batches", TRAIN)
    before = (done / "report.json").read_text()
    with pytest.raises(ValueError, match=named) as error:
        study.study(make, of, loss, **options)
    assert "\n" not in str(error.value) and str(error.value).startswith(f"study: {done} holds another study: ")
    assert (done / "report.json").read_text() == before


def test_the_same_study_goes_on_and_looks_into_what_is_newly_asked_for(done, tmp_path):
    again = study.study(make, TRAIN, losses, **{**BASE, "tolerance": 0.5, "per_layer": True}, out=done, resume=True)
    assert again.to_dict()["layers"]["modules"] and again.to_dict()["options"]["per_layer"]
    old = json.loads((done / "report.json").read_text())
    del old["identity"]
    folder = tmp_path / "old"
    folder.mkdir()
    (folder / "report.json").write_text(json.dumps(old))
    with pytest.raises(ValueError, match="holds another study: it does not say what it is of, as reports of earlier versions"):
        study.study(make, TRAIN, losses, **BASE, out=folder, resume=True)


def test_an_interrupted_study_compares_too(tmp_path):
    def stops(model, batch):
        if model.training and batch[0].device.type == "cpu" and model[0].weight.dtype == dy.float16:
            raise KeyboardInterrupt
        return losses(model, batch)

    options = dict(BASE, recipes=["bf16", study.Recipe(parameters="f16", name="mine")])
    with pytest.raises(KeyboardInterrupt):
        study.study(make, TRAIN, stops, **options, out=tmp_path / "a")
    with pytest.raises(ValueError, match="its recipe mine is parameters f16"):
        study.study(make, TRAIN, losses, **{**options, "recipes": ["bf16", study.Recipe(parameters="bf16", name="mine")]}, out=tmp_path / "a", resume=True)
    found = study.study(make, TRAIN, losses, **options, out=tmp_path / "a", resume=True)
    assert [r["status"] for r in found.recipes] == ["done"] * 3


# The last batch is shorter, and the steps may end before it.
def test_a_short_batch_counts_where_training_comes_to_it(tmp_path):
    data = TensorDataset(dy.randn(130, 32), dy.randint(0, 5, (130,)))
    for steps in (1, 2, 3, 4, 6):
        found = study.study(make, DataLoader(data, batch_size=40), losses, **{**BASE, "steps": steps}, out=tmp_path / str(steps))
        for r in found.recipes:
            for key, amount in {**r["bytes"], **r["bytes_other"]}.items():
                assert amount["predicted"] == amount["measured"], (steps, r["name"], key)
        assert not found.to_dict()["model"]["notes"], steps


# The library has no memory of them; what the loss makes of them it has.
def test_batches_of_arrays_are_none_of_the_runs_memory(tmp_path):
    arrays = [(x.numpy(), y.numpy()) for x, y in TRAIN]
    own = lambda m, b: losses(m, (dy.tensor(b[0]), dy.tensor(b[1])))
    found = study.study(make, arrays, own, **{**BASE, "evaluation": arrays[:1]}, out=tmp_path / "a").to_dict()
    assert not found["model"]["notes"] and found["identity"]["first batch"] and found["identity"]["evaluation"]
    for r in found["recipes"]:
        assert r["bytes"]["peak"]["predicted"] == r["bytes"]["peak"]["measured"]
    over = lambda m, b: losses(m, (dy.as_tensor(b[0]), dy.as_tensor(b[1])))  # f32's gradients want the batch; it is counted then
    (note,) = study.study(make, arrays, over, **{**BASE, "evaluation": arrays[:1]}, out=tmp_path / "b").to_dict()["model"]["notes"]
    assert "batches hold arrays, and tensors that the loss makes of them are not in what is predicted" in note


def test_a_short_run_with_shadows_leaves_steps_to_measure(tmp_path):
    found = study.study(make, TRAIN, losses, **{**BASE, "steps": 10}, shadow=True, out=tmp_path / "a")
    for r in found.recipes:
        assert len(r["sampled_steps"]) == 5 and r["step_ms"] > 0
        assert r["bytes"]["peak"]["predicted"] == r["bytes"]["peak"]["measured"]


def test_where_it_runs(tmp_path):
    free = study.study(make, TRAIN, losses, **BASE, out=tmp_path / "free")
    peak = free.recipes[0]["bytes"]["peak"]["measured"]
    with pytest.raises(dy.OutOfMemoryError, match="study: f32 does not fit"):
        study.study(make, TRAIN, losses, **BASE, out=tmp_path / "small", memory_limit=20_000)
    roomy = study.study(make, TRAIN, losses, **BASE, out=tmp_path / "roomy", memory_limit="1G")
    assert roomy.recipes[0]["weights_sha256"] == free.recipes[0]["weights_sha256"] and peak > 20_000
    with pytest.raises(ValueError, match="study: device is meta; cpu, or a cuda device"):
        study.study(make, TRAIN, losses, **BASE, out=tmp_path / "meta", device="meta")
    if not dy.cuda.is_available():
        with pytest.raises((ValueError, RuntimeError), match="device: there is no cuda here"):
            study.study(make, TRAIN, losses, **BASE, out=tmp_path / "cuda", device="cuda:7")


def test_lines_that_name_what_is_wrong(tmp_path):
    def refused(error, match, make=make, loss=losses, **more):
        with pytest.raises(error, match=match) as found:
            study.study(make, TRAIN, loss, **{**BASE, **more}, out=tmp_path / "x")
        assert "\n" not in str(found.value) and "locals" not in str(found.value)

    refused(TypeError, "study: the metric mine gave a float, not a tensor", metric=study.Metric("mine", lambda m, b: 1.5))
    refused(ValueError, r"study: the metric mine gave complex numbers, which have no order: c64\[40\]", metric=study.Metric("mine", lambda m, b: losses(m, b).to(dy.complex64)))
    refused(TypeError, "study: the loss gave a float, not a tensor", loss=lambda m, b: 1.5)
    refused(ValueError, "AdamW: an option is out of range: lr is nan", optimizer_options={"lr": float("nan")})
    model = make()
    refused(ValueError, "study: make_model gave the same module again", make=lambda: model)
    for field in ("parameters", "compute", "states"):
        with pytest.raises(ValueError, match=f'Recipe: {field} is "nope": dtype: no such format'):
            study.Recipe(**{field: "nope"})
        with pytest.raises(TypeError, match=f"Recipe: {field} is 3, not a dtype or the name of one"):
            study.Recipe(**{field: 3})
    with pytest.raises(ValueError, match='Recipe: head is "nope"'):
        study.Recipe(modules={"head": "nope"})


def test_weights_that_are_not_of_the_seed_are_noted(tmp_path):
    def other():
        model = make()
        with dy.no_grad():
            model[0].weight.mul_(1 + random.random())
        return model

    notes = study.study(other, TRAIN, losses, **BASE, out=tmp_path / "a").to_dict()["model"]["notes"]
    assert sum("make_model made other weights from the same seed" in n for n in notes) == 1, notes
    assert not study.study(make, TRAIN, losses, **BASE, out=tmp_path / "b").to_dict()["model"]["notes"]


def test_a_name_is_no_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    monkeypatch.chdir(tmp_path / "in")
    found = study.study(make, TRAIN, losses, **BASE, name="../../a/b <c>")
    assert found.folder == "study------a-b <c>" or (Path(found.folder).parent == Path(".") and "/" not in found.folder and ".." not in found.folder)
    assert [p.name for p in tmp_path.iterdir()] == ["in"]
    assert found.to_dict()["model"]["name"] == "../../a/b <c>"


def keys_of(value):
    """All keys within, but of objects whose keys are names."""
    if isinstance(value, list):
        return set().union(*map(keys_of, value)) if value else set()
    if not isinstance(value, dict):
        return set()
    return set(value).union(*(keys_of(v) for k, v in value.items() if k != "dtype_calls"))


def test_the_documented_keys_are_a_reports(tmp_path):
    rows = {}
    for line in (ROOT / "docs/study.md").read_text().split("## report.json")[1].splitlines():
        cells = [c.strip() for c in line.strip("|").split("|")]
        if not line.startswith("| ") or cells[0] == "key":
            continue
        rows[cells[0].strip("`").removesuffix("[]")] = known = []
        stem = ""
        for token in re.findall(r"`([^`]+)`", cells[1]):
            token = token.removesuffix("[]")
            stem = stem if token.startswith("_") else token
            known.append(stem + token if token.startswith("_") else token)
    recipes = ["bf16", study.Recipe(compute="f16", name="flushes"), study.Recipe(parameters="bf16", modules={"2": "f32"}, name="mine"), study.Recipe(parameters="f16", name="late")]
    late = lambda m, b: losses(m, b) * (1e-6 if m[0].weight.dtype != dy.float16 else float("inf"))
    found = study.study(make, TRAIN, late, **{**BASE, "recipes": recipes, "formats": ["bf16", "q8_0", "i2(group=32)"]}, metric=study.accuracy, per_layer=True, shadow=True, out=tmp_path / "a").to_dict()
    assert found["recipes"][4]["nan"] and found["layers"]
    assert found["recipes"][3]["recipe"] == {"parameters": "bf16", "compute": None, "states": "f32", "rounding": "nearest", "scaler": False, "modules": {"2": "f32"}}
    assert found["options"]["clip"] == 1 and found["model"]["metric"] == "accuracy"
    for kind in ("recipes", "formats"):  # the same keys in every row, whatever became of it
        assert all(set(row) == set(found[kind][0]) for row in found[kind])
    assert set(found) == set(rows["the whole"]) | set(rows) - {"the whole", "corpus"}
    named = {"identity", "corpus", "the whole"}
    for section, known in rows.items():
        if section in named:
            continue
        ignored = {"shadow", "per_layer", "{}"} - keys_of(found[section])  # options that a row speaks of
        part = json.loads(json.dumps(found[section]))
        if section == "recipes":
            for row in part:
                row["recipe"]["modules"] = None
        if section == "recommendation":
            part["modules"] = None
        parts = {"token", "window", "seed"}  # of every standard error
        assert keys_of(part) - parts == set(known) - ignored - parts, section


def test_beside_outliers_gradients_are_flushed_in_f16_without_a_scaler(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["study_outliers.py", "--steps", "300", "--out", str(tmp_path / "a")])
    spec = importlib.util.spec_from_file_location("study_outliers", ROOT / "examples/study_outliers.py")
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    example.main()
    rows = {r["name"]: r for r in json.loads((tmp_path / "a/report.json").read_text())["recipes"]}
    plain, scaled = rows["pure-f16"], rows["pure-f16-scaled"]
    assert (plain["status"], scaled["status"]) == ("done", "done")
    assert plain["flushed"] > 100 and scaled["flushed"] < plain["flushed"] / 20, (plain["flushed"], scaled["flushed"])
