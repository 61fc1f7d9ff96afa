"""Makes the files beside it: what safetensors and huggingface_hub write, and the values they hold.

python -m pip install torch safetensors huggingface_hub; made with torch 2.15, safetensors 0.8.
"""
import json
from pathlib import Path

import torch
from huggingface_hub import save_torch_state_dict
from safetensors.torch import save_file, save_model

here = Path(__file__).parent
torch.manual_seed(3)


class Tied(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(4, 2)
        self.head = torch.nn.Linear(2, 4, bias=False)
        self.head.weight = self.embed.weight


values, tensors = {}, {}
floats = ["float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"]
for name in floats:
    x = torch.randn(2, 3).to(getattr(torch, name))
    tensors[name], values[name] = x, x.double().flatten().tolist()
for name in ["int64", "int32", "int16", "int8", "uint8", "uint16", "uint32", "uint64", "bool"]:
    x = torch.randint(0, 2 if name == "bool" else 100, (2, 3)).to(getattr(torch, name))
    tensors[name], values[name] = x, x.double().flatten().tolist()
x = torch.randn(2, 3, dtype=torch.complex64)
tensors["complex64"], values["complex64"] = x, torch.view_as_real(x).double().flatten().tolist()
powers = torch.tensor([0x7F, 0x80, 0x7A], dtype=torch.uint8)
tensors["float8_e8m0fnu"], values["float8_e8m0fnu"] = powers.view(torch.float8_e8m0fnu), [1.0, 2.0, 2.0**-5]
codes = torch.arange(16, dtype=torch.uint8)  # e2m1's sixteen values, the even element in the low bits
halves = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]
tensors["float4_e2m1fn"] = (codes[0::2] | codes[1::2] << 4).reshape(2, 4).view(torch.float4_e2m1fn_x2)
values["float4_e2m1fn"] = halves + [-v for v in halves]
save_file(tensors, here / "dtypes.safetensors", {"made": "by safetensors"})
(here / "dtypes.json").write_text(json.dumps(values))

embedding = torch.randn(8, 4)
state = {
    "embed.weight": embedding,
    "layer.0.weight": torch.randn(4, 4),
    "layer.1.weight": torch.randn(4, 4).bfloat16(),
    "layer.1.bias": torch.randn(4),
    "lm_head.weight": embedding,
}
sums = {k: v.double().sum().item() for k, v in state.items()}
(here / "sharded").mkdir(exist_ok=True)
save_torch_state_dict(state, here / "sharded", max_shard_size=150, shared_tensors_to_discard=["lm_head.weight"])
(here / "sharded" / "sums.json").write_text(json.dumps(sums))
save_model(Tied(), here / "tied.safetensors")
