#!/usr/bin/env python3
"""Makes sampling.json: what transformers' processors leave of a distribution, in the order penalty, temperature, top-k, top-p,
min-p."""
import json
from pathlib import Path

import torch
from transformers import (MinPLogitsWarper, RepetitionPenaltyLogitsProcessor, TemperatureLogitsWarper, TopKLogitsWarper,
                          TopPLogitsWarper)

torch.manual_seed(0)
logits, seen = 2.5 * torch.randn(1, 40), torch.tensor([[3, 5, 5, 9, 12, 30]])
MAKE = {"repetition_penalty": RepetitionPenaltyLogitsProcessor, "temperature": TemperatureLogitsWarper, "top_k": TopKLogitsWarper,
        "top_p": TopPLogitsWarper, "min_p": MinPLogitsWarper}
cases = []
for given in [{}, {"repetition_penalty": 1.7}, {"temperature": 0.6}, {"temperature": 1.9}, {"top_k": 5}, {"top_p": 0.7},
              {"min_p": 0.1}, {"temperature": 1.5, "top_p": 0.8}, {"top_k": 6, "top_p": 0.9},
              {"repetition_penalty": 1.3, "temperature": 0.8, "top_k": 9, "top_p": 0.95, "min_p": 0.05},
              {"top_p": 0.6, "min_p": 0.2}, {"top_k": 1}, {"top_p": 0.01}]:
    x = logits.double()
    for name, kind in MAKE.items():
        if name in given:
            x = kind(given[name])(seen, x)
    cases.append({"with": given, "probabilities": torch.softmax(x, -1)[0].tolist()})
out = {"logits": logits[0].tolist(), "seen": seen[0].tolist(), "cases": cases}
(Path(__file__).parent / "sampling.json").write_text(json.dumps(out) + "\n")
