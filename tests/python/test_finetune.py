"""dyadic.finetune: a thin face of dy::tune::finetune (tests/tune)."""
import json
import os
import shutil
import sys

import pytest
from test_distributed import launched

import dyadic as torch

DATA = os.path.join(os.path.dirname(__file__), "..")


CONFIG = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 704, "hidden_size": 64, "intermediate_size": 96,
          "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 4, "max_position_embeddings": 256, "tie_word_embeddings": False}
CHAT = ("{% for m in messages %}{{ m['role'] + ': ' + m['content'] + eos_token }}{% endfor %}"
        "{% if add_generation_prompt %}{{ 'assistant: ' }}{% endif %}")


@pytest.fixture
def folder(tmp_path):
    """A llama of one layer with a tokenizer and a chat template."""
    path = tmp_path / "model"
    path.mkdir()
    torch.manual_seed(0)
    shapes = {"embed_tokens": (704, 64), **{f"layers.0.self_attn.{n}_proj": (64, 64) for n in "qkvo"}, "layers.0.mlp.gate_proj": (96, 64),
              "layers.0.mlp.up_proj": (96, 64), "layers.0.mlp.down_proj": (64, 96)}
    weights = {f"model.{name}.weight": torch.randn(shape) * shape[1] ** -0.5 for name, shape in shapes.items()}
    weights |= {f"model.{name}.weight": torch.ones(64) for name in ("norm", "layers.0.input_layernorm", "layers.0.post_attention_layernorm")}
    torch.save(weights | {"lm_head.weight": torch.randn(704, 64) / 8}, str(path / "model.safetensors"))
    (path / "config.json").write_text(json.dumps(CONFIG))
    with open(os.path.join(DATA, "text/data/llama3.json")) as f:
        (path / "tokenizer.json").write_text(f.read())
    (path / "tokenizer_config.json").write_text(json.dumps({"bos_token": "<|begin|>", "eos_token": "<|end|>", "chat_template": CHAT}))
    return path


def chats():
    return [{"messages": [{"role": "user", "content": ask + who}, {"role": "assistant", "content": "Rome"}]}
            for who in ("Ada", "Ben", "Cleo") for ask in ("Where is ", "Find ")]


def test_an_adapter_on_four_bits(folder, tmp_path):
    steps = []
    report = torch.finetune(folder, chats(), lora="rank=4", base="nf4", context=64, steps=8, batch=2, lr=1e-2, eval=chats()[:2], out=tmp_path / "out",
                            merge="best", on_step=lambda step, steps_, loss, lr, speed, evaluated: steps.append((step, loss, evaluated)))
    assert report.finished and report.steps == len(steps) == 8
    assert report.eval_loss < report.eval_loss_before and steps[-1][2] == report.eval_loss
    assert steps[-1][1] == report.train_loss
    assert [m.into for m in report.merges] == ["dequantized", "original", "requantized"] and sum(m.chosen for m in report.merges) == 1
    assert report.predicted["peak"] > report.predicted["parameters"]
    merged = torch.from_pretrained(tmp_path / "out" / "merged")
    ids = torch.tensor([[3, 1, 4]])
    with torch.no_grad():
        assert torch.allclose(merged(ids).logits.float(), report.model(ids).logits.float(), atol=1e-2)


def test_stopped_and_resumed(folder, tmp_path):
    def run(out, stop=100, resume=False):
        return torch.finetune(folder, chats(), lora=torch.LoraConfig(r=2, lora_dropout=0.1), context=64, steps=6, batch=2, out=tmp_path / out,
                              resume=resume, on_step=lambda step, *rest: step < stop)

    whole = run("whole")
    assert not run("broken", stop=3).finished
    resumed = run("broken", resume=True)
    assert resumed.train_loss == whole.train_loss
    name = "adapter_model.safetensors"
    assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "broken" / name).read_bytes()


def test_all_weights_of_a_model(folder):
    model = torch.from_pretrained(folder, dtype=torch.bfloat16)
    before = model.model.norm.weight.detach().clone()
    report = torch.finetune(model, [{"text": "Once upon a time there was"}] * 4, steps=3, lr=1e-2, context=32)
    assert report.model is model and report.trained == sum(p.numel() for p in model.parameters())
    assert not torch.equal(before, model.model.norm.weight)


def test_refusals(folder):
    with pytest.raises(ValueError, match="data: line 2: there is no answer in the chat"):
        torch.finetune(folder, chats()[:1] + [{"messages": [{"role": "user", "content": "Hi"}]}])
    with pytest.raises(ValueError, match="give the path"):
        torch.finetune(torch.from_pretrained(folder), chats(), base="nf4")
    with pytest.raises(ValueError, match="takes no gradients: give lora"):
        torch.finetune(torch.from_pretrained(folder, dtype="q8_0"), chats())


