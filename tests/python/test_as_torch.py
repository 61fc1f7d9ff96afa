"""python -m dyadic script.py, as_torch(): other people's programs, in which torch means this package. Scripts behave as under python."""
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import dyadic

PLACE = str(Path(dyadic.__file__).parents[1])


def run(folder, *words, code=None, name="script.py"):
    """What python says when it is called with these words in a folder in which the code is a script."""
    if code is not None:
        (folder / name).write_text(textwrap.dedent(code))
    environment = {**os.environ, "PYTHONPATH": PLACE}
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, cwd=folder, env=environment)


def output(folder, code):
    found = run(folder, "-m", "dyadic", "script.py", code=code)
    assert found.returncode == 0, found.stderr
    return found.stdout.splitlines()


def test_names_are_pytorch_s(tmp_path):
    lines = output(
        tmp_path,
        """
        import importlib.metadata, importlib.util
        import torch
        import torch.nn.functional as F
        from torch import nn
        from torch.utils.data import DataLoader, Dataset
        x = torch.arange(4.0)
        print(torch.__name__, torch.__version__, importlib.metadata.version("torch"), importlib.util.find_spec("torch") is not None)
        print(torch.float32, [torch.bfloat16], x.type(), torch.typename(x), type(x), x.long().type(), torch.channels_last, x.layout)
        print(x.shape, nn.functional.__name__, F is nn.functional, torch.nn.__name__)
        print(nn.Linear, nn.Module, nn.Parameter, nn.Conv2d, nn.CrossEntropyLoss, torch.Size, torch.device, torch.dtype)
        print(torch.optim.AdamW, torch.optim.Optimizer, torch.optim.lr_scheduler.StepLR, DataLoader, Dataset)
        print(torch.distributions.Normal, torch.autograd.Function, torch.Generator, torch.nn.utils.rnn.PackedSequence)
        print(torch.max(x, 0), nn.Linear(1, 2).__class__.__module__)
        print("torch" in importlib.metadata.packages_distributions(), torch.nn.Linear is __import__("dyadic").nn.Linear)
        """,
    )
    assert lines == [
        "torch 2.15.0+dyadic 2.15.0+dyadic True",
        "torch.float32 [torch.bfloat16] torch.FloatTensor torch.FloatTensor <class 'torch.Tensor'> torch.LongTensor torch.channels_last torch.strided",
        "torch.Size([4]) torch.nn.functional True torch.nn",
        "<class 'torch.nn.modules.linear.Linear'> <class 'torch.nn.modules.module.Module'> <class 'torch.nn.parameter.Parameter'> "
        "<class 'torch.nn.modules.conv.Conv2d'> <class 'torch.nn.modules.loss.CrossEntropyLoss'> <class 'torch.Size'> <class 'torch.device'> "
        "<class 'torch.dtype'>",
        "<class 'torch.optim.adamw.AdamW'> <class 'torch.optim.optimizer.Optimizer'> <class 'torch.optim.lr_scheduler.StepLR'> "
        "<class 'torch.utils.data.dataloader.DataLoader'> <class 'torch.utils.data.dataset.Dataset'>",
        "<class 'torch.distributions.normal.Normal'> <class 'torch.autograd.function.Function'> <class 'torch.Generator'> "
        "<class 'torch.nn.utils.rnn.PackedSequence'>",
        "torch.return_types.max(",
        "values=tensor(3.),",
        "indices=tensor(3)) torch.nn.modules.linear",
        "True True",
    ]


def test_alone_the_package_keeps_its_names():
    x = dyadic.ones(2)
    assert (dyadic.__name__, str(dyadic.float32), x.type(), repr(x.shape)) == ("dyadic", "dyadic.float32", "dyadic.FloatTensor", "dyadic.Size([2])")
    assert "torch" not in sys.modules or sys.modules["torch"] is not dyadic
    assert dyadic.__version__.count(".") >= 1 and "+" not in dyadic.__version__


