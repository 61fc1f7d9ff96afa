"""dyadic.quant: the methods, whole models, calibration through Python's modules."""
from pathlib import Path

import pytest

import dyadic as dy
from dyadic import nn, quant


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(64)
        self.up, self.gate, self.down = nn.Linear(64, 96), nn.Linear(64, 96), nn.Linear(96, 32)

    def forward(self, x):
        n = self.norm(x)
        return self.down(nn.functional.silu(self.gate(n)) * self.up(n))


def inputs(rows):
    x = dy.randn(rows, 24) @ dy.randn(24, 64) + 0.3 * dy.randn(rows, 64)
    x[:, 5::20] *= 15
    return x


def test_methods_are_functions():
    by_name = {m.name: m for m in quant.methods()}
    assert set(by_name) == {"aqlm", "autoround", "awq", "gptq", "hqq", "imatrix", "ldlq", "rtn", "smoothquant"}
    assert by_name["gptq"].needs_calibration and not by_name["gptq"].adjusts_other_layers
    assert by_name["awq"].adjusts_other_layers and "q4_0" in by_name["awq"].formats
    for name in by_name:
        assert callable(getattr(quant, name)) and by_name[name].source in getattr(quant, name).__doc__


def test_matrix():
    dy.manual_seed(1)
    w, x = dy.randn(48, 64), inputs(512)
    seen, held_out = x[:256], x[256:]

    def error(q):
        return (held_out @ (q.to(dy.float32) - w).T).square().mean().item()

    q = quant.gptq(w, seen, "i4(group=32)", damping=0.05)
    assert q.dtype == dy.dtype("i4(group=32)")
    assert error(q) < 0.5 * error(quant.rtn(w, "i4(group=32)"))
    s = quant.awq(w, seen, "i4(group=32)")
    assert s.input_scale.shape == (64,)
    assert error(s.weight.to(dy.float32) / s.input_scale) < error(w.to(dy.dtype("i4(group=32)")))
    assert quant.hqq(w, "q4_1").dtype == dy.q4_1
    with pytest.raises(ValueError, match="gptq: it needs inputs"):
        quant.gptq(w, None, "i4(group=32)")
    with pytest.raises(ValueError, match="did you mean damping"):
        quant.gptq(w, seen, "i4(group=32)", dampin=0.05)


@pytest.mark.parametrize("method", ["gptq", "awq", "imatrix"])
def test_model(method):
    dy.manual_seed(2)
    model, x = Mlp(), inputs(768)
    x, test = x[:512], x[512:]  # of one distribution
    state = {k: v.clone() for k, v in model.state_dict().items()}
    expected = model(test).detach()

    def loss():
        return (model(test) - expected).square().mean().item()

    quant.quantize(model, "i4(group=32)")
    rounded = loss()
    model.load_state_dict(state, assign=True)
    report = quant.quantize(model, "i4(group=32)", method=method, calibration=list(x.split(128)))
    assert loss() < 0.8 * rounded
    assert [layer.name for layer in report.layers] == ["up.weight", "gate.weight", "down.weight"]
    assert all(layer.fallback == "" and layer.error < layer.error_rtn for layer in report.layers)
    assert report.bytes_after < report.bytes_before
    assert type(model.up) is nn.Linear and model.up.weight.dtype == dy.dtype("i4(group=32)")
    if method == "awq":
        assert report.layers[0].note == "scales are in norm"


def test_codebooks_are_saved_and_differentiated_through(tmp_path):
    dy.manual_seed(3)
    model, x = Mlp(), inputs(256)
    quant.quantize(model, "aqlm(bits=5)", method="aqlm", calibration=[x], include=["up.*", "gate.*"])
    assert model.up.weight.dtype == dy.dtype("aqlm(bits=5)") and model.down.weight.dtype == dy.float32
    dy.save(model.state_dict(), tmp_path / "model.safetensors")
    other = Mlp()
    other.load_state_dict(dy.load(tmp_path / "model.safetensors"), assign=True)
    assert other.up.weight.dtype == model.up.weight.dtype
    assert dy.equal(other(x), model(x))
    a = dy.randn(4, 64, requires_grad=True)
    model.up(a).square().sum().backward()
    decoded = model.up.weight.to(dy.float32)
    b = a.detach().requires_grad_()
    nn.functional.linear(b, decoded, model.up.bias).square().sum().backward()
    dy.testing.assert_close(a.grad, b.grad)


def test_importance_matrices(tmp_path):
    folder = Path(__file__).parents[1] / "models" / "data" / "llama"
    ids = [dy.randint(3, 64, (2, 32)) for _ in range(2)]
    m = dy.from_pretrained(folder, dtype="float32")
    quant.save_importance(m, ids, tmp_path / "i.gguf", datasets="words")
    report = quant.quantize(m, "i4(group=8)", method="imatrix", importance=tmp_path / "i.gguf", include=["*_proj.weight"])
    assert len(report.layers) == 14 and all(layer.error < layer.error_rtn and not layer.fallback for layer in report.layers)
    with pytest.raises(ValueError, match="importance: GGUF's names"):
        quant.quantize(Mlp(), "i4(group=8)", method="imatrix", importance=tmp_path / "i.gguf")
    with pytest.raises(ValueError, match="an importance matrix is for imatrix"):
        quant.quantize(dy.from_pretrained(folder, dtype="float32"), "i4(group=8)", importance=tmp_path / "i.gguf")


