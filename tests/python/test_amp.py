"""Mixed precision in Python: PyTorch's names, the report, custom functions, f8 with delayed scaling, GradScaler, counters."""
import subprocess
import sys

import pytest

import dyadic as dy
from dyadic import nn


def test_every_name_of_autocast():
    x = dy.randn(4, 4)
    for region, dtype in [
        (dy.autocast("cpu"), dy.bfloat16),
        (dy.autocast(device_type="cpu", dtype=dy.float16), dy.float16),
        (dy.amp.autocast("cuda"), dy.float16),
        (dy.amp.autocast("cuda:0", dtype=dy.bfloat16), dy.bfloat16),
        (dy.cuda.amp.autocast(), dy.float16),
        (dy.cuda.amp.autocast(True, dy.bfloat16), dy.bfloat16),
        (dy.cpu.amp.autocast(), dy.bfloat16),
        (dy.cuda.amp.autocast(enabled=False), dy.float32),
    ]:
        with region:
            assert (x @ x).dtype is dtype
        assert (region(lambda: x @ x)()).dtype is dtype
    assert (x @ x).dtype is dy.float32
    for wrong in ("tpu", "xyz"):
        with pytest.raises(RuntimeError, match=f"unknown device: device_type is '{wrong}'"):
            dy.autocast(wrong)
    assert dy.is_autocast_available("cpu") and dy.amp.is_autocast_available("cuda") and not dy.is_autocast_available("tpu")


def test_switches():
    x = dy.randn(4, 4)
    assert dy.get_autocast_dtype("cpu") is dy.bfloat16 and dy.get_autocast_dtype("cuda") is dy.float16
    assert dy.get_autocast_gpu_dtype() is dy.float16 and dy.get_autocast_cpu_dtype() is dy.bfloat16
    assert not dy.is_autocast_enabled() and not dy.is_autocast_enabled("cuda") and not dy.is_autocast_cpu_enabled()
    dy.set_autocast_enabled("cpu", True)
    dy.set_autocast_dtype("cpu", dy.float16)
    try:
        assert dy.is_autocast_enabled("cpu") and dy.get_autocast_dtype("cpu") is dy.float16 and (x @ x).dtype is dy.float16
    finally:
        dy.set_autocast_enabled(False)
        dy.set_autocast_dtype("cpu", dy.bfloat16)
    assert (x @ x).dtype is dy.float32 and dy.is_autocast_cache_enabled()
    dy.set_autocast_cache_enabled(False)
    with dy.autocast("cpu"):
        assert not dy.is_autocast_cache_enabled()
    dy.set_autocast_cache_enabled(True)
    with dy.autocast("cpu", cache_enabled=False):
        assert not dy.is_autocast_cache_enabled()
    assert dy.is_autocast_cache_enabled()
    dy.clear_autocast_cache()
    with pytest.raises(ValueError, match="bf16, f16 or f8e4m3fn, not f64"):
        dy.set_autocast_dtype("cpu", dy.float64)


def test_an_exception_ends_the_region():
    with pytest.raises(RuntimeError), dy.autocast("cpu"):
        dy.randn(2, 3) @ dy.randn(2, 3)
    assert not dy.is_autocast_enabled()


def test_report():
    m = nn.Sequential(nn.Linear(4, 4), nn.Softmax(-1))
    dy.autocast.clear_report()
    for _ in range(3):
        with dy.autocast("cpu", dtype=dy.bfloat16) as region:
            y = m(dy.randn(2, 4))
    assert y.dtype is dy.float32
    report = {row["op"]: row for row in region.report()}
    assert report["linear"]["ran"] is dy.bfloat16 and report["linear"]["given"] == (dy.float32,)
    assert report["linear"]["calls"] == 3 and report["linear"]["casts"] == 9 and "low precision" in report["linear"]["why"]
    assert report["softmax"]["ran"] is dy.float32 and report["softmax"]["given"] == (dy.bfloat16,)
    text = str(dy.autocast.report()).splitlines()
    assert text[0].split() == ["op", "ran", "in", "given", "calls", "casts", "cached", "why"]
    assert text[2].split()[:6] == ["linear", "bf16", "f32", "3", "9", "0"]


