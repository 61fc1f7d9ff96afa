"""Modules that scripts import by PyTorch's names, and what they are there for."""
import importlib
import io
import pickle

import pytest

import dyadic as torch

MODULES = """
__config__ backends.cpu backends.cuda backends.cudnn backends.mkl backends.mkldnn backends.mps backends.openmp distributed distributions.utils
distributions.constraint_registry distributions.exp_family functional hub jit multiprocessing nn.grad overrides serialization
signal.windows storage types utils.model_zoo utils.benchmark utils.data._utils.collate
""".split()


@pytest.mark.parametrize("name", MODULES)
def test_modules(name):
    module, found = importlib.import_module(f"dyadic.{name}"), torch
    for part in name.split("."):
        found = getattr(found, part)
    assert found is module


def test_switches_of_other_libraries():
    cudnn = importlib.import_module("dyadic.backends.cudnn")
    cudnn.benchmark = True
    assert torch.backends.cudnn.benchmark and cudnn.version() is None and not cudnn.is_available()
    cudnn.benchmark = False
    torch.backends.cuda.matmul.allow_tf32 = True
    with cudnn.flags(enabled=False):
        assert torch.backends.cuda.math_sdp_enabled() and not torch.backends.cuda.flash_sdp_enabled()
    for name in ("mkl", "mkldnn", "mps", "openmp"):
        assert getattr(torch.backends, name).is_available() is False
    assert torch.backends.cpu.get_cpu_capability() in ("DEFAULT", "AVX2", "AVX512")
    assert not torch.distributed.is_available() and not torch.distributed.is_initialized()
    assert torch.__version__ in torch.__config__.show() and torch.cuda.get_rng_state_all() == []


def test_jit_changes_nothing():
    def double(x):
        return x * 2

    assert torch.jit.script(double) is double and torch.jit.export(double) is double and torch.jit.unused(double) is double
    assert torch.jit.ignore(double) is double and torch.jit.ignore(drop=True)(double) is double and not torch.jit.is_scripting()


WINDOWS = {  # of 5, PyTorch's
    "bartlett": [0, 0.5, 1, 0.5, 0],
    "blackman": [0, 0.34, 1, 0.34, 0],
    "cosine": [0.309017, 0.809017, 1, 0.809017, 0.309017],
    "exponential": [0.135335, 0.367879, 1, 0.367879, 0.135335],
    "gaussian": [0.135335, 0.606531, 1, 0.606531, 0.135335],
    "hamming": [0.08, 0.54, 1, 0.54, 0.08],
    "hann": [0, 0.5, 1, 0.5, 0],
    "kaiser": [0.0000528, 0.215673, 1, 0.215673, 0.0000528],
    "nuttall": [0.0003628, 0.2269824, 1, 0.2269824, 0.0003628],
}


@pytest.mark.parametrize("name", WINDOWS)
def test_windows(name):
    make = getattr(torch.signal.windows, name)
    assert make(5).tolist() == pytest.approx(WINDOWS[name], abs=1e-6) and make(5).dtype is torch.float32
    assert make(1).tolist() == [1] and make(0).shape == (0,) and make(4, dtype=torch.float64, requires_grad=True).requires_grad
    if name not in ("cosine", "exponential", "gaussian"):  # their periodic form is the longer one without its end
        assert make(5, sym=False).tolist() == pytest.approx(make(6).tolist()[:5], abs=1e-6)
    with pytest.raises(ValueError, match=": M is not negative"):
        make(-1)


class Config:
    def __init__(self, width):
        self.width = width


def test_safe_globals():
    f = io.BytesIO()
    torch.save({"config": Config(3), "w": torch.ones(2, dtype=torch.float64), "d": torch.float16, "s": torch.Size([2])}, f)

    def load(**options):
        f.seek(0)
        return torch.load(f, **options)

    with pytest.raises(pickle.UnpicklingError, match=r"the file object holds more .*Config; serialization.add_safe_globals"):
        load()
    with torch.serialization.safe_globals([Config]):
        assert torch.serialization.get_safe_globals() == [Config]
        loaded = load()
    assert loaded["config"].width == 3 and loaded["w"].tolist() == [1, 1] and loaded["d"] is torch.float16
    assert torch.serialization.get_safe_globals() == [] and load(weights_only=False)["config"].width == 3


def greet(i, folder, fails):
    if fails:
        raise ValueError("as told")
    (folder / str(i)).write_text(str(torch.ones(i + 1).sum().item()))


def test_processes(tmp_path):
    mp = torch.multiprocessing
    mp.set_sharing_strategy("file_system")
    started = mp.spawn(greet, (tmp_path, False), nprocs=2, join=False)
    for p in started.processes:
        p.join(60)
    assert started.join() and len(started.pids()) == 2  # what has ended before is not waited for
    assert [(tmp_path / str(i)).read_text() for i in range(2)] == ["1.0", "2.0"]
    with pytest.raises(mp.ProcessRaisedException, match="Process 0 terminated with the following error:[^~]*ValueError: as told"):
        mp.spawn(greet, (tmp_path, True))


