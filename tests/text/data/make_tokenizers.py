#!/usr/bin/env python3
"""Trains small tokenizers of each kind and stores what tokenizers 0.23.3 and sentencepiece 0.2.3 make of nasty texts.

Needs tokenizers, sentencepiece, protobuf, and the licenses of a Debian system as text to train on. Usage: make_tokenizers.py
writes the .json files beside it. The trainers break ties as their hash tables fall, so a second run makes other vocabularies. The hashes of every_character_slow_test.cpp: see every_character() below.
"""
import hashlib
import os

HERE = os.path.dirname(os.path.abspath(__file__))
SCRATCH = os.environ.get("SCRATCH", HERE)
RULES = {"\uff21": "A", "\u2460": "1", "\u00bd": "1/2", "e\u0301": "\u00e9", "\r": " ", "\n": " ", "\t": " ", "\u3000": " ", "\ufb01": "fi", "A\u030a": "\u00c5", "\u2026": "..."}
with open(f"{SCRATCH}/rules.tsv", "w") as f:
    for k, v in RULES.items():
        f.write(" ".join("%X" % ord(c) for c in k) + "\t" + " ".join("%X" % ord(c) for c in v) + "\n")
import glob, json, random
from tokenizers import Tokenizer, models, pre_tokenizers, normalizers, decoders, processors, trainers, AddedToken, Regex
texts=[open(f,errors="replace").read() for f in sorted(glob.glob("/usr/share/common-licenses/*"))]
extra="""Ünïcödé: naïve café, Straße, Ελληνικά γλώσσα, русский язык и ещё, 中文字符测试 日本語テキスト かな カナ, 한국어 텍스트, العربية עברית, हिन्दी भाषा, ไทย ภาษา. 
Emoji 😀👍🏽 👩‍👩‍👧‍👦 🇩🇪 ❤️ e\u0301 n\u0303. 1234567890 ½ ² ① Ⅷ ٣٤ don't I'll WE'VE you're it's
def f(x):\n    return x**2\t# tab\r\n\r\n  print("hello")\n""" 
texts=[t[:30000] for t in texts[:6]]+[extra]*20
GPT2=r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
LLAMA3=r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"""
QWEN2=LLAMA3.replace(r"\p{N}{1,3}",r"\p{N}")
O200K=r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"""
DS=[r"\p{N}{1,3}",r"[一-龥぀-ゟ゠-ヿ]+",r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"""]
def save(t,name):
    t.save(f"{HERE}/{name}.json",pretty=False)
def bpe(name,pre,norm=None,post=None,specials=["<|begin|>","<|end|>"],vs=700,**kw):
    t=Tokenizer(models.BPE(**kw))
    if norm: t.normalizer=norm
    t.pre_tokenizer=pre
    t.decoder=decoders.ByteLevel()
    tr=trainers.BpeTrainer(vocab_size=vs,special_tokens=specials,initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),show_progress=False)
    t.train_from_iterator(texts,tr)
    if post: t.post_processor=post
    return t
S=pre_tokenizers.Sequence
def split(p,b="isolated",inv=False): return pre_tokenizers.Split(Regex(p),b,inv)
BL=lambda **k: pre_tokenizers.ByteLevel(**{**dict(add_prefix_space=False,use_regex=False),**k})
t=bpe("gpt2",BL(use_regex=True)); t.post_processor=processors.ByteLevel(trim_offsets=False); save(t,"gpt2")
t=bpe("roberta",BL(use_regex=True,add_prefix_space=True)); t.post_processor=processors.RobertaProcessing(("<|end|>",1),("<|begin|>",0)); t.add_tokens([AddedToken("<mask>",lstrip=True,special=True),AddedToken("word",single_word=True),AddedToken("right>",rstrip=True)]); save(t,"roberta")
t=bpe("llama3",S([split(LLAMA3),BL()]),ignore_merges=True)
t.post_processor=processors.Sequence([processors.ByteLevel(trim_offsets=False),processors.TemplateProcessing(single="<|begin|> $A",pair="<|begin|> $A <|begin|> $B:1",special_tokens=[("<|begin|>",0)])])
t.add_special_tokens(["<|eot|>"]); save(t,"llama3")
t=bpe("qwen2",S([split(QWEN2),BL()]),norm=normalizers.NFC()); t.add_special_tokens(["<|im_start|>","<|im_end|>"]); t.add_tokens(["<tool_call>","</tool_call>"]); save(t,"qwen2")
save(bpe("o200k",S([split(O200K),BL()])),"o200k")
save(bpe("deepseek",S([split(p) for p in DS]+[BL()])),"deepseek")
save(bpe("starcoder",S([pre_tokenizers.Digits(individual_digits=True),BL(use_regex=True)])),"starcoder")
# llama2: sentencepiece-style BPE
def spm_bpe(name,norm,pre,dec,vs=900,extra=None):
    b=[f"<0x{i:02X}>" for i in range(256)]
    t=Tokenizer(models.BPE(unk_token="<unk>",fuse_unk=True,byte_fallback=True))
    t.normalizer=norm
    if pre: t.pre_tokenizer=pre
    t.decoder=dec
    tr=trainers.BpeTrainer(vocab_size=vs,special_tokens=["<unk>","<s>","</s>"]+b,show_progress=False,limit_alphabet=120)
    t2=Tokenizer(models.BPE(unk_token="<unk>",fuse_unk=True,byte_fallback=True)); t2.normalizer=norm; t2.pre_tokenizer=pre or pre_tokenizers.Split("\u2581","merged_with_next")
    t2.train_from_iterator(texts,tr)
    j=json.loads(t2.to_str()); j["added_tokens"]=j["added_tokens"][:3]; j["pre_tokenizer"]=json.loads(t.to_str())["pre_tokenizer"]; j["decoder"]=json.loads(t.to_str())["decoder"]
    t=Tokenizer.from_str(json.dumps(j)); t.post_processor=processors.TemplateProcessing(single="<s> $A",pair="<s> $A <s> $B",special_tokens=[("<s>",1)])
    return t
D=decoders
save(spm_bpe("llama2",normalizers.Sequence([normalizers.Prepend("\u2581"),normalizers.Replace(" ","\u2581")]),None,D.Sequence([D.Replace("\u2581"," "),D.ByteFallback(),D.Fuse(),D.Strip(" ",1,0)])),"llama2")
save(spm_bpe("gemma",normalizers.Replace(" ","\u2581"),pre_tokenizers.Split(" ","merged_with_previous"),D.Sequence([D.Replace("\u2581"," "),D.ByteFallback(),D.Fuse()])),"gemma")
save(spm_bpe("mistral",None or normalizers.Sequence([]),pre_tokenizers.Metaspace(prepend_scheme="first",split=False),D.Sequence([D.Replace("\u2581"," "),D.ByteFallback(),D.Fuse(),D.Strip(" ",1,0)])),"mistral")
# bert
t=Tokenizer(models.WordPiece(unk_token="[UNK]",max_input_chars_per_word=40)); t.normalizer=normalizers.BertNormalizer(); t.pre_tokenizer=pre_tokenizers.BertPreTokenizer(); t.decoder=D.WordPiece()
t.train_from_iterator(texts,trainers.WordPieceTrainer(vocab_size=600,special_tokens=["[PAD]","[UNK]","[CLS]","[SEP]","[MASK]"],show_progress=False))
t.post_processor=processors.TemplateProcessing(single="[CLS] $A [SEP]",pair="[CLS] $A [SEP] $B:1 [SEP]:1",special_tokens=[("[CLS]",2),("[SEP]",3)]); save(t,"bert")
t.normalizer=normalizers.BertNormalizer(lowercase=False,strip_accents=True,handle_chinese_chars=False); save(t,"bert_cased")
# unigram
def uni(name,norm,pre,dec,bf=False):
    t=Tokenizer(models.Unigram()); t.normalizer=norm; t.pre_tokenizer=pre; t.decoder=dec
    t.train_from_iterator(texts,trainers.UnigramTrainer(vocab_size=600,special_tokens=["<pad>","</s>","<unk>"],unk_token="<unk>",show_progress=False))
    t.post_processor=processors.TemplateProcessing(single="$A </s>",pair="$A </s> $B </s>",special_tokens=[("</s>",1)])
    return t
import sentencepiece as spm, io
save(uni("albert",normalizers.Sequence([normalizers.Replace("``",'"'),normalizers.NFKD(),normalizers.StripAccents(),normalizers.Lowercase(),normalizers.Replace(Regex(" {2,}")," ")]),pre_tokenizers.Metaspace(),D.Metaspace()),"albert")
m=io.BytesIO(); spm.SentencePieceTrainer.train(sentence_iterator=iter([l for t in texts for l in t.split("\n") if l.strip()]),model_writer=m,vocab_size=500,model_type="unigram",normalization_rule_tsv=f"{SCRATCH}/rules.tsv",byte_fallback=False,hard_vocab_limit=False,minloglevel=2)
open(f"{SCRATCH}/spm_unigram.model","wb").write(m.getvalue())
m2=io.BytesIO(); spm.SentencePieceTrainer.train(sentence_iterator=iter([l for t in texts for l in t.split("\n") if l.strip()]),model_writer=m2,vocab_size=800,model_type="bpe",byte_fallback=True,hard_vocab_limit=False,minloglevel=2,normalization_rule_name="identity",remove_extra_whitespaces=False)
open(f"{SCRATCH}/spm_bpe.model","wb").write(m2.getvalue())
from sentencepiece import sentencepiece_model_pb2 as pb
mp=pb.ModelProto(); mp.ParseFromString(m.getvalue())
t=Tokenizer(models.Unigram([(p.piece,p.score) for p in mp.pieces],unk_id=0,byte_fallback=False)); t.normalizer=normalizers.Sequence([normalizers.Precompiled(mp.normalizer_spec.precompiled_charsmap),normalizers.Replace(Regex(" {2,}"),"▁")]) ; t.pre_tokenizer=pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(),pre_tokenizers.Metaspace()]); t.decoder=D.Metaspace(); save(t,"t5")
t=Tokenizer(models.WordLevel(unk_token="<unk>")); t.normalizer=normalizers.Sequence([normalizers.NFKC(),normalizers.Strip(),normalizers.Nmt()]); t.pre_tokenizer=pre_tokenizers.Whitespace(); t.train_from_iterator(texts,trainers.WordLevelTrainer(vocab_size=400,special_tokens=["<unk>"],show_progress=False)); save(t,"words")
t=Tokenizer(models.BPE(unk_token="<unk>",end_of_word_suffix="</w>")); t.normalizer=normalizers.Sequence([normalizers.NFD(),normalizers.Lowercase(),normalizers.StripAccents()]); t.pre_tokenizer=pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(),pre_tokenizers.Punctuation("merged_with_previous"),pre_tokenizers.Digits(False)]); t.decoder=D.BPEDecoder("</w>"); t.train_from_iterator(texts,trainers.BpeTrainer(vocab_size=500,end_of_word_suffix="</w>",special_tokens=["<unk>"],limit_alphabet=60,show_progress=False)); save(t,"clip")

random.seed(5)
lic=open("/usr/share/common-licenses/GPL-3").read()
nasty=["","a"," ","  ","hello world","  leading","trailing   ","a\nb","a\r\nb\r\n","\t\ttab","  \n  x","\n\n\n","x \n\n y","don't I'LL we'Ve 'S 'ſ it'ſ","1234567890 12 3","½ ² ① Ⅷ ٣٤","😀👍🏽 👩‍👩‍👧‍👦 🇩🇪 ❤️","e\u0301 n\u0303 \u0301","ﬁ ﬂ Å Å Ａ","中文字符 日本語テキスト カナ 한국어","العربية עברית","हिन्दी ไทย","a\u200bb\u200d\ufeff","\x00\x01\x7f","a"*300,"ab"*100," "*70,"\u00a0\u3000\u2003","<|begin|>hi<|end|>","  <mask>  x word words word right>  x","<|im_start|>user\nhi<|im_end|>","</s> <s>hi</s>","[CLS] [MASK] x","`` quoted '' ","İstanbul ẞ Σς","x\ufffdy","_under_score __x__","foo.bar(baz)=>{}//x","http://a.b/c?d=e&f","ΑΒΓ абв","\u2028\u2029\x85","\u0b95\u0bcd","\U000e0001\U0010ffff","a\u030a A\u030a x\u0301y","don't can not do not","\u1e9b\u0323","₁₂ᴬ","a/b/\n//\r\n","'s's"," 's","\v\f x","\u2581a \u2581","Caf\u00c9\u00c8 STRASSE","\u00c5\u212b","\u24d0","3.14,159 -5","\u0345\u0399",lic[:3000],lic[5000:9000].replace(" ","  ")]
pool=[chr(c) for c in list(range(32,127))*2+[9,10,13,0xa0,0xe9,0x301,0x3b1,0x416,0x4e2d,0x3042,0xac00,0x1f600,0x200d,0x2581,0x660,0xbd,0x2028,0x5d0,0xe01,0x212a,0x17f,0x130]]
for i in range(300): nasty.append("".join(random.choice(pool) for _ in range(random.randint(1,40))))

nasty = [s for s in nasty if len(s) < 320][:130]
out = {"texts": nasty, "tokenizers": {}}
for f in sorted(glob.glob(f"{HERE}/*.json")):
    n = os.path.basename(f)[:-5]
    if n in ("expected", "chats", "sentencepiece", "pre_types"):
        continue
    t = Tokenizer.from_file(f)
    out["tokenizers"][n] = [[t.encode(s).ids, t.decode(t.encode(s).ids)] for s in nasty]
json.dump(out, open(f"{HERE}/expected.json", "w"), separators=(",", ":"))

texts = [s for s in nasty if s and "<s>" not in s and "\x00" not in s][:110]


def stored(name):
    p = spm.SentencePieceProcessor(model_file=f"{SCRATCH}/{name}.model")
    m = pb.ModelProto()
    m.ParseFromString(open(f"{SCRATCH}/{name}.model", "rb").read())
    return {"tokens": [x.piece for x in m.pieces], "scores": [x.score for x in m.pieces], "types": [x.type for x in m.pieces],
            "charsmap": m.normalizer_spec.precompiled_charsmap.hex(), "remove_extra": m.normalizer_spec.remove_extra_whitespaces,
            "ids": [p.encode(s) for s in texts]}



def blanks():
    """The map of characters of a model to which all white space is a blank."""
    with open(f"{SCRATCH}/blanks.tsv", "w") as f:
        f.writelines(f"{c:X}\t20\n" for c in [*range(9, 14), 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000])
        f.write("FB01\t66 69\n")
    m = io.BytesIO()
    spm.SentencePieceTrainer.train(sentence_iterator=iter(["a b c d e f g"] * 10), model_writer=m, vocab_size=12, model_type="unigram",
                                   normalization_rule_tsv=f"{SCRATCH}/blanks.tsv", hard_vocab_limit=False, minloglevel=2)
    p = pb.ModelProto()
    p.ParseFromString(m.getvalue())
    return p.normalizer_spec.precompiled_charsmap.hex()


json.dump({"texts": texts, "spm": stored("spm_bpe"), "ugm": stored("spm_unigram"), "blanks": blanks()}, open(f"{HERE}/sentencepiece.json", "w"), separators=(",", ":"))


def every_character(name):
    t, h = Tokenizer.from_file(f"{HERE}/{name}.json"), hashlib.sha256()
    for c in range(0x110000):
        if not 0xD800 <= c < 0xE000:
            h.update((" ".join(map(str, t.encode(f"a{chr(c)}b 1{chr(c)}", add_special_tokens=False).ids)) + "\n").encode())
    return h.hexdigest()


print({n: every_character(n) for n in out["tokenizers"]})