def test_warnings_come_once():
    code = """if True:
        import dyadic as dy
        m = dy.nn.Linear(4, 4).half()
        for _ in range(2):
            with dy.autocast("cpu"):
                m(dy.randn(2, 4)).sum().backward()
    """
    lines = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stderr.splitlines()
    assert len(lines) == 2
    assert "the model is f16 already" in lines[0] and "backward() inside" in lines[1]


def test_custom_functions():
    seen = []

    class Product(dy.autograd.Function):
        @staticmethod
        @dy.amp.custom_fwd(device_type="cpu")
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a @ b

        @staticmethod
        @dy.amp.custom_bwd(device_type="cpu")
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            seen.append(dy.is_autocast_enabled())
            return g @ b.T, a.T @ g

    class Exact(dy.autograd.Function):
        @staticmethod
        @dy.cuda.amp.custom_fwd(cast_inputs=dy.float32)
        def forward(ctx, a):
            assert not dy.is_autocast_enabled()
            seen.append(a.dtype)
            return a * 2

        @staticmethod
        @dy.cuda.amp.custom_bwd
        def backward(ctx, g):
            seen.append(dy.is_autocast_enabled())
            return g * 2

    a, b = dy.randn(3, 3, requires_grad=True), dy.randn(3, 3, requires_grad=True)
    with dy.autocast("cpu"):
        y = Product.apply(a, b)
        assert y.dtype is dy.bfloat16
        z = Exact.apply(y)
        assert z.dtype is dy.float32
    z.sum().backward()
    assert seen == [dy.float32, False, True] and a.grad.dtype is dy.float32
    Product.apply(a, b).sum().backward()
    assert seen[-1] is False


def test_f8_layers_and_their_state():
    recipe = dy.amp.DelayedScaling(amax_history_len=4)
    m = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    x = dy.randn(32, 8)
    for _ in range(3):
        with dy.autocast("cpu", dtype=dy.float8_e4m3fn, recipe=recipe):
            y = m(x)
        assert y.dtype is dy.bfloat16
        y.sum().backward()
    assert 0.001 < ((y.float() - m(x)) ** 2).mean() ** 0.5 / m(x).std() < 0.1
    state = recipe.state_dict()
    assert list(state) == [f"{layer}.{kind}" for layer in "02" for kind in ("input", "weight", "gradient")]
    assert all(s.shape == (5,) and s[1] > 0 for s in state.values())
    other = dy.amp.DelayedScaling(amax_history_len=4)
    other.load_state_dict(state)
    assert all((a == b).all() for a, b in zip(state.values(), other.state_dict().values()))
    assert any(row["ran"] is dy.float8_e4m3fn for row in dy.autocast.report())
    with pytest.raises(ValueError, match="amax_compute_algo"):
        dy.amp.DelayedScaling(amax_compute_algo="mean")


def test_scaler_is_pytorchs():
    m = nn.Linear(2, 2)
    optimizer, scaler = dy.optim.SGD(m.named_parameters(), lr=0.1), dy.amp.GradScaler(init_scale=4.0, growth_interval=1)
    assert scaler.is_enabled() and scaler.get_growth_factor() == 2 and scaler.get_backoff_factor() == 0.5
    a, (b, c) = scaler.scale((dy.ones(2), [dy.ones(1), dy.ones(())]))
    assert a[0] == b[0] == c == 4
    with pytest.raises(ValueError, match="takes a Tensor or a list of them, not int"):
        scaler.scale(3)
    with pytest.raises(RuntimeError, match="update\\(\\) without a step"):
        scaler.update()
    scaler.scale(m(dy.ones(1, 2)).sum()).backward()
    scaler.unscale_(optimizer)
    assert (m.bias.grad == 1).all()
    with pytest.raises(RuntimeError, match=r"unscale_\(\) a second time"):
        scaler.unscale_(optimizer)
    before = m.bias.detach().clone()
    assert scaler.step(optimizer, grad_scale=0.5) is None
    assert dy.allclose(before - m.bias, dy.full((2,), 0.05))
    with pytest.raises(RuntimeError, match=r"step\(\) a second time"):
        scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="takes no closure"):
        scaler.step(optimizer, closure=lambda: 0)
    scaler.update()
    assert scaler.get_scale() == 8
    scaler.update(dy.tensor(3.0))
    assert scaler.get_scale() == 3
    state = scaler.state_dict()
    assert state == {"scale": 3, "growth_factor": 2, "backoff_factor": 0.5, "growth_interval": 1, "_growth_tracker": 0, "skipped": 0, "skipped_in_a_row": 0}
    other = dy.cuda.amp.GradScaler(growth_factor=8.0)
    other.load_state_dict(state)
    assert other.state_dict() == state
    off = dy.amp.GradScaler("cuda", enabled=False)
    assert off.state_dict() == {} and off.scale(3) == 3 and off.get_scale() == 1
    off.step(optimizer)
    with pytest.raises(RuntimeError, match="The source state dict is empty"):
        other.load_state_dict({})


