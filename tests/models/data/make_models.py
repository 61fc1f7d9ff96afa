#!/usr/bin/env python3
"""Makes the tiny models of this folder and what transformers computes with them: pip install torch transformers safetensors.

    python make_models.py [family ...]

Each folder is what save_pretrained writes, its weights rounded to bfloat16, and expected.safetensors: `ids` [2, 14] and their
`logits`, `greedy` continuations of both rows, the same of `padded` ids whose second row begins with five that are masked. All
computed in float32 by the eager kernels. variants.json has other config.json files for the same weights; their logits are
`logits.NAME`. The weights come from N(0, 0.4^2) and norms and biases differ from their usual 1 and 0, so that every part of a
model is seen in its logits.
"""
import json
import sys
from pathlib import Path

import torch
import transformers
from safetensors.torch import save_file

HERE = Path(__file__).parent
COMMON = dict(vocab_size=64, hidden_size=32, intermediate_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
              max_position_embeddings=64, initializer_range=0.4, bos_token_id=1, eos_token_id=2, pad_token_id=0)
SLIDE = ["sliding_attention", "full_attention"]


def rope(**more):
    return {"rope_theta": 100.0, "rope_type": "default", **more}


MODELS = {
    "llama": ("Llama", dict(rope_parameters=rope())),
    "mistral": ("Mistral", dict(rope_parameters=rope(), sliding_window=5, head_dim=12)),
    "qwen2": ("Qwen2", dict(rope_parameters=rope(), use_sliding_window=True, sliding_window=5, max_window_layers=1,
                            tie_word_embeddings=True)),
    "qwen3": ("Qwen3", dict(rope_parameters=rope(), head_dim=12)),
    "gpt2": ("GPT2", dict(vocab_size=64, n_embd=32, n_layer=2, n_head=4, n_positions=64, n_inner=32, initializer_range=0.4,
                          bos_token_id=1, eos_token_id=2, pad_token_id=0)),
    "gemma": ("Gemma", dict(rope_parameters=rope(), head_dim=12)),
    "gemma2": ("Gemma2", dict(rope_parameters=rope(), head_dim=12, sliding_window=5, query_pre_attn_scalar=20, layer_types=SLIDE,
                              attn_logit_softcapping=5.0, final_logit_softcapping=3.0)),
    "gemma3": ("Gemma3Text", dict(head_dim=12, sliding_window=5, query_pre_attn_scalar=20, layer_types=SLIDE,
                                  rope_parameters={"full_attention": rope(rope_type="linear", factor=2.0),
                                                   "sliding_attention": {"rope_theta": 10.0, "rope_type": "default"}})),
    "phi3": ("Phi3", dict(sliding_window=9, original_max_position_embeddings=10, num_attention_heads=2, num_key_value_heads=1,
                          rope_parameters=rope(rope_type="longrope", partial_rotary_factor=0.75, short_factor=[1.0, 1.1, 1.2, 1.4, 1.5, 2.0],
                                               long_factor=[1.0, 1.5, 2.0, 3.0, 4.0, 8.0], original_max_position_embeddings=10))),
    "smollm3": ("SmolLM3", dict(rope_parameters=rope(), no_rope_layers=[1, 0])),
    "olmo2": ("Olmo2", dict(rope_parameters=rope())),
    "granite": ("Granite", dict(rope_parameters=rope(), embedding_multiplier=3.0, attention_multiplier=0.2, residual_multiplier=0.4,
                                logits_scaling=2.0)),
    "granitemoe": ("GraniteMoe", dict(rope_parameters=rope(), intermediate_size=12, num_local_experts=4, num_experts_per_tok=2,
                                      embedding_multiplier=3.0, attention_multiplier=0.2, residual_multiplier=0.4, logits_scaling=2.0)),
    "mixtral": ("Mixtral", dict(rope_parameters=rope(), intermediate_size=12, num_local_experts=4, num_experts_per_tok=2)),
    "qwen2_moe": ("Qwen2Moe", dict(rope_parameters=rope(), moe_intermediate_size=12, shared_expert_intermediate_size=12, num_experts=4,
                                   num_experts_per_tok=2)),
    "qwen3_moe": ("Qwen3Moe", dict(rope_parameters=rope(), head_dim=12, moe_intermediate_size=12, num_experts=4, num_experts_per_tok=2,
                                   norm_topk_prob=True, mlp_only_layers=[1])),
    "gpt_oss": ("GptOss", dict(head_dim=12, intermediate_size=12, num_local_experts=4, num_experts_per_tok=2, sliding_window=5,
                               layer_types=SLIDE, swiglu_limit=1.5,
                               rope_parameters=rope(rope_type="yarn", factor=4.0, beta_fast=4.0, beta_slow=1.0, truncate=False,
                                                    original_max_position_embeddings=16))),
    "ministral3": ("Ministral3", dict(head_dim=12, sliding_window=None,
                                      rope_parameters=rope(rope_type="yarn", factor=4.0, beta_fast=4.0, beta_slow=1.0, mscale=1.0,
                                                           mscale_all_dim=1.0, original_max_position_embeddings=4,
                                                           llama_4_scaling_beta=0.5))),
    "olmo3": ("Olmo3", dict(sliding_window=5, layer_types=SLIDE,
                            rope_parameters={"full_attention": rope(rope_type="yarn", factor=4.0, beta_fast=4.0, beta_slow=1.0,
                                                                    original_max_position_embeddings=16),
                                             "sliding_attention": rope()})),
}
# Three layers of a recurrent state to one of attention, as in the released ones.
DELTA = dict(linear_conv_kernel_dim=4, linear_key_head_dim=6, linear_value_head_dim=8, linear_num_key_heads=2, linear_num_value_heads=4,
             num_hidden_layers=3, layer_types=["linear_attention", "full_attention", "linear_attention"], head_dim=16,
             rope_parameters=rope(partial_rotary_factor=0.25, mrope_section=[1, 1, 0], mrope_interleaved=True))
