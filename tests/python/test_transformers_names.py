"""dyadic.transformers, dyadic.evaluate and from_pretrained's arguments, with a small model that has a tokenizer."""
import json
import math
import re
import subprocess
import warnings
from pathlib import Path

import pytest

import dyadic as torch
from dyadic.transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, BitsAndBytesConfig

TESTS = Path(__file__).parent.parent
PROGRAM = Path(torch.__file__).parents[2] / "bin" / "dyadic"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("model")
    config = json.loads((TESTS / "models/data/llama/config.json").read_text())
    config.update(vocab_size=704, hidden_size=64, intermediate_size=96, max_position_embeddings=512, bos_token_id=0, eos_token_id=1, head_dim=16)
    (path / "config.json").write_text(json.dumps(config))
    shapes = {"model.embed_tokens.weight": (704, 64), "model.norm.weight": (64,), "lm_head.weight": (704, 64)}
    for i in range(2):
        layer = f"model.layers.{i}."
        shapes |= {layer + "input_layernorm.weight": (64,), layer + "post_attention_layernorm.weight": (64,)}
        shapes |= {layer + f"self_attn.{n}_proj.weight": (rows, 64) for n, rows in dict(q=64, k=32, v=32, o=64).items()}
        shapes |= {layer + "mlp.gate_proj.weight": (96, 64), layer + "mlp.up_proj.weight": (96, 64), layer + "mlp.down_proj.weight": (64, 96)}
    torch.manual_seed(4)
    weights = {n: (torch.ones(s) if len(s) == 1 else torch.randn(s) * (2 / math.sqrt(s[1]))).to(torch.bfloat16) for n, s in shapes.items()}
    torch.save(weights, path / "model.safetensors")
    (path / "tokenizer.json").write_bytes((TESTS / "text/data/llama3.json").read_bytes())
    chat = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}{{ tools }}{% if add_generation_prompt %}assistant:{% endif %}"
    (path / "tokenizer_config.json").write_text(json.dumps({"bos_token": "<|begin|>", "eos_token": "<|end|>", "chat_template": chat}))
    return path


@pytest.fixture(scope="module")
def gguf(folder, tmp_path_factory):
    path = tmp_path_factory.mktemp("gguf") / "small.gguf"
    subprocess.run([PROGRAM, "convert", folder, path], check=True, capture_output=True)
    return path


def test_a_script_written_for_transformers(folder):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, torch_dtype="auto", device_map="auto")
    inputs = tokenizer("Once upon", return_tensors="pt")
    made = model.generate(**inputs, max_new_tokens=9, eos_token_id=[])
    assert made.shape == (1, inputs.input_ids.shape[1] + 9) and torch.equal(made[:, : inputs.input_ids.shape[1]], inputs.input_ids)
    assert tokenizer.decode(inputs.input_ids[0]) == "<|begin|>Once upon"
    assert tokenizer.decode(inputs.input_ids[0], skip_special_tokens=True) == "Once upon"
    text = model.generate("Once upon", max_new_tokens=9, eos_token_id=[])
    assert text == tokenizer.decode(made[0, inputs.input_ids.shape[1] :], skip_special_tokens=True)
    rows = tokenizer(["Once upon a time", "No"], padding=True, return_tensors="pt")
    assert rows.attention_mask[1, 0].item() == 0 and rows["attention_mask"][1, -1].item() == 1
    both = model.generate(**rows, max_new_tokens=5, eos_token_id=[])
    alone = model.generate(**tokenizer("No", return_tensors="pt"), max_new_tokens=5, eos_token_id=[])
    assert both[1, -5:].tolist() == alone[0, -5:].tolist()
    messages = [{"role": "user", "content": "Hi"}]
    ids = tokenizer.apply_chat_template(messages, add_generation_prompt=True)
    assert tokenizer.decode(ids, skip_special_tokens=True) == tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
    assert tokenizer.apply_chat_template(messages, tools=[{"a": 1}], tokenize=False).startswith("user: Hi\n[{")
    assert AutoConfig.from_pretrained(folder).vocab_size == 704 == model.config.vocab_size and len(tokenizer) == 701