def test_rotations_leave_results():
    m = dy.from_pretrained(Path(__file__).parents[1] / "models" / "data" / "llama", dtype="float32")
    ids = dy.tensor([[5, 6, 7, 8, 9, 10]])
    with dy.no_grad():
        before = m(ids).logits
        quant.rotate(m, seed=3)
        after = m(ids).logits
    assert 0 < (after - before).abs().max() < 1e-4 * before.abs().max()
    assert (m.model.norm.weight == 1).all()
    quant.quantize(m, "i8(row)", rotate=True)
    with dy.no_grad():
        assert (m(ids).logits - before).abs().max() < 0.1 * before.abs().max()
    with pytest.raises(ValueError, match="rotate: the model is"):
        quant.quantize(Mlp(), "i8(row)", rotate=True)


def test_calibration_by_tuples_dicts_and_a_function():
    dy.manual_seed(3)
    x = inputs(128)
    made = []
    for data in ([(x,)], [{"x": x}], x, lambda model: model(x)):
        dy.manual_seed(4)
        model = Mlp()
        quant.quantize(model, "q8_0", method="gptq", calibration=data)
        made.append(model.up.weight.to(dy.float32))
    assert all((m == made[0]).all() for m in made)
    with pytest.raises(ValueError, match="calibration is empty"):
        quant.quantize(Mlp(), "q8_0", method="gptq", calibration=[])


def test_patterns_and_budget():
    dy.manual_seed(5)
    model, x = Mlp(), inputs(64)
    formats = ["i2(group=32)", "i4(group=32)", "i8(group=32)"]
    plan, curve = quant.fit_budget(model, 9000, formats, calibration=[x])
    assert set(plan) == {"up.weight", "gate.weight", "down.weight"} and curve[-1][0] <= 9000
    report = quant.quantize(model, map=plan)
    assert report.bytes_after == curve[-1][0]
    model = Mlp()
    plan, curve = quant.fit_budget(model, 12000, formats, map={"down.*": "q8_0"})
    assert plan["down.*"] == "q8_0" and set(plan) == {"up.weight", "gate.weight", "down.*"} and curve[-1][0] <= 12000
    assert quant.quantize(model, map=plan).bytes_after == curve[-1][0]
    model = Mlp()
    report = quant.quantize(model, "i4(group=32)", exclude="down.*", map={"gate.*": None})
    assert [layer.name for layer in report.layers] == ["up.weight"]
    with pytest.raises(ValueError, match='no parameter fits "x"'):
        quant.quantize(model, "i4(group=32)", include=["x"])


def test_resumes(tmp_path):
    dy.manual_seed(7)
    x, calls = inputs(64), []

    def data(model):
        calls.append(1)
        if len(calls) == 5:  # the first run: one for the order of calls, one for each block
            raise KeyboardInterrupt
        return model(x)

    def blocks():
        dy.manual_seed(8)
        return nn.Sequential(*[nn.Linear(64, 64) for _ in range(4)])

    def run(model, resume):
        return quant.quantize(model, "q4_0", method="gptq", calibration=data, journal=tmp_path / "j", resume=resume)

    with pytest.raises(KeyboardInterrupt):
        run(blocks(), False)
    model, whole = blocks(), blocks()
    run(model, True)
    assert len(calls) == 7  # the order, and the last block
    quant.quantize(whole, "q4_0", method="gptq", calibration=[x])
    assert (model(x) == whole(x)).all()
    with pytest.raises(RuntimeError, match="it is of another run"):
        quant.quantize(blocks(), "q8_0", method="gptq", calibration=[x], journal=tmp_path / "j", resume=True)


def test_inputs_in_8_bits():
    dy.manual_seed(6)
    x = dy.randn(32, 64)
    x[:, 9] = 50.0
    assert (quant.round_inputs(x, "i8(row)") == x.to(dy.dtype("i8(row)")).to(dy.float32)).all()
    assert (quant.round_inputs(x, "i8(row)", 6)[:, 9] == 50).all()
    model = Mlp()
    weights = quant.quantize(model, "i8(row)", activations="i8(row)", exclude="gate.*")
    rounded = model.up.weight.to(dy.float32)
    assert len(weights.layers) == 2
    assert dy.allclose(model.up(x), quant.round_inputs(x, "i8(row)") @ rounded.T + model.up.bias, atol=1e-4)
    assert dy.allclose(model.gate(x), x @ model.gate.weight.T + model.gate.bias, atol=1e-4)
    with pytest.raises(ValueError, match="inputs cannot be float16|inputs cannot be f16"):
        quant.quantize(Mlp(), "i8(row)", activations="f16")


def test_gradients_flow_through_a_quantized_layer():
    model = Mlp()
    quant.quantize(model, "i4(group=32)")
    x = inputs(4).requires_grad_()
    model(x).sum().backward()
    assert x.grad.abs().sum() > 0 and model.up.weight.grad is None and model.up.bias.grad is not None