MODELS["qwen3_5"] = ("Qwen3_5Text", dict(DELTA))
MODELS["qwen3_5_moe"] = ("Qwen3_5MoeText", dict(DELTA, moe_intermediate_size=12, shared_expert_intermediate_size=12, num_experts=4,
                                                num_experts_per_tok=2, intermediate_size=12))
MODELS["deepseek_v3"] = ("DeepseekV3", dict(
    num_hidden_layers=3, moe_intermediate_size=12, n_routed_experts=6, n_group=3, topk_group=2, num_experts_per_tok=3, first_k_dense_replace=1,
    q_lora_rank=20, kv_lora_rank=16, qk_nope_head_dim=10, qk_rope_head_dim=8, v_head_dim=12, num_key_value_heads=4, num_mtp_layers=0,
    rope_parameters=rope(rope_type="yarn", factor=4.0, beta_fast=4.0, beta_slow=1.0, mscale=1.0, mscale_all_dim=1.0,
                         original_max_position_embeddings=16)))
GEMMA4 = dict(head_dim=8, global_head_dim=16, sliding_window=5, final_logit_softcapping=3.0, tie_word_embeddings=True,
              rope_parameters={"full_attention": rope(rope_type="proportional", partial_rotary_factor=0.5),
                               "sliding_attention": {"rope_theta": 10.0, "rope_type": "default"}})
MODELS["gemma4"] = ("Gemma4Text", dict(GEMMA4, num_hidden_layers=5, layer_types=[*SLIDE, *SLIDE, "full_attention"], num_kv_shared_layers=3,
                                       use_double_wide_mlp=True, hidden_size_per_layer_input=6, vocab_size_per_layer_input=64))
MODELS["gemma4_moe"] = ("Gemma4Text", dict(GEMMA4, layer_types=SLIDE, attention_k_eq_v=True, num_global_key_value_heads=1,
                                           hidden_size_per_layer_input=0, enable_moe_block=True, num_experts=4, top_k_experts=2,
                                           moe_intermediate_size=12))