def test_scaler_takes_any_optimizer():
    class Own:
        def __init__(self, params):
            self.param_groups, self.steps = [{"params": list(params)}], 0

        def step(self, by=1):
            self.steps += by
            return "done"

    p = dy.zeros(2).requires_grad_()
    own, scaler = Own([p]), dy.amp.GradScaler(init_scale=2.0, max_skips=2)
    p.grad = dy.ones(2)
    assert scaler.step(own, 3) == "done" and own.steps == 3 and (p.grad == 0.5).all()
    scaler.update()
    p.grad = dy.full((2,), float("nan"))
    assert scaler.step(own) is None and own.steps == 3 and scaler.skipped == 1
    scaler.update()
    scaler.step(own)
    with pytest.raises(RuntimeError, match="2 steps in a row were skipped: the gradient of 0 is not finite even at a scale of 1"):
        scaler.update()


def test_rounding_is_counted_by_module():
    m = nn.Sequential(nn.Linear(4, 2, bias=False)).half()
    with dy.no_grad():
        m[0].weight.fill_(1.0)
    small = dy.tensor([1.0, 1e-9])
    with dy.rounding_counting() as counter:
        m(dy.full((3, 4), 60000.0, dtype=dy.float16))
        small.half()
    rows = {row["op"]: row for row in counter.counts()}
    assert rows["linear"]["module"] == "0" and rows["linear"]["overflows"] == 6 and rows["linear"]["calls"] == 1
    assert rows["to"]["flushed"] == 1 and rows["to"]["nans"] == rows["to"]["saturated"] == 0
    text = str(counter).splitlines()
    assert text[0].split() == ["op", "module", "dtype", "calls", "elements", "overflow", "flushed", "saturated", "NaN"]
    assert text[2].split() == ["linear", "0", "f16", "1", "6", "6", "0", "0", "0"] and counter.table() == str(counter)


def test_autocast_and_scaler():
    m = nn.Linear(8, 8)
    x = dy.randn(4, 8)
    with dy.counting() as counter:
        with dy.autocast("cpu", dtype=dy.bfloat16):
            assert dy.amp.is_autocast_enabled()
            y = m(x)
            with dy.autocast("cpu", enabled=False):
                assert (x @ x.T).dtype is dy.float32
        assert y.dtype is dy.bfloat16 and not dy.amp.is_autocast_enabled()
        y.float().sum().backward()
    assert m.weight.grad.dtype is dy.float32
    linear = [c for c in counter.counts() if c["op"] == "linear"]
    assert [c["dtype"] for c in linear] == [dy.bfloat16] and linear[0]["calls"] == 1 and counter.flops() > 0

    @dy.autocast("cpu", dtype=dy.float16)
    def half(x):
        return x @ x.T

    assert half(x).dtype is dy.float16
    with pytest.raises(ValueError, match="autocast"):
        with dy.autocast("cpu", dtype="f64"):
            pass

    optimizer, scaler = dy.optim.AdamW(m.parameters()), dy.amp.GradScaler(init_scale=1024.0)
    before = m.weight.detach().clone()
    m.weight.grad = dy.full((8, 8), float("inf"))
    scaler.step(optimizer)
    assert (m.weight == before).all()
    scaler.update()
    assert scaler.get_scale() == 512 and scaler.skipped == 1
    optimizer.zero_grad()
    scaler.scale(m(x).sum()).backward()
    scaler.step(optimizer)
    assert not (m.weight == before).all()
    other = dy.amp.GradScaler()
    other.load_state_dict(scaler.state_dict())
    assert other.get_scale() == 512
