"""Control flow as functions, attention whose scores a function changes, results that come later, and what the profiler counts."""
import gzip
import json
import threading

import pytest

import dyadic as torch
from dyadic import _higher_order_ops as hop
from dyadic.nn import functional as F
from dyadic.nn.attention import flex_attention as flex


def test_branches_and_loops():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    assert hop.cond(x.sum() > 2, lambda x: x * 2, lambda x: x * 3, (x,)).tolist() == [2, 4]
    assert hop.cond(False, lambda x: x * 2, lambda x: x * 3, [x]).tolist() == [3, 6]
    i, y = hop.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 2), (torch.tensor(0), x))
    assert i == 3 and y.tolist() == [8, 16]
    y.sum().backward()
    assert x.grad.tolist() == [8, 8]


def test_scans():
    xs = torch.arange(1.0, 7).reshape(3, 2)
    carry, sums = hop.scan(lambda c, x: (c + x, {"s": c + x}), torch.zeros(2), xs)
    assert carry.equal(xs.sum(0)) and sums["s"].equal(xs.cumsum(0))
    _, back = hop.scan(lambda c, x: (c + x, c + x), torch.zeros(2), xs, reverse=True)
    assert back.equal(xs.flip(0).cumsum(0).flip(0))
    assert hop.associative_scan(lambda a, b: a * b, xs, 0).equal(xs.cumprod(0))
    assert hop.associative_scan(lambda a, b: a + b, xs, 1, reverse=True).equal(xs.flip(1).cumsum(1).flip(1))
    assert hop.map(lambda x, k: x * k, xs, 2).equal(xs * 2)
    with pytest.raises(ValueError, match="the leaves of xs differ in size"):
        hop.scan(lambda c, x: (c, c), 0, [torch.ones(2), torch.ones(3)])


def test_attention_with_a_mask_and_changed_scores():
    torch.manual_seed(0)
    q, k, v = (torch.randn(2, 4, 6, 8, dtype=torch.float64, requires_grad=True) for _ in range(3))
    causal = flex.create_block_mask(lambda b, h, q, kv: q >= kv, None, None, 6, 6, BLOCK_SIZE=2)
    assert torch.allclose(flex.flex_attention(q, k, v, block_mask=causal), F.scaled_dot_product_attention(q, k, v, is_causal=True))
    assert causal.shape == (1, 1, 6, 6) and causal.to_dense()[0, 0].tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]] and round(causal.sparsity()) == 33
    slope = torch.tensor([1.0, 0.5, 0.25, 0.125], dtype=torch.float64, requires_grad=True)
    alibi = lambda score, b, h, q, kv: score - slope[h] * (q - kv).abs()
    bias = -slope.reshape(4, 1, 1) * (torch.arange(6)[:, None] - torch.arange(6)).abs()
    mine, theirs = flex.flex_attention(q, k, v, alibi), F.scaled_dot_product_attention(q, k, v, bias)
    assert torch.allclose(mine, theirs)
    mine_grads, their_grads = (torch.autograd.grad(y.square().sum(), [q, k, v, slope]) for y in (mine, theirs))
    assert all(torch.allclose(a, b) for a, b in zip(mine_grads, their_grads))
    out, lse = flex.flex_attention(q, k[:, :2], v[:, :2], enable_gqa=True, return_lse=True)
    assert torch.allclose(out, F.scaled_dot_product_attention(q, k[:, :2], v[:, :2], enable_gqa=True)) and lse.shape == (2, 4, 6)
    _, aux = flex.flex_attention(q, k, v, return_aux=flex.AuxRequest(max_scores=True))
    assert aux.lse is None and torch.allclose(aux.max_scores, (q @ k.mT / 8**0.5).amax(-1))
    window = flex.and_masks(lambda b, h, q, kv: q >= kv, lambda b, h, q, kv: (q - kv) < 2)
    assert flex.create_mask(window, None, None, 3, 3)[0, 0].tolist() == [[True, False, False], [True, True, False], [False, True, True]]
    either = flex.or_masks(lambda b, h, q, kv: q == 0, lambda b, h, q, kv: kv == 0)
    assert flex.create_mask(either, None, None, 2, 2)[0, 0].tolist() == [[True, True], [True, False]]
    nothing = flex.create_block_mask(lambda b, h, q, kv: q < 0, None, None, 6, 6)
    assert flex.flex_attention(q, k, v, block_mask=nothing).abs().max() == 0
    with pytest.raises(ValueError, match="the heads do not fit: query has 4, key 2; enable_gqa=True"):
        flex.flex_attention(q, k[:, :2], v[:, :2])


