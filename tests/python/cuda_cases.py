"""torch.cuda, on whatever device DYADIC_CUDA gives: test_cuda.py runs this file on the simulated one."""
import copy
import io
import pickle

import pytest

import dyadic as torch
from dyadic import nn
from dyadic.nn import functional as F


def model():
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(8, 16), nn.LayerNorm(16), nn.GELU(), nn.Dropout(0.1), nn.Linear(16, 3))


def test_what_is_there():
    assert torch.cuda.is_available() and torch.cuda.device_count() >= 1 and torch.cuda.current_device() == 0
    p = torch.cuda.get_device_properties(0)
    assert p.total_memory > 0 and p.name == torch.cuda.get_device_name() and torch.cuda.get_device_capability() == (p.major, p.minor)
    assert torch.cuda.is_bf16_supported() and torch.cuda.is_initialized()
    free, total = torch.cuda.mem_get_info()
    assert 0 < free <= total


def test_tensors_are_made_and_moved():
    x = torch.ones(2, 3, device="cuda")
    assert x.device == torch.device("cuda", 0) and x.is_cuda and not x.is_cpu and str(x.device) == "cuda:0"
    assert torch.device("cuda").index is None and torch.zeros(1, device=torch.device("cuda:0")).device.index == 0
    assert x.cpu().tolist() == [[1, 1, 1], [1, 1, 1]] == x.tolist()
    assert x.to("cpu").device.type == "cpu" and x.to(device="cuda", dtype=torch.bfloat16).dtype is torch.bfloat16
    assert torch.randn(3).cuda().device.type == "cuda" and torch.randn(3).cuda(0).to(x).device == x.device
    assert torch.tensor([1, 2], device="cuda").sum().item() == 3
    assert torch.arange(5, device="cuda").tolist() == [0, 1, 2, 3, 4]
    assert torch.zeros_like(x).device == x.device and x.new_full((2,), 7).tolist() == [7, 7]
    with torch.device("cuda"):
        assert torch.zeros(2).device.type == "cuda"
    assert "device='cuda:0'" in repr(x)
    with pytest.raises(TypeError, match="cpu"):
        x.numpy()
    assert x.numpy(force=True).sum() == 6
    assert x.data_ptr() != 0


def test_random_numbers_are_the_hosts():
    torch.manual_seed(1)
    here = torch.rand(1000), torch.randint(0, 10, (100,)), torch.randperm(50)
    torch.manual_seed(1)
    far = torch.rand(1000, device="cuda"), torch.randint(0, 10, (100,), device="cuda"), torch.randperm(50, device="cuda")
    for a, b in zip(here, far):
        assert torch.equal(a, b.cpu())


def test_mixed_devices_are_refused():
    with pytest.raises(RuntimeError, match="two devices"):
        torch.randn(3, device="cuda") + torch.randn(3)
    assert (torch.ones(3, device="cuda") * torch.tensor(2.0)).tolist() == [2, 2, 2]


@pytest.mark.parametrize("autocast", [False, True])
def test_training_is_the_hosts_to_rounding(autocast):
    def train(device):
        net = model().to(device)
        opt = torch.optim.AdamW(net.parameters(), lr=1e-2)
        scaler = torch.amp.GradScaler(device, enabled=autocast)
        torch.manual_seed(4)
        x, y = torch.randn(64, 8).to(device), torch.randint(0, 3, (64,)).to(device)
        losses = []
        for _ in range(10):
            opt.zero_grad()
            with torch.autocast(device, dtype=torch.bfloat16, enabled=autocast):
                loss = F.cross_entropy(net(x), y)
            scaler.scale(loss).backward()
            scaler.unscale_(opt)
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            scaler.step(opt)
            scaler.update()
            losses.append(loss.item())
        return losses

    here, far = train("cpu"), train("cuda")
    assert far == pytest.approx(here, abs=5e-2 if autocast else 1e-4) and far[-1] < far[0] and train("cuda") == far


def test_modules_move_and_their_states_are_read():
    net = model().cuda()
    assert all(p.is_cuda and p.is_leaf and p.requires_grad for p in net.parameters())
    x = torch.randn(4, 8)
    net.eval()
    far = net(x.cuda()).cpu()
    twin = model()
    twin.load_state_dict(net.state_dict())
    twin.eval()
    assert torch.allclose(far, twin(x), atol=1e-5)
    file = io.BytesIO()
    torch.save(net.state_dict(), file)
    file.seek(0)
    assert all(torch.equal(v.cpu(), net.state_dict()[k].cpu()) for k, v in torch.load(file).items())
    assert torch.equal(pickle.loads(pickle.dumps(x.cuda())).cpu(), x) and copy.deepcopy(x.cuda()).is_cuda
    assert not any(p.is_cuda for p in net.cpu().parameters())


def test_the_ledger():
    torch.cuda.empty_cache()
    before = torch.cuda.memory_allocated()
    x = torch.zeros(1 << 18, device="cuda")
    assert torch.cuda.memory_allocated() - before == 1 << 20 and torch.cuda.memory_reserved() >= 1 << 20
    torch.cuda.reset_peak_memory_stats()
    y = x + 1
    assert torch.cuda.max_memory_allocated() >= before + (2 << 20)
    del x, y
    assert torch.cuda.memory_allocated() == before and "cuda:0" in torch.cuda.memory_summary()
    with pytest.raises(torch.cuda.OutOfMemoryError):
        torch.zeros(1 << 40, device="cuda")


def test_streams_and_events():
    s = torch.cuda.Stream()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    x = torch.ones(1000, device="cuda")
    s.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(s):
        assert torch.cuda.current_stream() == s != torch.cuda.default_stream()
        begin.record()
        y = x * 3
        end.record()
    torch.cuda.current_stream().wait_stream(s)
    assert (y + 1).sum().item() == 4000
    end.synchronize()
    assert begin.elapsed_time(end) >= 0 and end.query()
    torch.cuda.synchronize()


def test_faults_are_named():
    with pytest.raises(IndexError, match="embedding|index"):
        F.embedding(torch.tensor([1, 99], device="cuda"), torch.randn(4, 2, device="cuda")).cpu()
    assert torch.ones(2, device="cuda").sum().item() == 2


def test_what_has_no_kernel_goes_by_the_host_when_asked():
    a = torch.eye(3, device="cuda") * 2
    with pytest.raises(RuntimeError, match="no kernel"):
        torch.linalg.eigvalsh(a)
    with torch.cuda.cpu_fallback():
        assert torch.linalg.eigvalsh(a).cpu().tolist() == [2, 2, 2]
    assert sum(torch.cuda.cpu_fallback_calls().values()) > 0


def test_an_optimizer_goes_on_from_a_file():
    def run(steps, state=None):
        net = model().cuda()
        opt = torch.optim.AdamW(net.parameters(), lr=1e-2)
        if state is not None:
            file = io.BytesIO()
            torch.save(state, file)
            file.seek(0)
            loaded = torch.load(file, map_location="cpu")
            net.load_state_dict(loaded["net"])
            opt.load_state_dict(loaded["opt"])
        net.eval()
        for _ in range(steps):
            opt.zero_grad()
            net(torch.ones(2, 8, device="cuda")).square().sum().backward()
            opt.step()
        return {"net": net.state_dict(), "opt": opt.state_dict()}

    half, whole = run(2), run(4)
    again = run(2, half)
    assert all(torch.equal(a.cpu(), b.cpu()) for a, b in zip(again["net"].values(), whole["net"].values()))
