"""The examples do what they say: each runs as a user would run it."""
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(name, *arguments):
    done = subprocess.run([sys.executable, EXAMPLES / name, *arguments], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_digits():
    """Over 99 % of the rows that it never saw, and the same figures for any number of workers."""
    figures = [re.findall(r"epoch +(\d+): loss ([\d.]+), test accuracy ([\d.]+)%", run("digits.py", "--workers", w)) for w in "02"]
    assert figures[0] == figures[1] and len(figures[0]) == 20 and float(figures[0][-1][2]) > 99


@pytest.mark.slow
def test_the_others(tmp_path):
    assert re.search(r"difference \d.\de-0[789] of", run("accumulate.py"))
    assert re.search(r"5 to 9: .*accuracy (9[789]|100).*unchanged: True", run("finetune.py"))
    assert re.search(r"epoch 15: .*accuracy (9[5-9]|100)", run("lstm.py"))
    assert re.search(r"64 MiB, most tensors at once [0-7].*\n.*weight 0.00[0-2]", run("mapped.py", tmp_path))


@pytest.mark.slow
def test_a_killed_run_ends_as_it_would_have(tmp_path):
    folder = tmp_path / "killed"
    for die_after, begins in (("57", "begins at step 0"), ("33", "goes on after step"), ("90", "goes on after step")):
        died = subprocess.run([sys.executable, EXAMPLES / "resume.py", folder, die_after], capture_output=True, text=True, timeout=600)
        assert died.returncode == -9 and begins in died.stdout
    assert run("resume.py", folder).splitlines()[-1] == run("resume.py", tmp_path / "whole").splitlines()[-1]
    assert (folder / "history.csv").read_text() == (tmp_path / "whole" / "history.csv").read_text()


@pytest.mark.slow
def test_shakespeare():
    """Any text will do; this one's characters take 1.7 nats each by their frequencies."""
    printed = run("shakespeare.py", EXAMPLES / "data" / "digits.csv", "--steps", "300")
    assert float(re.search(r"validation loss ([\d.]+)", printed)[1]) < 1


@pytest.mark.slow
def test_llama():
    """One layer of it, the predicted memory to the byte."""
    printed = run("llama.py", "1", "2")
    assert re.search(r"0.175 billion parameters(.*\n)+measured peak .*, [+-]0\.00", printed)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["digits", "lstm", "vit", "outliers", "frozen", "settling"])
def test_studies(name, tmp_path):
    printed = run(f"study_{name}.py", "--steps", "60", "--out", tmp_path / name)
    assert "Recommendation" in printed and (tmp_path / name / "report.html").exists()


def test_examples_are_short():
    for path in EXAMPLES.glob("*.*"):
        if path.suffix in (".py", ".cpp", ".h"):
            assert len(path.read_text().splitlines()) <= 80, path.name