def test_gradient_scaler_by_both_names():
    assert torch.GradScaler is torch.amp.GradScaler and torch.GradScaler(device="cpu").is_enabled()


def test_timer():
    found = torch.utils.benchmark.Timer("x + x", globals={"x": torch.ones(4)}, label="sum").blocked_autorange(min_run_time=0.01)
    assert found.median > 0 and found.iqr >= 0 and "sum" in repr(found) and len(found.times) == len(found.raw_times)
    assert torch.utils.benchmark.Timer("pass").timeit(100).number_per_run == 100


def test_several_processes_are_refused_when_used():
    nn = torch.nn
    assert not isinstance(nn.Linear(1, 1), (nn.parallel.DistributedDataParallel, nn.SyncBatchNorm))
    x = torch.randn(4, 2)
    assert torch.equal(nn.SyncBatchNorm(2)(x), nn.BatchNorm1d(2)(x))
    model = nn.Sequential(nn.BatchNorm1d(2))
    assert nn.SyncBatchNorm.convert_sync_batchnorm(model) is model
    with pytest.raises(NotImplementedError, match="in one group"):
        torch.distributed.ProcessGroup()
    with pytest.raises(RuntimeError, match="no GPU"):
        torch.cuda.nvtx.range_push("step")


def test_calls_are_not_taken_over():
    from dyadic import overrides

    x = torch.ones(1)
    assert not overrides.has_torch_function((x,)) and not overrides.has_torch_function_unary(x) and not overrides.has_torch_function_variadic(x, x)
    assert overrides.is_tensor_like(x) and not overrides.is_tensor_like(1)
    with pytest.raises(TypeError, match="has_torch_function"):
        overrides.handle_torch_function(torch.add, (x,))


def test_weights_from_the_net(tmp_path):
    from dyadic import hub
    from dyadic.utils.model_zoo import load_url

    torch.save({"a": torch.ones(2)}, tmp_path / "weights.pt")
    url = (tmp_path / "weights.pt").as_uri()
    kept = tmp_path / "kept"
    assert load_url(url, model_dir=str(kept))["a"].tolist() == [1, 1] and (kept / "weights.pt").exists()
    with pytest.raises(RuntimeError, match="hash"):
        hub.download_url_to_file(url, str(kept / "other.pt"), hash_prefix="00000000")
    assert [p.name for p in kept.iterdir()] == ["weights.pt"]
    before = hub.get_dir()
    hub.set_dir(str(tmp_path))
    assert hub.get_dir() == str(tmp_path)
    hub.set_dir(before)
    with pytest.raises(RuntimeError, match="download"):
        hub.load("owner/name", "resnet18")


def test_lists_of_tensors_as_one_vector():
    from dyadic._utils import _flatten_dense_tensors, _unflatten_dense_tensors

    parts = [torch.ones(2, 2), torch.zeros(3)]
    flat = _flatten_dense_tensors(parts)
    assert flat.tolist() == [1] * 4 + [0] * 3
    assert all(a.equal(b) for a, b in zip(_unflatten_dense_tensors(flat, parts), parts))


def test_gradients_of_convolutions():
    F = torch.nn.functional
    x, weight = torch.randn(2, 4, 5, 5, requires_grad=True), torch.randn(6, 2, 3, 3, requires_grad=True)
    y = F.conv2d(x, weight, None, 2, 1, 1, 2)
    g = torch.randn(y.shape)
    of_x, of_weight = torch.autograd.grad(y, (x, weight), g)
    torch.testing.assert_close(torch.nn.grad.conv2d_input(x.shape, weight, g, 2, 1, 1, 2), of_x)
    torch.testing.assert_close(torch.nn.grad.conv2d_weight(x, weight.shape, g, 2, 1, 1, 2), of_weight)


def test_other_import_lines():
    from dyadic.distributions import ExponentialFamily, constraints
    from dyadic.serialization import MAP_LOCATION
    from dyadic.utils.data.dataloader import DataLoader, _BaseDataLoaderIter

    assert isinstance(iter(DataLoader([1, 2])), _BaseDataLoaderIter) and MAP_LOCATION
    assert all(hasattr(constraints, name) for name in constraints.__all__) and "positive" in constraints.__all__

    class Gaussian(ExponentialFamily):
        arg_constraints = {}
        _mean_carrier_measure = 0

        def __init__(self, loc, scale):
            self.loc, self.scale = loc, scale
            super().__init__(loc.shape)

        @property
        def _natural_params(self):
            return self.loc / self.scale**2, -0.5 / self.scale**2

        def _log_normalizer(self, x, y):
            return -0.25 * x**2 / y + 0.5 * torch.log(-torch.pi / y)

    loc, scale = torch.tensor([1.0, 2.0]), torch.tensor([0.5, 3.0])
    torch.testing.assert_close(Gaussian(loc, scale).entropy(), torch.distributions.Normal(loc, scale).entropy())
