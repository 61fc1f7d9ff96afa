"""dyadic.study: a model, batches and a loss written in Python."""
import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import dyadic as dy
from dyadic import nn, study
from dyadic.nn import functional as F
from dyadic.utils.data import DataLoader, TensorDataset


class Double(dy.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


class Net(nn.Module):
    """With control flow, a function of its own and a tensor that says nothing of its device."""

    def __init__(self):
        super().__init__()
        self.up, self.norm, self.drop, self.down = nn.Linear(8, 64), nn.BatchNorm1d(64), nn.Dropout(0.1), nn.Linear(64, 3)

    def forward(self, x):
        h = self.norm(self.up(x))
        for _ in range(2):
            h = F.relu(h)
        return self.down(Double.apply(self.drop(h))) + dy.zeros(3)


def points():
    source = dy.Generator().manual_seed(3)
    y = dy.randint(0, 3, (200,), generator=source)
    return TensorDataset(dy.randn(3, 8, generator=source)[y] * 4 + dy.randn(200, 8, generator=source), y)


def losses(model, batch):
    x, y = batch
    return F.cross_entropy(model(x), y, reduction="none")


def small(out, **more):
    options = dict(metric=study.accuracy, steps=40, recipes=["bf16", "bf16-adam8"], formats=["bf16", dy.nf4], out=out, progress=False)
    return options | more


def weights(found):
    return {r["name"]: r["weights_sha256"] for r in found.recipes}


def test_a_model_written_in_python(tmp_path):
    loader = DataLoader(points(), batch_size=20, shuffle=True)
    found = study.study(Net, loader, losses, **small(tmp_path / "a"))
    assert [r["name"] for r in found.recipes] == ["f32", "bf16", "bf16-adam8"]
    assert found.to_dict() == json.loads((tmp_path / "a/report.json").read_text())
    assert found.to_html() == (tmp_path / "a/report.html").read_text()
    for r in found.recipes:
        assert r["metric"] > 0.8
        for category in ("parameters", "gradients", "optimizer", "activations", "peak"):
            assert r["bytes"][category]["predicted"] == r["bytes"][category]["measured"], (r["name"], category)
    assert found.to_dict()["model"]["kind"] == "Net"
    assert found.recommendation["format"] in ("bf16", "nf4(block=64)", "f32", "nf4(block=64,double)")
    assert "accuracy" in str(found)
    assert "<iframe" in found._repr_html_()
    again = study.study(Net, loader, losses, **small(tmp_path / "b"))
    assert weights(again) == weights(found)
    # Workers make the same batches.
    with_workers = study.study(Net, DataLoader(points(), batch_size=20, shuffle=True, num_workers=2), losses, **small(tmp_path / "c"))
    assert weights(with_workers) == weights(found)


class Settling(Net):
    def forward(self, x):
        h = super().forward(x)
        return h if h.abs().max().item() > 1 else h * 2


def test_what_values_decide_is_not_predicted_and_the_report_says_why(tmp_path):
    found = study.study(Settling, DataLoader(points(), batch_size=20), losses, **small(tmp_path / "a"))
    (note,) = found.to_dict()["model"]["notes"]
    assert note.startswith("The memory of training could not be predicted: ArgumentError: item: a meta tensor has no values")
    assert "\n" not in note and 'test_study.py", line' in note and note.endswith("in forward)")
    assert found.recipes[0]["bytes"]["peak"]["predicted"] is None and found.recipes[0]["bytes"]["peak"]["measured"] > 0


def test_every_kind_of_batches(tmp_path):
    batches = list(DataLoader(points(), batch_size=20))

    class Again:
        def __iter__(self):
            return iter(batches[:-1])

    options = dict(recipes=["f32"], formats=["bf16"], steps=20, progress=False)
    of_list = study.study(Net, batches, losses, out=tmp_path / "list", **options)
    of_iterable = study.study(Net, Again(), losses, evaluation=batches[-1:], out=tmp_path / "iterable", **options)
    of_function = study.study(Net, lambda step: batches[step % 9], losses, evaluation=batches[-1:], out=tmp_path / "function", **options)
    assert weights(of_list) == weights(of_iterable) == weights(of_function)
    assert of_list.recipes[0]["val_loss"] == of_iterable.recipes[0]["val_loss"]


def test_recipes_of_ones_own(tmp_path):
    mine = study.Recipe(parameters="bf16", states="dynamic8", rounding="stochastic", modules={"down": "f32"}, name="mine")
    assert (mine.name, mine.parameters, mine.rounding, mine.compute) == ("mine", dy.bfloat16, "stochastic", None)
    found = study.study(Net, DataLoader(points(), batch_size=20), losses, **small(tmp_path / "a", recipes=[mine], optimizer=dy.optim.SGD,
                                                                                 optimizer_options={"lr": 0.1, "momentum": 0.9}))
    assert [r["name"] for r in found.recipes] == ["f32", "mine"]
    assert found.recipes[1]["bytes"]["parameters"]["measured"] < found.recipes[0]["bytes"]["parameters"]["measured"]
    with pytest.raises(ValueError, match="did you mean down"):
        study.study(Net, DataLoader(points(), batch_size=20), losses, **small(tmp_path / "b", recipes=[study.Recipe(modules={"dwon": "f32"})]))
    assert study.recipe("bf16-adam8").compute == dy.bfloat16
    assert [r.name for r in study.recipes()][0] == "f32"


def test_modules_of_a_recipe_compute_in_their_own_dtype_whoever_calls_them(tmp_path):
    seen = set()

    class Watched(nn.Module):
        def __init__(self):
            super().__init__()
            self.up, self.down = nn.Linear(8, 64), nn.Linear(64, 3)

        def forward(self, x):
            h = self.up(x)
            y = self.down(h)
            seen.add((h.dtype, y.dtype))
            return y

    mine = study.Recipe(compute="bf16", modules={"down": "f32"})
    study.study(Watched, DataLoader(points(), batch_size=20), losses, **small(tmp_path / "a", recipes=[mine], steps=3))
    assert seen == {(dy.float32, dy.float32), (dy.bfloat16, dy.float32)}


def test_what_is_refused(tmp_path):
    loader = DataLoader(points(), batch_size=20)
    with pytest.raises(ValueError, match='reduction="none"'):
        study.study(Net, loader, lambda model, b: F.cross_entropy(model(b[0]), b[1]), **small(tmp_path / "a"))
    with pytest.raises(ValueError, match="minimize"):
        study.study(Net, loader, losses, minimize="bytes")
    with pytest.raises(ValueError, match="unknown recipe"):
        study.study(Net, loader, losses, recipes=["bf17"])
    with pytest.raises(TypeError, match="make_model gave a int, not a Module"):
        study.study(lambda: 3, loader, losses, **small(tmp_path / "a"))
    with pytest.raises(ZeroDivisionError):
        study.study(Net, loader, lambda model, b: 1 / 0, **small(tmp_path / "a"))
    with pytest.raises(ValueError, match="recipe dwon-bf16: no module is called dwon; did you mean down"):
        study.study(Net, loader, losses, **small(tmp_path / "a", recipes=["bf16", study.Recipe(modules={"dwon": "bf16"})]))
    with pytest.raises(ValueError, match="state"):
        study.study(Net, loader, losses, **small(tmp_path / "a", recipes=[study.Recipe(states="i4")]))
    with pytest.raises(ValueError, match="study: LBFGS computes the loss several times in a step, and a study once"):
        study.study(Net, loader, losses, **small(tmp_path / "a", optimizer="LBFGS"))
    assert not (tmp_path / "a").exists()  # nothing was trained
    for wrong, text in [
        ({"parameters": "nf4"}, "recipe pure-nf4.*: parameters is nf4.*: weights are trained in f32, bf16 or f16"),
        ({"compute": "f64"}, "recipe f64: compute is f64: autocast's precisions are bf16, f16 and f8e4m3fn"),
        ({"modules": {"down": "i8"}}, "recipe down-i8: modules: down is i8"),
        ({"rounding": "up"}, "rounding is \"up\": it is nearest or stochastic"),
    ]:
        with pytest.raises(ValueError, match=text):
            study.Recipe(**wrong)


def test_iterators_that_end_are_refused(tmp_path):
    batches = list(DataLoader(points(), batch_size=20))
    text = "ends once it is gone through, and every run begins at the first batch; pass a list, a DataLoader or a function of the step"
    for once in (iter(batches), (b for b in batches), map(tuple, batches)):
        with pytest.raises(TypeError, match=f"batches: a {type(once).__name__} {text}"):
            study.study(Net, once, losses, evaluation=batches, **small(tmp_path / "a"))
        with pytest.raises(TypeError, match=text):
            study.study(Net, batches, losses, evaluation=once, **small(tmp_path / "a"))
    assert not (tmp_path / "a").exists()


def test_values_of_the_wrong_kind_are_named(tmp_path):
    loader = DataLoader(points(), batch_size=20)
    for wrong, text in [
        ({"steps": 2.5}, "study: steps is 2.5, not an integer"),
        ({"seed": -1}, "study: seed is -1, not an integer of at least 0"),
        ({"seeds": "2"}, "study: seeds is '2', not an integer"),
        ({"name": 5}, "study: name is 5, not a name"),
        ({"optimizer": 5}, "study: optimizer is 5, not an optimizer's class or its name"),
        ({"time": "1m", "steps": None}, "study: time is '1m', not a number"),
        ({"recipes": [5]}, "study: recipes: 5 is neither a Recipe nor the name of one"),
        ({"formats": [5]}, "study: formats: 5 is neither a dtype nor the name of one"),
        ({"metric": "accuracy"}, "study: metric is 'accuracy', not a Metric; pass study.accuracy"),
        ({"metric": losses}, r"study: metric is <function losses .*>, not a Metric; pass study.Metric\("),
        ({"metric": study.Metric("right", 3)}, "study: the metric right has 3 where a function belongs"),
    ]:
        with pytest.raises(TypeError, match=text):
            study.study(Net, loader, losses, **small(tmp_path / "a", **wrong))
    for wrong, text in [
        ({"time": 0, "steps": None}, "study: time is 0; seconds, above 0"),
        ({"clip": float("nan")}, "study: clip is nan"),
        ({"tolerance": -0.1}, "study: tolerance is -0.1"),
        ({"schedule_options": {"gamma": 0.5}}, "study: schedule_options are of a schedule"),
        ({"recipes": [study.Recipe(name="a"), study.Recipe(name="a", compute="bf16")]}, "two recipes are called a and differ"),
        ({"recipes": [study.Recipe(name="f32", compute="bf16")]}, "two recipes are called f32, which is the reference"),
        ({"metric": study.Metric("one", lambda m, b: m(b[0]).mean().reshape(1))}, "the metric one gave 1 numbers for 20 samples"),
    ]:
        with pytest.raises(ValueError, match=text):
            study.study(Net, loader, losses, **small(tmp_path / "a", **wrong))
    with pytest.raises(TypeError, match="study: optimizer is 5, not"):
        study.predict(Net, next(iter(loader)), losses, optimizer=5)
    with pytest.raises(TypeError, match="study: evaluate is None, not a function"):
        study.formats(Net(), None)
    with pytest.raises(TypeError, match="study: metric is 5; here it is the name of what evaluate gives"):
        study.formats(Net(), lambda model: 1.0, metric=5)
    with pytest.raises(TypeError, match="the loss is None, not a function"):
        study.study(Net, loader, None, **small(tmp_path / "a"))
    with pytest.raises(TypeError, match="make_model is 3, not a function"):
        study.study(3, loader, losses, **small(tmp_path / "a"))
    assert not (tmp_path / "a").exists()


def test_one_name_needs_no_list_and_recipes_keep_apart(tmp_path):
    found = study.study(Net, DataLoader(points(), batch_size=20), losses, **small(tmp_path / "a", recipes="bf16", formats="nf4", steps=3))
    assert [r["name"] for r in found.recipes] == ["f32", "bf16"]
    assert [f["name"] for f in found.formats] == ["f32", "nf4(block=64,double)"]
    both = study.study(Net, DataLoader(points(), batch_size=20), losses,
                       **small(tmp_path / "b", recipes=["f16", study.Recipe(compute="f16")], formats=dy.bfloat16, steps=3))
    assert [r["name"] for r in both.recipes] == ["f32", "f16", "f16-2"]
    assert [r["recipe"] for r in study.predict(Net, next(iter(DataLoader(points(), batch_size=20))), losses, recipes="bf16")] == ["bf16"]


def test_a_model_in_bf16_is_trained_from_f32(tmp_path):
    low = study.study(lambda: Net().bfloat16(), DataLoader(points(), batch_size=20), losses, **small(tmp_path / "a"))
    plain = study.study(Net, DataLoader(points(), batch_size=20), losses, **small(tmp_path / "b"))
    for a, b in zip(low.recipes, plain.recipes):
        for category in ("gradients", "optimizer"):
            assert a["bytes"][category] == b["bytes"][category]
    assert low.to_dict()["model"]["notes"] == ["The model was made in bf16: recipes begin from its values in f32."]
    with pytest.raises(ValueError, match="up.weight is f64, and a study compares with f32; make the model in f32"):
        study.study(lambda: Net().double(), DataLoader(points(), batch_size=20), losses, **small(tmp_path / "c"))
    with pytest.raises(ValueError, match="formats: up.weight is bf16, and formats are compared with f32; pass the model in f32"):
        study.formats(Net().bfloat16(), lambda model: 1.0)
    stored = Net()
    dy.quant.quantize(stored, "nf4")
    with pytest.raises(ValueError, match="weight is nf4"):
        study.formats(stored, lambda model: 1.0)


def test_thirty_samples_without_a_flip_do_not_show_one_percent():
    net = nn.Linear(8, 3)
    x = dy.randn(30, 8)
    wanted = net(x).argmax(1)
    found = study.formats(net, lambda m: (m(x).argmax(1) == wanted).float() * 0 + 1, metric="agreement", larger_is_better=True)
    for f in found.formats[1:]:
        assert f["metric_lost"] == 0 and f["metric_lost_upper95"] == pytest.approx(0.0950, abs=1e-4), f["name"]
    assert found.recommendation["format"] == "f32" and "too coarsely" in found.recommendation["why"]
    assert "loses nothing" not in found.recommendation["why"]
    number = study.formats(net, lambda m: 1.0, metric="agreement", larger_is_better=True)
    assert "the error of that is not known" in number.recommendation["why"] and "95 %" not in number.recommendation["why"]


def test_a_later_warning_of_lost_updates_is_not_lost(tmp_path):
    code = """
        import sys
        import dyadic as dy
        from dyadic import nn, study
        loss = lambda model, batch: (model(batch).float() - 1).square().mean(-1)
        options = dict(optimizer="SGD", optimizer_options={"lr": 1e-7}, formats=["bf16"], steps=15, progress=False, out=sys.argv[1])
        study.study(lambda: nn.Linear(4, 4), [dy.randn(8, 4) for _ in range(10)], loss, recipes=[study.Recipe("bf16")], **options)
        print("study", file=sys.stderr)
        p = nn.Parameter(dy.ones(10, dtype="bf16"))
        o = dy.optim.SGD([p], lr=1e-4)
        for step in range(12):
            p.grad = dy.ones(10, dtype="bf16")
            o.step()
    """
    said = subprocess.run([sys.executable, "-c", textwrap.dedent(code), str(tmp_path / "a")], capture_output=True, text=True, check=True).stderr
    during, _, later = said.partition("study\n")
    assert "most updates" not in during and later.count("UserWarning: SGD.step(): most updates of group 0") == 1


def test_formats_and_predictions():
    dy.manual_seed(0)
    net = Net().eval()
    x = points().tensors[0]
    wanted = net(x).argmax(1)
    before = {name: p.clone() for name, p in net.named_parameters()}
    found = study.formats(net, lambda m: (m(x).argmax(1) == wanted).float(), metric="agreement", larger_is_better=True, tolerance=0.05)
    by_name = {f["name"]: f for f in found.formats}
    assert by_name["f32"]["metric"] == 1.0 and by_name["bf16"]["metric"] > 0.95
    assert all(dy.equal(p, before[name]) for name, p in net.named_parameters())
    number = study.formats(net, lambda m: float((m(x).argmax(1) == wanted).float().mean()), metric="agreement", larger_is_better=True,
                           formats=["bf16"])
    assert number.formats[1]["metric"] == pytest.approx(by_name["bf16"]["metric"])

    rows = study.predict(Net, next(iter(DataLoader(points(), batch_size=20))), losses)
    assert [r["recipe"] for r in rows] == [r.name for r in study.recipes()]
    assert rows[0]["parameters"] == sum(p.numel() * 4 for p in net.parameters()) + 52  # the last bias' 12 bytes take 64
    assert rows[0]["fits"] and rows[0]["flops_per_step"] > 2 * 20 * 8 * 64
    assert "pure-bf16" in str(rows)
    first = dy.zeros(20, 8)  # without a loss the model's mean, of the batch or of its first part
    for batch in (first, [first, 3], {"x": first, "y": 3}):
        assert study.predict(Net, batch, recipes="f32")[0]["parameters"] == rows[0]["parameters"]


def test_ctrl_c_leaves_a_report_and_resume_goes_on(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent(
            f"""
            import sys
            sys.path.insert(0, {os.path.dirname(__file__)!r})
            from test_study import *
            study.study(Net, DataLoader(points(), batch_size=20), losses, **small({str(tmp_path / "a")!r}, steps=4000, resume="resume" in sys.argv))
            """
        )
    )
    run = subprocess.Popen([sys.executable, program], stderr=subprocess.PIPE, text=True)
    while not (tmp_path / "a/checkpoints").exists():
        assert run.poll() is None
    run.send_signal(signal.SIGINT)
    error = run.communicate()[1]
    assert run.returncode in (1, -signal.SIGINT, 130) and "resume=True" in error and "KeyboardInterrupt" in error
    assert json.loads((tmp_path / "a/report.json").read_text())["complete"] is False


def test_a_language_model_that_is_there(tmp_path):
    model, text = tmp_path / "model", tmp_path / "text"
    shutil.copytree(Path(__file__).parent.parent / "models" / "data" / "gpt2", model)
    words = {"type": "BPE", "vocab": {c: i for i, c in enumerate("Once upatimrwsbu.")}, "merges": []}
    (model / "tokenizer.json").write_text(json.dumps({"version": "1.0", "added_tokens": [], "model": words}))
    text.write_text("Once upon a time there was a number. " * 400)
    options = {"data": text, "window": 8, "samples": 6, "progress": False}
    found = study.language_model(model, formats=["q8_0", dy.i4_group32], methods=["gptq"], out=tmp_path / "s", **options)
    assert [f["name"] for f in found.formats] == ["f32", "q8_0", "i4(group=32)", "q8_0, gptq", "i4(group=32), gptq"]
    assert found.formats[1]["kl"] < found.formats[2]["kl"] and found.to_dict()["model"]["kind"] == "Gpt2"
    assert (tmp_path / "s" / "report.html").exists()
    with pytest.raises(ValueError, match="name the formats too"):
        study.language_model(model, methods=["gptq"], out=tmp_path / "t", **options)
    with pytest.raises(ValueError, match="minimize is 'luck'"):
        study.language_model(model, minimize="luck")