def test_a_student_with_and_without_its_teacher(folder, tmp_path):
    teacher = torch.from_pretrained(folder)
    run = dict(steps=3, batch=2, context=64, lr=1e-3)
    live = torch.distill.distill(folder, chats(), teacher, relations=[("model.layers.0.self_attn.k_proj",) * 2], heads=2, **run)
    cache = tmp_path / "logits.safetensors"
    first = torch.distill.distill(folder, chats(), folder, teacher_format="nf4", cache=cache, top_k=16, **run)
    again = torch.distill.distill(folder, chats(), cache=cache, top_k=16, **run)
    assert live.finished and first.train_loss == again.train_loss
    with pytest.raises(ValueError, match="a teacher is needed"):
        torch.distill.distill(folder, chats(), **run)
    with pytest.raises(TypeError, match="no argument 'step'"):
        torch.distill.distill(folder, chats(), teacher, step=3)


def test_losses_of_distillation():
    torch.manual_seed(0)
    s, t = torch.randn(6, 9, requires_grad=True), torch.randn(6, 9)
    kl = torch.nn.functional.kl_div((s / 3).log_softmax(1), (t / 3).log_softmax(1), reduction="batchmean", log_target=True) * 9
    assert torch.allclose(torch.distill.distillation_loss(s, t, 3.0), kl)
    torch.distill.distillation_loss(s, t).backward()
    assert s.grad.abs().sum() > 0
    assert torch.distill.hidden_loss(t, t) == 0 and torch.distill.relation_loss(t[None], t[None], heads=3) < 1e-6


def test_a_narrower_model_is_trained_further(folder):
    model = torch.from_pretrained(folder, dtype="float32")
    small = torch.prune.narrowed(model, channels=0.34, heads=0.5, calibration=[torch.randint(0, 704, (4, 32))])
    assert small.nbytes() < model.nbytes() and small.config.intermediate_size == 64 and small.config.num_key_value_heads == 2
    report = torch.finetune(small, chats(), steps=4, batch=2, lr=1e-3, context=64, eval=chats()[:2])
    assert report.eval_loss < report.eval_loss_before


def test_a_limit_to_the_same_bits(folder, tmp_path):
    def train(limit):
        torch.manual_seed(0)
        report = torch.finetune(folder, chats(), lora="rank=4", base="float32", context=64, steps=2, batch=2, memory_limit=limit, out=tmp_path / str(limit))
        return report, {k: v for k, v in report.model.state_dict().items() if "lora" in k}

    free, want = train(None)
    limit = free.predicted["peak"] - free.predicted["activations"] // 4
    bound, got = train(limit)
    assert free.repeated_calls == 0 < bound.repeated_calls and bound.predicted["peak"] <= limit
    assert all(torch.equal(got[k], v) for k, v in want.items())
    with pytest.raises(torch.OutOfMemoryError, match="the least that a step takes is"):
        train("10K")


PROGRAM = """
import hashlib, json, sys
import dyadic as torch
import dyadic.distributed as dist
dist.init_process_group("mpi")
r = torch.finetune(sys.argv[1], json.loads(sys.argv[2]), lora="rank=4", base="nf4", context=64, steps=6, batch=4, packing=False, lr=0.01, shards=4,
                   spread=sys.argv[3])
digest = hashlib.sha256(b"".join(p.detach().numpy().tobytes() for n, p in r.model.named_parameters() if "lora" in n)).hexdigest()
print(f"{dist.get_world_size()} {r.shards} {r.sent_per_step > 0} {r.train_loss!r} {digest}\\n", end="", flush=True)
dist.destroy_process_group()
"""


@pytest.mark.slow
def test_on_several_ranks(folder):
    """Every rank has the whole adapter afterwards, the one that one process trains."""
    if not shutil.which("mpirun"):
        pytest.skip("no mpirun; ./dev test installs it")
    if (tried := launched(2, "true")).returncode:
        pytest.skip(f"mpirun does not run here: {tried.stderr}")
    found = {}
    for ranks, spread in ((1, "none"), (2, "parameters"), (3, "states")):
        ran = launched(ranks, sys.executable, "-c", PROGRAM, str(folder), json.dumps(chats()), spread)
        assert ran.returncode == 0, ran.stderr
        lines = ran.stdout.split("\n")[:-1]
        assert len(lines) == ranks and len(set(lines)) == 1
        found[ranks] = lines[0].split(" ")
    assert {ranks: words[:3] for ranks, words in found.items()} == {n: [str(n), "4", str(n > 1)] for n in (1, 2, 3)}
    assert len({tuple(words[3:]) for words in found.values()}) == 1
    alone = launched(2, sys.executable, "-c", "import sys, dyadic; dyadic.finetune(sys.argv[1], [])", str(folder))
    assert "2 processes were started together: call dyadic.distributed.init_process_group() first" in alone.stderr