MODELS["bert"] = ("Bert", dict(type_vocab_size=2))
# Other config.json files for the same weights.
VARIANTS = {
    "llama": {
        "linear": dict(rope_parameters=rope(rope_type="linear", factor=3.0)),
        "dynamic": dict(rope_parameters=rope(rope_type="dynamic", factor=2.0), max_position_embeddings=8),
        "llama3": dict(rope_parameters=rope(rope_type="llama3", factor=4.0, low_freq_factor=1.0, high_freq_factor=4.0,
                                            original_max_position_embeddings=32)),
        "yarn": dict(rope_parameters=rope(rope_type="yarn", factor=4.0, beta_fast=4.0, beta_slow=1.0,
                                          original_max_position_embeddings=16)),
    },
    "phi3": {"short": dict(max_position_embeddings=64, original_max_position_embeddings=32,
                           rope_parameters=rope(rope_type="longrope", partial_rotary_factor=0.75,
                                                short_factor=[1.0, 1.1, 1.2, 1.4, 1.5, 2.0], long_factor=[1.0, 1.5, 2.0, 3.0, 4.0, 8.0],
                                                original_max_position_embeddings=32))},
    "qwen2_moe": {"normed": dict(norm_topk_prob=True)},
}


def config_of(name, more=None):
    kind, own = MODELS[name]
    base = {} if name == "gpt2" else COMMON
    return getattr(transformers, kind + "Config")(**{**base, **own, **(more or {})}, attn_implementation="eager")


def model_class(name):
    kind = MODELS[name][0].replace("Text", "")
    return getattr(transformers, kind + {"gpt2": "LMHeadModel", "bert": "ForMaskedLM"}.get(name, "ForCausalLM"))


@torch.no_grad()
def make(name):
    torch.manual_seed(len(name) + ord(name[0]))
    model = model_class(name)(config_of(name)).eval()
    seen = set()
    for key, p in model.named_parameters():
        if p.data_ptr() in seen:
            continue
        seen.add(p.data_ptr())
        if p.ndim == 1 or key.endswith("_bias"):
            p.add_(0.3 * torch.randn_like(p))
        elif "experts" in key or "router" in key or ".gate.weight" in key:
            p.copy_(0.4 * torch.randn_like(p))
        p.copy_(p.bfloat16().float())
    for key, b in model.named_buffers():
        if key.endswith(("correction_bias", "layer_scalar")):
            b.add_(0.3 * torch.randn_like(b)).copy_(b.bfloat16())
    folder = HERE / name
    folder.mkdir(exist_ok=True)
    ids = torch.randint(3, 64, (2, 14))
    padded, mask = ids.clone(), torch.ones_like(ids)
    padded[1, :5], mask[1, :5] = 0, 0
    more = dict(max_new_tokens=10, do_sample=False, eos_token_id=None, pad_token_id=0)
    out = {"ids": ids, "logits": model(ids).logits}
    if name != "bert":  # it does not go on with a text
        out |= {"padded": padded, "greedy": model.generate(ids, attention_mask=torch.ones_like(ids), **more),
                "padded_greedy": model.generate(padded, attention_mask=mask, **more)}
    variants = {}
    for variant, changes in VARIANTS.get(name, {}).items():
        other = model_class(name)(config_of(name, changes)).eval()
        other.load_state_dict(model.state_dict())
        out["logits." + variant] = other(ids).logits
        variants[variant] = json.loads(other.config.to_json_string())
    save_file({k: v.contiguous() for k, v in out.items()}, folder / "expected.safetensors")
    if variants:
        (folder / "variants.json").write_text(json.dumps(variants, indent=1) + "\n")
    model.bfloat16().save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    print(name, sum(f.stat().st_size for f in folder.iterdir()), "bytes; logits up to", out["logits"].abs().max().item())


for family in sys.argv[1:] or MODELS:
    make(family)
