"""Writes edges.json beside itself: what PyTorch 2.15 makes of edges_cases.py. Run it with PyTorch's Python."""
import json
import pathlib

import edges_cases
import torch


def kept(t):
    return None if t is None else {"dtype": str(t.dtype).removeprefix("torch."), "shape": list(t.shape), "values": [repr(v) for v in t.detach().flatten().tolist()]}


def outcome(text):
    try:
        results, grads = edges_cases.run(torch, text)
    except Exception as e:
        return {"error": type(e).__name__}
    return {"results": [kept(t) for t in results], "grads": [kept(t) for t in grads]}


torch.set_num_threads(1)
lines = [f"{json.dumps(text)}: {json.dumps(outcome(text))}" for text in edges_cases.cases()]
pathlib.Path(__file__).with_name("edges.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