def test_arguments_of_loading_that_change_nothing(folder, tmp_path):
    same = dict(trust_remote_code=True, cache_dir=tmp_path, local_files_only=False, revision="main")
    m = AutoModelForCausalLM.from_pretrained(folder, torch_dtype=torch.float32, low_cpu_mem_usage=True, attn_implementation="sdpa", **same)
    assert m.dtype == torch.float32
    assert AutoTokenizer.from_pretrained(folder, **same).vocab_size == 701 and AutoConfig.from_pretrained(folder, **same).vocab_size == 704
    for kind in (AutoModelForCausalLM, AutoTokenizer, AutoConfig):
        with pytest.raises(ValueError, match="revision is 'v2', and a folder has one state"):
            kind.from_pretrained(folder, revision="v2")
    (tmp_path / "config.json").write_text('{"model_type": "own"}')
    torch.save({"w": torch.ones(1)}, tmp_path / "model.safetensors")
    with pytest.raises(ValueError, match="\"own\" is none of .*; trust_remote_code: code out of a model's folder is never run"):
        AutoModelForCausalLM.from_pretrained(tmp_path, trust_remote_code=True)


def test_paths_that_are_not_there(folder):
    for kind in (AutoModelForCausalLM, AutoTokenizer, AutoConfig):
        for path, more in [("org/name", {}), (folder, {"gguf_file": "missing.gguf"})]:
            with pytest.raises(FileNotFoundError, match=f"{more.get('gguf_file', path)}: there is no such file or folder, and nothing is downloaded"):
                kind.from_pretrained(path, **more)


def test_a_gguf_file_is_a_model(folder, gguf):
    want, m = torch.from_pretrained(folder, dtype=torch.float32), torch.from_pretrained(gguf.parent, gguf_file=gguf.name, dtype=torch.float32)
    ids = torch.arange(2, 40).unsqueeze(0)
    with torch.no_grad():
        assert torch.equal(m(ids).logits, want(ids).logits)
    assert m.tokenizer.encode("Grüße 123") == want.tokenizer.encode("Grüße 123")
    assert AutoConfig.from_pretrained(gguf).to_dict() == want.config.to_dict()
    assert m.generate("Once", max_new_tokens=6) == want.generate("Once", max_new_tokens=6)


def test_stop_strings_and_streams_of_text(folder):
    m = torch.from_pretrained(folder, dtype=torch.float32)
    whole = m.generate("Once upon", max_new_tokens=24, eos_token_id=[])
    stop = re.search("[a-z]{4}", whole[5:])[0]
    told = []
    text = m.generate("Once upon", max_new_tokens=24, eos_token_id=[], stop_strings=[stop, "that does not come"], streamer=told.append)
    assert text == "".join(told) == whole[: whole.index(stop)]
    ids = torch.tensor([m.tokenizer.encode("Once upon")])
    made = m.generate(ids, max_new_tokens=24, eos_token_id=[], stop_strings=stop)
    assert stop in m.tokenizer.decode(made[0, ids.shape[1] :].tolist()) and made.shape[1] < ids.shape[1] + 24
    assert m.generate(["Once upon", "No"], max_new_tokens=4, eos_token_id=[])[0] == m.generate("Once upon", max_new_tokens=4, eos_token_id=[])
    with pytest.raises(ValueError, match="one by one"):
        m.generate(["a", "b"], streamer=told.append)
    m.tokenizer = None
    with pytest.raises(ValueError, match="without a tokenizer"):
        m.generate("a")


@pytest.mark.parametrize("config, dtype, others", [
    (BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_use_double_quant=True), "nf4(block=64,double)", torch.bfloat16),
    (BitsAndBytesConfig(load_in_4bit=True), "fp4(block=64)", torch.bfloat16),
    (BitsAndBytesConfig(load_in_8bit=True), "i8(row)", torch.bfloat16),
    ({"load_in_8bit": True, "llm_int8_skip_modules": []}, "i8(row)", None),
])
def test_weights_of_linear_layers_become_bitsandbytes(folder, config, dtype, others):
    m = AutoModelForCausalLM.from_pretrained(folder, quantization_config=config)
    state = dict(m.named_parameters())
    assert state["model.layers.0.mlp.up_proj.weight"].dtype == torch.dtype(dtype)
    assert state["model.embed_tokens.weight"].dtype == state["model.norm.weight"].dtype == torch.bfloat16
    assert state["lm_head.weight"].dtype == (others or torch.dtype(dtype))
    plain = dict(torch.from_pretrained(folder).named_parameters())["model.layers.0.mlp.up_proj.weight"]
    assert torch.equal(state["model.layers.0.mlp.up_proj.weight"].float(), plain.to(torch.dtype(dtype)).float())
    assert len(m.generate("Once", max_new_tokens=3, eos_token_id=[])) > 0


