"""What an editor, a type checker and help() see: stubs that name everything, documentation everywhere, signatures."""
import ast
import functools
import importlib
import inspect
import json
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import dyadic as dy
from dyadic._absent_names import ABSENT

PROGRAM = Path(dy.__file__).parents[2] / "bin" / "dyadic"


def public_modules():
    names = [m.name for m in pkgutil.walk_packages(dy.__path__, "dyadic.")]
    return [dy] + [importlib.import_module(n) for n in names if not any(part.startswith("_") for part in n.split(".")[1:])]


MODULES = public_modules()


def public_names(module):
    return [n for n in getattr(module, "__all__", None) or dir(module) if not n.startswith("_")]


def ours(value):
    return callable(value) and (getattr(value, "__module__", None) or "").startswith("dyadic")


@functools.cache
def names_in(path):
    """What a stub defines or passes on."""
    found = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.AnnAssign):
            found.add(node.target.id)
        elif isinstance(node, ast.Assign):
            found.add(node.targets[0].id)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found.update(alias.asname for alias in node.names if alias.asname)
    return found


@pytest.mark.parametrize("module", MODULES, ids=lambda m: m.__name__)
def test_a_stub_names_all_that_is_public(module):
    there = names_in(Path(module.__file__).with_suffix(".pyi"))
    absent = set(ABSENT.get(module.__name__.partition(".")[2], ("", ""))[1].split())  # names that raise: type checkers say so too
    wanted = {n for n in set(public_names(module)) - absent if ours(getattr(module, n)) or isinstance(getattr(module, n), (dy.dtype, dy.Tensor))}
    assert not wanted - there


def test_what_stubs_import_is_there():
    folder = Path(dy.__file__).parent
    for path in folder.rglob("*.pyi"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("dyadic._dyadic"):
                source = folder.joinpath(*node.module.split(".")[1:], "__init__.pyi")
                missing = {a.name for a in node.names if a.asname} - names_in(source)
                assert not missing, f"{path} imports {missing} of {node.module}"


@pytest.mark.parametrize("module", MODULES, ids=lambda m: m.__name__)
def test_everything_public_has_documentation(module):
    assert module.__doc__
    missing = []
    for name in public_names(module):
        value = getattr(module, name)
        if not ours(value):
            continue
        if not inspect.getdoc(value):
            missing.append(name)
        for key, member in vars(value).items() if inspect.isclass(value) else ():
            if key.startswith("_") or not (callable(member) or isinstance(member, (property, staticmethod, classmethod))) or inspect.isclass(member):
                continue
            if not any(vars(c)[key].__doc__ for c in value.__mro__ if key in vars(c)):
                missing.append(f"{name}.{key}")
    assert not missing


@pytest.mark.parametrize(
    "value, wanted",
    [
        (dy.softmax, "(self, dim=-1"),
        (dy.Tensor.sum, "(self, /, dim=None"),
        (dy.nn.Linear, "(in_features: int, out_features: int, bias: bool = True"),
        (dy.nn.Conv2d, "(in_channels: int, out_channels: int, kernel_size: int | Sequence[int]"),
        (dy.optim.AdamW, "(params, lr: float = 0.001"),
        (dy.optim.lr_scheduler.StepLR, "(optimizer, step_size: int, gamma: float = 0.1"),
        (dy.utils.data.DataLoader, "(dataset: Any, batch_size: int | None = 1"),
        (dy.nn.functional.cross_entropy, "(input, target, weight=None"),
    ],
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_signatures(value, wanted):
    assert str(inspect.signature(value)).startswith(wanted)


def test_signature_of_a_module_of_ones_own():
    class Own(dy.nn.Linear):
        def __init__(self, width):
            super().__init__(width, width)

    assert str(inspect.signature(Own)) == "(width)"


def test_examples_of_the_reference_run():
    entries = json.loads(subprocess.run([PROGRAM, "ops", "--json"], check=True, capture_output=True, text=True).stdout)["ops"]
    dy.manual_seed(0)
    failed, count = [], 0
    for record in (r for e in entries for r in e["records"] if not e["internal"]):
        for line in record["examples"]:
            count += 1
            try:
                eval(line, {"dyadic": dy})
            except Exception as e:
                failed.append(f"{line}: {type(e).__name__}: {e}")
    assert not failed, "\n".join(failed)
    assert count > 700


@pytest.mark.slow
@pytest.mark.parametrize("name", ["training.py", "modules.py"])
def test_user_code_is_well_typed(name, tmp_path):
    """mypy --strict over programs as users write them. It looks for the package where it lies."""
    site = tmp_path / "site"
    site.mkdir()
    (site / "dyadic").symlink_to(Path(dy.__file__).parent)
    source = Path(__file__).parent / "typed" / name
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", f"--cache-dir={tmp_path}", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, env={"MYPYPATH": str(site)}, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
