"""Scripts that are not touched: sys.modules["torch"] = dyadic, and whatever they and what they import say means this package."""
import subprocess
import sys
import textwrap
from pathlib import Path

import dyadic

HEAD = 'import sys, dyadic\nsys.modules["torch"] = dyadic\n'


def run(code, folder):
    folder = Path(folder)
    (folder / "script.py").write_text(HEAD + textwrap.dedent(code))
    paths = [str(Path(dyadic.__file__).parents[1]), str(folder)]
    found = subprocess.run([sys.executable, "script.py"], capture_output=True, text=True, cwd=folder, env={"PYTHONPATH": ":".join(paths)})
    assert found.returncode == 0, found.stderr
    return found.stdout


def test_submodules_are_the_same_modules(tmp_path):
    (tmp_path / "library.py").write_text("import torch.nn.functional as F\nfrom torch import nn\nfrom torch.optim.lr_scheduler import StepLR\n")
    out = run(
        """
        import pickle
        import torch
        import torch.nn as nn
        import torch.nn.functional as F
        import torch.distributions.normal
        from torch.nn.utils.rnn import pad_sequence
        from torch.utils.data import DataLoader, TensorDataset
        import library
        print(nn is dyadic.nn, library.nn is nn, library.F is F, DataLoader is dyadic.utils.data.DataLoader)
        print(sys.modules["torch.nn"] is sys.modules["dyadic.nn"], nn.__name__, nn.__spec__.name)
        m = pickle.loads(pickle.dumps(nn.Linear(2, 3)))
        (x,) = next(iter(DataLoader(TensorDataset(torch.ones(4, 2)), batch_size=4)))
        F.mse_loss(m(x), torch.zeros(4, 3)).backward()
        print(m.weight.grad.shape, torch.distributions.normal.Normal is torch.distributions.Normal)
        """,
        tmp_path,
    )
    assert out.split("\n")[:3] == ["True True True True", "True dyadic.nn dyadic.nn", "torch.Size([3, 2]) True".replace("torch", "dyadic")]


def test_what_is_absent_stays_absent(tmp_path):
    out = run(
        """
        try:
            import torch.nowhere.at_all
        except ModuleNotFoundError as e:
            print(e.name)
        try:
            import torch_geometric
        except ModuleNotFoundError as e:
            print(e.name)
        """,
        tmp_path,
    )
    assert out.split() == ["torch.nowhere", "torch_geometric"]
