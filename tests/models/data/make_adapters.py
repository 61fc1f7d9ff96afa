#!/usr/bin/env python3
"""Makes LoRA adapters for tiny models of this folder and what PEFT computes with them: pip install torch transformers peft safetensors.

    python make_adapters.py [name ...]

Each folder adapters/NAME is what PEFT's save_pretrained writes, from random factors; expected.safetensors has `logits` of the ids in
MODEL/expected.safetensors, computed in float32, and `merged`, one weight after merge_and_unload.
"""
import json
import sys
from pathlib import Path

import peft
import torch
import transformers
from safetensors.torch import load_file, save_file

HERE = Path(__file__).parent
ADAPTERS = {
    "plain": ("llama", dict(r=4, lora_alpha=6, target_modules=["q_proj", "v_proj", "down_proj"])),
    "patterns": ("qwen2", dict(r=4, lora_alpha=8, target_modules="all-linear", use_rslora=True, bias="all", lora_dropout=0.1,
                               rank_pattern={r"layers\.0\.self_attn\.q_proj": 2}, alpha_pattern={"k_proj": 3})),
    "embedding": ("llama", dict(r=3, lora_alpha=4, target_modules=["embed_tokens", "o_proj"], modules_to_save=["lm_head"])),
    "turned": ("gpt2", dict(r=4, lora_alpha=8, target_modules=["c_attn", "c_fc"], fan_in_fan_out=True)),
    "dora": ("qwen3", dict(r=4, lora_alpha=8, target_modules=["q_proj", "k_proj", "up_proj"], use_dora=True)),
    "latent": ("deepseek_v3", dict(r=4, lora_alpha=8, target_modules=["q_b_proj", "kv_b_proj", "kv_a_proj_with_mqa", "o_proj"])),
}
MERGED = {"plain": "model.layers.1.self_attn.v_proj.weight", "patterns": "model.layers.0.self_attn.q_proj.weight",
          "embedding": "model.embed_tokens.weight", "turned": "transformer.h.1.mlp.c_fc.weight",
          "dora": "model.layers.0.mlp.up_proj.weight", "latent": "model.layers.2.self_attn.kv_b_proj.weight"}


@torch.no_grad()
def make(name):
    family, config = ADAPTERS[name]
    torch.manual_seed(len(name))
    base = transformers.AutoModelForCausalLM.from_pretrained(HERE / family, dtype=torch.float32, attn_implementation="eager")
    model = peft.get_peft_model(base, peft.LoraConfig(task_type="CAUSAL_LM", **config)).eval()
    for key, p in model.named_parameters():
        if "lora_magnitude" in key:
            p.mul_(1 + 0.3 * torch.randn_like(p))
        elif "lora_" in key or p.requires_grad:
            p.copy_(0.3 * torch.randn_like(p))
    ids = load_file(HERE / family / "expected.safetensors")["ids"]
    out = {"logits": model(ids).logits}
    folder = HERE / "adapters" / name
    model.save_pretrained(folder)
    (folder / "README.md").unlink(missing_ok=True)
    settings = json.loads((folder / "adapter_config.json").read_text())
    settings["base_model_name_or_path"] = family
    (folder / "adapter_config.json").write_text(json.dumps(settings, indent=2) + "\n")
    out["merged"] = dict(model.merge_and_unload().named_parameters())[MERGED[name]]
    save_file({k: v.contiguous() for k, v in out.items()}, folder / "expected.safetensors")
    print(name, sum(f.stat().st_size for f in folder.iterdir()), "bytes; logits up to", out["logits"].abs().max().item())


for name in sys.argv[1:] or ADAPTERS:
    make(name)