def test_results_that_come_later():
    future = torch.futures.Future()
    after = future.then(lambda f: f.value() + 1)
    with pytest.raises(RuntimeError, match="it is not there yet"):
        future.value()
    threading.Timer(0.01, future.set_result, [1]).start()
    assert after.wait() == 2 and future.done() and torch.futures.wait_all([future, after]) == [1, 2]
    with pytest.raises(RuntimeError, match="the result is set already"):
        future.set_result(2)
    failed = torch.futures.Future()
    failed.set_exception(ValueError("no"))
    with pytest.raises(ValueError, match="no"):
        failed.then(lambda f: f.value()).wait()
    assert torch.futures.collect_all([]).wait() == []


def test_the_profiler_counts(tmp_path):
    from dyadic.profiler import ProfilerActivity, profile, record_function, schedule, tensorboard_trace_handler

    a, b = torch.randn(8, 16), torch.randn(16, 4)
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as prof:
        with record_function("forward"):
            a @ b
        (a @ b).relu()
    found = {e.key: e for e in prof.key_averages()}
    assert found["matmul"].count == 2 and found["matmul"].flops == 2 * 2 * 8 * 16 * 4 and found["forward"].count == 1
    assert found["forward"].cpu_time_total > 0 and prof.key_averages().self_cpu_time_total >= found["forward"].cpu_time_total
    with pytest.raises(NotImplementedError, match="the time of single ops is not measured: matmul"):
        found["matmul"].cpu_time_total
    text = prof.key_averages().table(sort_by="flops", row_limit=2)
    assert text.splitlines()[2].split()[:3] == ["matmul", "2", str(2 * 2 * 8 * 16 * 4)] and "forward" not in text
    prof.export_chrome_trace(tmp_path / "trace.json")
    assert json.loads((tmp_path / "trace.json").read_text())["traceEvents"][0]["name"] == "forward"

    steps = [schedule(wait=1, warmup=1, active=2, repeat=1, skip_first=1)(i).name for i in range(7)]
    assert steps == ["NONE", "NONE", "WARMUP", "RECORD", "RECORD_AND_SAVE", "NONE", "NONE"]
    seen = []
    with profile(schedule=schedule(wait=1, warmup=0, active=1), on_trace_ready=lambda p: seen.append((p.step_num, p.total_average().count))) as prof:
        for _ in range(4):
            a @ b
            prof.step()
    assert seen == [(1, 1), (3, 1)]
    with profile(on_trace_ready=tensorboard_trace_handler(tmp_path / "traces", use_gzip=True)):
        a @ b
    (file,) = (tmp_path / "traces").iterdir()
    assert json.loads(gzip.open(file).read())["ops"][0]["op"] == "matmul"
    with torch.autograd.profiler.profile(enabled=False) as prof:
        a @ b
    assert prof.total_average().count == 0
    with pytest.raises(NotImplementedError, match="ops are counted by name"):
        prof.key_averages(group_by_input_shape=True)


def test_flops(capsys):
    from dyadic.utils.flop_counter import FlopCounterMode

    layer, x = torch.nn.Linear(16, 4, bias=False), torch.randn(8, 16)
    with FlopCounterMode(display=False) as counter:
        layer(x).sum().backward()
    found = counter.get_flop_counts()["Global"]
    assert found["linear"] == 2 * 8 * 16 * 4 and counter.get_total_flops() == sum(found.values())
    with FlopCounterMode():
        x @ x.T
    assert "matmul" in capsys.readouterr().out and counter.get_table().startswith("Global")