@pytest.mark.parametrize("options, method", [(dict(load_in_4bit=True), "bitsandbytes"), (dict(load_in_8bit=True), "bitsandbytes")])
def test_a_model_of_bitsandbytes_is_saved_as_one(folder, tmp_path, options, method):
    m = AutoModelForCausalLM.from_pretrained(folder, quantization_config=BitsAndBytesConfig(**options))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        m.save_pretrained(tmp_path / "saved")
        m.save_pretrained(tmp_path / "own", packing="dyadic")
        torch.from_pretrained(tmp_path / "saved").save_pretrained(tmp_path / "again")
    for name in ("saved", "again"):
        said = json.loads((tmp_path / name / "config.json").read_text())["quantization_config"]
        assert said["quant_method"] == method and said[list(options)[0]]
    assert "quantization_config" not in json.loads((tmp_path / "own" / "config.json").read_text())
    ids = torch.arange(2, 20).unsqueeze(0)
    with torch.no_grad():
        for name in ("saved", "own"):
            assert (torch.from_pretrained(tmp_path / name)(ids).logits - m(ids).logits).abs().max() < 1e-2 * m(ids).logits.abs().max()
    m.add_adapter(torch.LoraConfig(r=2))
    m.save_pretrained(tmp_path / "adapter")
    assert (tmp_path / "adapter" / "adapter_config.json").exists()


def test_weights_that_only_dyadic_reads_are_said_to_be(folder, tmp_path):
    m = torch.from_pretrained(folder, dtype="i4(group=32)")
    with pytest.warns(UserWarning, match="other tools than dyadic cannot read these weights; packing= writes them for bitsandbytes, gptq") as said:
        m.save_pretrained(tmp_path / "own")
    assert len(said) == 1 and said[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        m.save_pretrained(tmp_path / "packed", packing="compressed-tensors")
        torch.from_pretrained(folder).save_pretrained(tmp_path / "plain")


def test_refusals_of_quantization_configs(folder):
    with pytest.raises(ValueError, match="both True"):
        BitsAndBytesConfig(load_in_4bit=True, load_in_8bit=True)
    with pytest.raises(ValueError, match="neither 'fp4' nor 'nf4'"):
        torch.from_pretrained(folder, quantization_config=BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="int4"))
    with pytest.raises(ValueError, match="'gptq'"):
        torch.from_pretrained(folder, quantization_config={"quant_method": "gptq"})
    with pytest.raises(TypeError, match="quantization_config is 3; give a transformers.BitsAndBytesConfig"):
        torch.from_pretrained(folder, quantization_config=3)


def test_perplexity_and_questions(folder):
    m = torch.from_pretrained(folder, dtype=torch.float32)
    text = (TESTS / "models/data/gguf.txt").read_text()
    p = torch.evaluate.perplexity(m, text, window=64)
    ids = m.tokenizer.encode(text)
    assert p.tokens == len(ids) // 64 * 31 and p.perplexity == pytest.approx(math.exp(p.nll)) and p.window == 64
    assert torch.evaluate.perplexity(m, ids, window=64, bos_token_id=0).nll == pytest.approx(p.nll, rel=1e-6)
    assert torch.evaluate.perplexity(m, ids, window=64, base=m).kl_mean == pytest.approx(0, abs=1e-6)
    score = torch.evaluate.multiple_choice(m, [{"context": "One", "choices": ["two", "three"], "answer": 0}])
    assert score.questions == 1 and len(score.log_probabilities[0]) == 2 and score.acc in (0, 1)
    with pytest.raises(ValueError, match="choose|need|longer"):
        torch.evaluate.perplexity(m, "short")


def test_a_tokenizer_that_is_larger_than_the_vocabulary(folder):
    m = torch.from_pretrained(TESTS / "models/data/llama")
    assert m.tokenizer is None
    m.tokenizer = torch.Tokenizer.load(folder)
    with pytest.raises(ValueError, match="the tokenizer has 701 tokens and the model's vocabulary 64"):
        m.generate("Once upon")
    with pytest.raises(ValueError, match="701 tokens and the model's vocabulary 64"):
        torch.evaluate.perplexity(m, "Once upon a time " * 40, window=32)
