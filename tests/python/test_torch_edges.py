"""What PyTorch's own calls mean at their edges, compared with what PyTorch 2.15 made of them (data/make_edges.py)."""
import json
import pathlib
import sys

import numpy as np
import pytest

import dyadic

DATA = pathlib.Path(__file__).with_name("data")
sys.path.insert(0, str(DATA))
import edges_cases  # noqa: E402

sys.path.pop(0)
STORED = json.loads((DATA / "edges.json").read_text())
CASES = list(edges_cases.cases())


def same(t, kept):
    if t is None or kept is None:
        return t is None and kept is None
    if (str(t.dtype).removeprefix("dyadic."), list(t.shape)) != (kept["dtype"], kept["shape"]):
        return False
    values = [eval(v, {"nan": np.nan, "inf": np.inf}) for v in kept["values"]]
    rounding = {"float64": 1e-12, "float32": 1e-6, "bfloat16": 2 ** -7}.get(kept["dtype"], 0)
    return np.allclose(t.detach().flatten().tolist(), values, rtol=rounding, atol=rounding, equal_nan=True)


def test_all_that_is_stored_is_compared():
    assert len(set(CASES)) == len(CASES) and set(CASES) == set(STORED)


@pytest.mark.parametrize("text", CASES)
def test_edge(text):
    kept = STORED[text]
    if "error" in kept:
        with pytest.raises((RuntimeError, TypeError, ValueError, IndexError)):
            edges_cases.run(dyadic, text)
        return
    results, grads = edges_cases.run(dyadic, text)
    assert len(results) == len(kept["results"]) and all(map(same, results, kept["results"])), (results, kept["results"])
    if kept["grads"] or grads:
        assert len(grads) == len(kept["grads"]) and all(map(same, grads, kept["grads"])), (grads, kept["grads"])