def test_what_is_printed_names_torch(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("import torch\nx = torch.eye(2, dtype=torch.float64)\nprint(x[0], x.to_sparse_csr())\n")
    out = subprocess.run([sys.executable, "-m", "dyadic", str(program)], capture_output=True, text=True, check=True).stdout
    assert "dtype=torch.float64)" in out and "layout=torch.sparse_csr" in out and "dyadic" not in out


def test_versions_compare_as_versions():
    from dyadic.torch_version import TorchVersion

    v = TorchVersion("2.15.0+dyadic")
    assert v > "2.2" and v >= "2.15.0" and v < "2.16" and not v < "2.9" and v >= (2, 15) and v != "2.15.0" and v == "2.15.0+dyadic"
    assert v.split(".")[:2] == ["2", "15"] and isinstance(v, str) and hash(v) == hash("2.15.0+dyadic")
    assert v.__lt__("no version") is NotImplemented and v < "no version"  # then as texts


ENDS = {
    "fine": "import sys\nprint(__name__, sys.argv, __file__ == sys.argv[0] or __file__.endswith(sys.argv[0]), __spec__, __package__, sys.path[0])",
    "error": "def f(x):\n    return 1 / x\n\n\nf(0)\n",
    "chained": "try:\n    {}['a']\nexcept KeyError as e:\n    raise ValueError('no') from e\n",
    "exit": "import sys\nsys.exit(3)\n",
    "words": "import sys\nsys.exit('this is why')\n",
    "syntax": "x = (1,\nprint(2\n",
    "own hook": "import sys\nsys.excepthook = lambda kind, value, trace: print('hook', kind.__name__, value, trace.tb_frame.f_code.co_filename)\nraise RuntimeError('x')\n",
    "at exit": "import atexit\natexit.register(print, 'bye')\nraise OSError(2, 'gone')\n",
    "warning": "import warnings\nwarnings.warn('careful')\n",
    "main": "import sys\nprint(sys.modules['__main__'].__dict__ is globals(), sorted(k for k in globals() if k.startswith('__')))\n",
}


@pytest.mark.parametrize("kind", ENDS)
def test_scripts_end_as_under_python(kind, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "script.py").write_text(ENDS[kind])
    words = ["folder/script.py", "--lr", "1", "-m"]
    python, own = run(tmp_path, *words), run(tmp_path, "-m", "dyadic", *words)
    assert (own.returncode, own.stdout, own.stderr) == (python.returncode, python.stdout, python.stderr)


def test_other_ways_to_start(tmp_path):
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__main__.py").write_text("import sys, torch\nprint(torch.__name__, sys.argv[1:])\n")
    for words, out in [
        (["-m", "package", "a", "b"], "torch ['a', 'b']\n"),
        (["-c", "import sys, torch; print(torch.__name__, sys.argv)", "a"], "torch ['-c', 'a']\n"),
    ]:
        found = run(tmp_path, "-m", "dyadic", *words)
        assert (found.returncode, found.stdout) == (0, out), found.stderr
    for words in (["nowhere.py"], ["-c", "1 +"]):
        python, own = run(tmp_path, *words), run(tmp_path, "-m", "dyadic", *words)
        assert (own.returncode, own.stderr) == (python.returncode, python.stderr)
    assert run(tmp_path, "-m", "dyadic").returncode == 2 and "usage" in run(tmp_path, "-m", "dyadic", "--help").stdout
    assert "unknown option --fast" in run(tmp_path, "-m", "dyadic", "--fast").stderr


def test_an_interrupt_ends_it_as_under_python(tmp_path):
    code = "import os, signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\nos.kill(os.getpid(), signal.SIGINT)\nimport time\ntime.sleep(9)\n"
    python, own = run(tmp_path, "script.py", code=code), run(tmp_path, "-m", "dyadic", "script.py")
    assert own.returncode == python.returncode == -signal.SIGINT and own.stderr.endswith("KeyboardInterrupt\n")


def test_another_torch_is_not_replaced(tmp_path):
    (tmp_path / "torch.py").write_text("x = 1\n")
    found = run(tmp_path, "script.py", code="import torch, dyadic\ndyadic.as_torch()\n")
    assert found.returncode == 1 and "another torch is imported already" in found.stderr
    found = run(tmp_path, "-m", "dyadic", "script.py", code="import torch\nprint(torch.__version__, dyadic_ := torch.as_torch() is torch)\n")
    assert found.stdout == "2.15.0+dyadic True\n"


def test_processes_of_multiprocessing_mean_it_too(tmp_path):
    lines = output(
        tmp_path,
        """
        import multiprocessing
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = nn.Linear(2, 2)

        def work(i, net, queue):
            queue.put((i, torch.__version__, type(net).__module__, str(net.inner.weight.dtype)))

        if __name__ == "__main__":
            for method in ("spawn", "fork"):
                context = multiprocessing.get_context(method)
                queue = context.Queue()
                process = context.Process(target=work, args=(1, Net(), queue))
                process.start()
                print(*queue.get())
                process.join()
        """,
    )
    assert lines == ["1 2.15.0+dyadic __mp_main__ torch.float32", "1 2.15.0+dyadic __main__ torch.float32"]


def test_pickles_serve_both_names(tmp_path):
    lines = output(
        tmp_path,
        """
        import pickle
        import torch
        from torch import nn
        objects = [torch.ones(2), nn.Parameter(torch.ones(2)), nn.Sequential(nn.Linear(2, 2), nn.ReLU()), torch.float16, torch.device("cpu"),
                   torch.Size([1, 2]), torch.relu, torch.nn.functional.gelu, torch.optim.AdamW, torch.utils.data.default_collate]
        print([type(o).__name__ for o in pickle.loads(pickle.dumps(objects))])
        torch.save(nn.Linear(2, 2), "model.pt")
        print(type(torch.load("model.pt", weights_only=False)))
        """,
    )
    assert lines[0].startswith("['Tensor', 'Parameter', 'Sequential', 'dtype', 'device', 'Size',") and lines[1] == "<class 'torch.nn.modules.linear.Linear'>"
    assert type(dyadic.load(tmp_path / "model.pt", weights_only=False)) is dyadic.nn.Linear


def test_modules_that_are_imported_later(tmp_path):
    lines = output(
        tmp_path,
        """
        import torch
        import torch.fx, torch.onnx, torch.distributed.fsdp
        from torch.nn.utils.weight_norm import WeightNorm
        from torch._higher_order_ops.associative_scan import associative_scan
        print(callable(torch.nn.utils.weight_norm), callable(torch._higher_order_ops.associative_scan))
        print(torch.library.custom_op.__module__, torch.profiler.profile, torch.fx.Tracer, torch.distributed.fsdp.FullyShardedDataParallel)
        import dyadic.futures
        print(torch.futures is dyadic.futures, dyadic.futures.Future)
        """,
    )
    assert lines == [
        "True True",
        "torch.library <class 'torch.profiler.profiler.profile'> <class 'torch.fx.Tracer'> <class 'torch.distributed.fsdp.FullyShardedDataParallel'>",
        "True <class 'torch.futures.Future'>",
    ]


def test_metaclasses_beside_ours(tmp_path):
    lines = output(
        tmp_path,
        """
        import pickle
        from abc import ABC, ABCMeta
        import torch
        from torch import nn

        class After(type):  # as kornia's
            def __call__(cls, *args, **kwargs):
                made = super().__call__(*args, **kwargs)
                made.after = cls.__name__
                return made

        class Mixed(type):  # as Pyro's
            def __getitem__(cls, other):
                class Both(other, cls):
                    pass
                return Both

        class Registered(ABCMeta):
            names = []
            def __init__(cls, *args, **kwargs):
                super().__init__(*args, **kwargs)
                Registered.names.append(cls.__name__)

        class Net(nn.Module, metaclass=After):
            def __init__(self, n=2):
                super().__init__()
                self.inner = nn.Linear(n, n)

            def forward(self, x):
                return self.inner(x)

        class Wider(Net):
            pass

        class Base(nn.Module, metaclass=Mixed):
            pass

        class Listed(Net, Base, metaclass=Registered):
            pass

        class Other(type(Net), type(ABC)):
            pass

        class Last(Net, ABC, metaclass=Other):
            pass

        class Plain(metaclass=After):
            pass

        net = Wider(3)
        print(isinstance(Net, After), type(Plain) is After, net.after, Plain().after, net(torch.ones(1, 3)).shape, len(list(net.parameters())))
        linear = Base[nn.Linear](2, 3)
        print(linear(torch.ones(1, 2)).shape, isinstance(linear, Base), Registered.names, Listed().after, Last()(torch.ones(1, 2)).shape)
        print(type(pickle.loads(pickle.dumps(net))).__name__, issubclass(Wider, nn.Module), Net.__class__.__mro__[1] is After)
        try:
            class Asked(nn.Module, metaclass=type("Meta", (type,), {"__iter__": lambda cls: iter(())})):
                pass
        except TypeError as e:
            print(e)
        """,
    )
    assert lines == [
        "True True Wider Plain torch.Size([1, 3]) 2",
        "torch.Size([1, 3]) True ['Listed'] Listed torch.Size([1, 2])",
        "Wider True True",
        "Asked: its metaclass Meta has __iter__, which is not asked of a module's class; leave it out",
    ]


def test_names_of_ours_hide_none_of_a_program_s(tmp_path):
    lines = output(
        tmp_path,
        """
        import torch
        from torch import nn

        class Mixin:
            def num_parameters(self, only_trainable=False):
                return sum(p.numel() for p in self.parameters() if p.requires_grad or not only_trainable)

        class Net(nn.Module, Mixin):
            def __init__(self):
                super().__init__()
                self.inner, self._computed = nn.Linear(2, 2), torch.ones(1)

            def __getattr__(self, name):
                try:
                    return super().__getattr__(name)
                except AttributeError:
                    return getattr(self.inner, name)

        net = Net()
        net.inner.requires_grad_(False)
        print(net.num_parameters(only_trainable=True), net.in_features, net.__getattr__("inner") is net.inner)
        again = Net()
        again.__dict__.update(net.__dict__)
        print(again._computed.tolist(), torch.is_autocast_enabled("mps"), torch.float32 == torch.complex32)
        from torch.distributions.multivariate_normal import Distribution, MultivariateNormal
        from torch.distributions.utils import _standard_normal, _sum_rightmost
        print(_sum_rightmost(torch.ones(2, 3, 4), 2).tolist(), _standard_normal((2,), torch.float64, "cpu").dtype)
        """,
    )
    assert lines == ["0 2 True", "[1.0] False False", "[12.0, 12.0] torch.float64"]


def test_modules_are_there_once(tmp_path):
    """What is imported later, by torch's name first, is the package's own module, with all that it has."""
    program = tmp_path / "program.py"
    program.write_text(
        "import torch.distributions, torch.backends.cudnn, torch.train, torch.ao.quantization, sys, importlib\n"
        "from torch.distributions.normal import Normal\n"
        "import torch.distributions.kl as kl\n"
        "assert torch.distributions.kl is kl and torch.distributions.Normal is Normal\n"
        "for name in ('distributions', 'backends', 'backends.cudnn', 'train', 'distributions.kl', 'distributions.normal'):\n"
        "    assert sys.modules['torch.' + name] is sys.modules['dyadic.' + name], name\n"
        "torch.backends.cudnn.benchmark = True\n"
        "assert sys.modules['dyadic.backends.cudnn'].benchmark\n"
        "try:\n    import torch.nothing\nexcept ModuleNotFoundError as e:\n    print(e)\n"
    )
    done = subprocess.run([sys.executable, "-m", "dyadic", str(program)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "No module named 'torch.nothing'\n"
