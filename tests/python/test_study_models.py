"""Studies of models that are made late, that fail under a recipe, or that a mixture of formats suits."""
import json

import pytest

import dyadic as dy
from dyadic import nn, study
from dyadic.nn import functional as F
from dyadic.utils.data import DataLoader

from test_study import Net, losses, points, small, weights


class Lazy(nn.Module):
    """Its sizes are those of its first input."""

    def __init__(self):
        super().__init__()
        self.up, self.drop, self.down = nn.LazyLinear(64), nn.Dropout(0.5), nn.LazyLinear(3)

    def forward(self, x):
        return self.down(self.drop(F.relu(self.up(x))))


def test_modules_that_are_made_at_their_first_call(tmp_path):
    found = study.study(Lazy, DataLoader(points(), batch_size=20, shuffle=True), losses, **small(tmp_path / "a"))
    assert found.to_dict()["model"]["parameters"] == 8 * 64 + 64 + 64 * 3 + 3
    for r in found.recipes:
        assert r["status"] == "done" and r["metric"] > 0.8
        assert r["bytes"]["peak"]["predicted"] == r["bytes"]["peak"]["measured"]
    again = study.study(Lazy, DataLoader(points(), batch_size=20, shuffle=True), losses, **small(tmp_path / "b"))
    assert weights(again) == weights(found)
    rows = study.predict(Lazy, (dy.zeros(20, 8), dy.zeros(20, dtype=dy.int64)), losses, recipes="f32")
    assert rows[0]["peak"] == found.recipes[0]["bytes"]["peak"]["predicted"]


class Picky(Net):
    def forward(self, x):
        h = self.up(x)
        if h.dtype == dy.bfloat16:
            raise TypeError("mine: bf16 is not for me\nand why")
        return self.down(F.relu(h))


def test_an_error_under_one_recipe_is_its_row(tmp_path):
    found = study.study(Picky, DataLoader(points(), batch_size=20), losses, **small(tmp_path / "a", recipes=["bf16", "f16"]))
    f32, bf16, f16 = found.recipes
    assert (f32["status"], bf16["status"], f16["status"]) == ("done", "failed", "done")
    assert bf16["error"].startswith("at step 0: TypeError: mine: bf16 is not for me (File ") and "\n" not in bf16["error"]
    assert "bf16 failed at step 0" in " ".join(str(found).split())

    def breaks(model, batch):
        raise KeyError("of f32 too")

    with pytest.raises(KeyError, match="of f32 too"):
        study.study(Net, DataLoader(points(), batch_size=20), breaks, **small(tmp_path / "b"))

    def pressed(model, batch):
        found = losses(model, batch)
        if batch[0].device.type == "cpu" and model.up(batch[0]).dtype == dy.bfloat16:
            raise KeyboardInterrupt
        return found

    with pytest.raises(KeyboardInterrupt):
        study.study(Net, DataLoader(points(), batch_size=20), pressed, **small(tmp_path / "c"))
    assert [r["status"] for r in json.loads((tmp_path / "c/report.json").read_text())["recipes"]][0] == "done"
    with pytest.raises(TypeError, match="bf16 is not for me"):
        study.formats(Net().eval(), lambda model: raised(model))


def raised(model):
    raise TypeError("bf16 is not for me")


class Blocks(nn.Module):
    """Whose second layer has an outlier in each row: few bits lose what is beside it."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(8, 64), nn.Linear(64, 64), nn.Linear(64, 3)
        with dy.no_grad():
            self.b.weight[:, 0] += 60

    def forward(self, x):
        h = F.relu(self.a(x))
        return self.c(F.relu(self.b(h) - 60 * h[:, :1]))


def test_the_mixture_is_in_the_recommendation(tmp_path):
    found = study.study(Blocks, DataLoader(points(), batch_size=20, shuffle=True), losses, steps=80, recipes="f32", tolerance=0.3, per_layer=True,
                        formats=["bf16", "i4(group=64)", "i3(group=64)"], out=tmp_path / "a", progress=False)
    best, layers = found.recommendation, found.to_dict()["layers"]
    assert best["uniform"] == layers["keep"] == "bf16" and best["format"] == layers["format"]
    assert best["modules"] == {m["module"]: "bf16" for m in layers["modules"] if m["kept"]} and "b" in best["modules"]
    sizes = {f["name"]: f["bytes"] for f in found.formats}
    assert best["bytes"] == layers["mixed"]["bytes"] < sizes["bf16"]
    assert len(layers["tried"]) == 2 and best["bytes"] == min(t["bytes"] for t in layers["tried"] if t["bytes"])
    plain = study.study(Net, DataLoader(points(), batch_size=20), losses, **small(tmp_path / "b", formats=["bf16"]))
    assert plain.recommendation["modules"] == {} and plain.recommendation["uniform"] == plain.recommendation["format"]
