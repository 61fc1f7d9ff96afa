#!/usr/bin/env python3
"""Stores what transformers' chat templating (transformers 5.24.0, jinja2 3.1.6) makes of templates in the manner of well-known families.

Usage: make_chats.py writes chats.json beside it. A case is [template, messages, tools, add_generation_prompt, text]; no text: it raised.
"""
import datetime
import json
import os

from transformers.utils import chat_template_utils as ctu

from chat_templates import T

M=[
 [{"role":"user","content":"  Hello there é😀 "},{"role":"assistant","content":"<think>\nhm\n</think>\n\nHi!"},{"role":"user","content":"More?"}],
 [{"role":"system","content":"Be brief."},{"role":"user","content":"What's 2+2?"},{"role":"assistant","content":"4"},{"role":"user","content":"ok"}],
 [{"role":"user","content":"Weather?"},{"role":"assistant","content":"","tool_calls":[{"type":"function","function":{"name":"get","arguments":{"city":"Köln","days":3,"x":1.5,"ok":True,"n":None}}}]},{"role":"tool","content":"{\"t\": 20}"},{"role":"tool","content":"b"},{"role":"assistant","content":"20"}],
 [{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}],
]
TOOLS=[None,[{"type":"function","function":{"name":"get","description":"Gets \"it\" <now> & then","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}}]]


def render(t,m,tools,gen,extra):
    class FakeDT:
        @staticmethod
        def now(): return datetime.datetime.utcfromtimestamp(1700000000)
    ctu.datetime=FakeDT
    c=ctu._compile_jinja_template(t)
    return c.render(messages=m,tools=tools,documents=None,add_generation_prompt=gen,bos_token="<s>",eos_token="</s>",**extra)
cases=[]; 
for n,t in T.items():
    for m in M:
        for tools in TOOLS:
            for gen in (False,True):
                if n in("macros","filters","operators") and (m is not M[0] or tools or gen): continue
                extra={"enable_thinking":False} if gen else {}
                try: e=render(t,m,tools,gen,extra)
                except Exception as x: e="ERR "+str(x)
                cases.append((n,t,m,tools,gen,extra,e))

here = os.path.dirname(os.path.abspath(__file__))
json.dump({"templates": T, "messages": M, "tools": TOOLS,
           "cases": [[n, M.index(m), TOOLS.index(to), g, None if e.startswith("ERR") else e] for n, t, m, to, g, x, e in cases]},
          open(here + "/chats.json", "w"), separators=(",", ":"))
