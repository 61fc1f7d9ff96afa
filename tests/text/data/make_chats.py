#!/usr/bin/env python3
"""Stores what transformers' chat templating (transformers 5.24.0, jinja2 3.1.6) makes of templates in the manner of well-known families.

Usage: make_chats.py writes chats.json beside it. A case is [template, messages, tools, add_generation_prompt, text]; no text: it raised.
"""
import datetime
import json
import os

from transformers.utils import chat_template_utils as ctu

T={}
T["chatml"]="""{%- for message in messages %}
    {{- '<|im_start|>' + message.role + '\\n' + message['content'] | trim + '<|im_end|>' + '\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{% endif %}"""
T["llama3"]="""{{- bos_token }}
{%- if not date_string is defined %}
    {%- set date_string = strftime_now("%d %b %Y") %}
{%- endif %}
{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content']|trim %}
    {%- set messages = messages[1:] %}
{%- else %}{%- set system_message = "" %}{%- endif %}
{{- "<|start|>system\\n\\nToday: " + date_string + "\\n" }}
{%- if tools is not none %}
    {{- "Tools:\\n" }}
    {%- for t in tools %}{{- t | tojson(indent=4) }}{{- "\\n\\n" }}{%- endfor %}
{%- endif %}
{{- system_message }}
{%- for message in messages %}
    {%- if not (message.role == 'ipython' or message.role == 'tool' or 'tool_calls' in message) %}
        {{- '<|' + message['role'] + '|>\\n' + message['content'] | trim + '<|eot|>' }}
    {%- elif 'tool_calls' in message %}
        {%- if not message.tool_calls|length == 1 %}{{- raise_exception("only one call!") }}{%- endif %}
        {%- set call = message.tool_calls[0].function %}
        {{- '{"name": "' + call.name + '", ' }}{{- '"parameters": ' }}{{- call.arguments | tojson }}{{- "}" }}
        {%- for k, v in call.arguments | items %}[{{ k }}={{ v }}]{% endfor %}
    {%- else %}{{- "<|tool|>" }}{%- if message.content is mapping or message.content is iterable %}{{- message.content | tojson }}{%- else %}{{- message.content }}{%- endif %}{%- endif %}
{%- endfor %}"""
T["mistral"]="""{%- if messages[0]["role"] == "system" %}
  {%- set system_message = messages[0]["content"] %}
  {%- set loop_messages = messages[1:] %}
{%- else %}
  {%- set loop_messages = messages %}
{%- endif %}
{%- set user_messages = loop_messages | selectattr("role", "equalto", "user") | list %}
{%- set ns = namespace(index=0) %}
{%- for message in loop_messages %}
  {%- if not (message.role == "tool" or message.tool_calls is defined) %}
    {%- if (message["role"] == "user") != (ns.index % 2 == 0) %}{{- raise_exception("roles must alternate") }}{%- endif %}
    {%- set ns.index = ns.index + 1 %}
  {%- endif %}
{%- endfor %}
{{- bos_token }}
{%- for message in loop_messages %}
  {%- if message["role"] == "user" %}
    {%- if loop.last and system_message is defined %}{{- "[INST] " + system_message + "\\n\\n" + message["content"] + "[/INST]" }}
    {%- else %}{{- "[INST] " ~ message["content"] ~ "[/INST]" }}{%- endif %}
  {%- elif message["role"] == "assistant" %}{{- " " + message["content"]|trim + eos_token}}{%- endif %}
{%- endfor %}{{ user_messages|length }} {{ (user_messages|last)['content'][:3] }} {{ 'abc'[::-1] }}"""
T["qwen3"]="""{%- set ns = namespace(multi_step=true, last=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.multi_step and message.role == "user" and not (message.content.startswith('<r>') and message.content.endswith('</r>')) %}
        {%- set ns.multi_step = false %}{%- set ns.last = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- set content = message.content if message.content is string else '' %}
    {%- if message.role == "assistant" %}
        {%- set reasoning = '' %}
        {%- if '</think>' in content %}
            {%- set reasoning = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
            {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
        {%- endif %}
        {%- if loop.index0 > ns.last %}{{- '<think>\\n' + reasoning.strip('\\n') + '\\n</think>\\n\\n' + content }}{% else %}{{- content }}{% endif %}
    {%- elif message.role == "tool" %}
        {%- if loop.first or (messages[loop.index0 - 1].role != "tool") %}{{- 'TOOLS' }}{%- endif %}
        {%- if loop.previtem and loop.previtem.role == 'tool' %}+{% endif %}{{- content }}
    {%- else %}{{- '<' + message.role + '>' + content }}{%- endif %}
{%- endfor %}
{%- if enable_thinking is defined and enable_thinking is false %}NOTHINK{% endif %}"""
T["gemma"]="""{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ messages[0]['content'] }}{% set messages = messages[1:] %}{% endif %}{% for message in messages %}{% if (message['role'] == 'assistant') %}{% set role = 'model' %}{% else %}{% set role = message['role'] %}{% endif %}{{ '<start_of_turn>' + role + '\\n' + (message['content'] if message['content'] is string else message['content'] | map(attribute='text') | join(', ')) | trim + '<end_of_turn>\\n' }}{% endfor %}{% if add_generation_prompt %}{{'<start_of_turn>model\\n'}}{% endif %}"""
T["macros"]="""{%- macro show(x, sep=', ') -%}
  {%- for k, v in x.items() -%}{{ k }}:{{ v if v is not mapping else show(v) }}{{ sep if not loop.last }}{%- endfor -%}
{%- endmacro %}
{{ show({'a': 1, 'b': {'c': none, 'd': [1, 2.5, 'x', true]}}) }}
{% macro wrap(tag) %}<{{ tag }}>{{ caller() }}</{{ tag }}>{% endmacro %}
{% call wrap('b') %}inner{% endcall %}

{% set block %}  lots {{ 1 + 2 * 3 }} {% endset %}[{{ block }}]
{% filter upper %}shout {{ 'x' }}{% endfilter %}
{% for i in range(5) if i is odd %}{{ i }},{% else %}none{% endfor %}
{% for i in range(10) %}{% if i == 3 %}{% continue %}{% endif %}{% if i > 5 %}{% break %}{% endif %}{{ i }}{{ loop.cycle('a','b') }}{% endfor %}
{% for a, b in [(1, 2), [3, 4]] %}{{ a ~ b }} {{ loop.index }}/{{ loop.length }} {{ loop.revindex }} {{ loop.nextitem }}|{% endfor %}
{% raw %}{{ not this }}{% endraw %}
   {# comment #}
x  {%- if true -%}  y  {%- endif %}  z
{%+ if true %} keep{% endif +%}
end"""
T["filters"]="""{{ [3,1,2]|sort|join('-') }} {{ ['b','A','c']|sort }} {{ {'z':1,'a':2}|dictsort }} {{ 'a b c'.split() }} {{ 'a,b,c'.split(',', 1) }} {{ 'hello world'|title }} {{ 'hELLO'|capitalize }} {{ ' x '|trim }}|{{ 3.7|int }} {{ '12'|int + 1 }} {{ 'x'|default('d') }} {{ undefined_thing|default('d') }} {{ ''|default('d', true) }} {{ [1,2,3]|sum }} {{ [1,1,2]|unique|list }} {{ [1,2,3]|reverse|list }} {{ 'abc'|length }} {{ 'abc'|first }} {{ [1,2]|last }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 7 / 2 }} {{ 2 ** 10 }} {{ 1e3 }} {{ 10000000000000000.0 }} {{ true and 'x' or 'y' }} {{ not true }} {{ 1 if false }} {{ [1,[2,'a"b',"c'd"]] }} {{ {'k': (1,)} }} {{ 'abc' in 'xabcx' }} {{ 1 not in [1] }} {{ 'x' is string }} {{ 5 is divisibleby 5 }} {{ [1,2,3]|select('gt', 1)|list }} {{ ['a','B']|map('upper')|list }} {{ [{'a':1},{'a':2}]|map(attribute='a')|list }} {{ [{'a':1},{}]|rejectattr('a','defined')|list }} {{ 'line1\\nline2\\n\\nl3'|indent(2) }} {{ 'aXbX'|replace('X','-') }} {{ 'a<b>&'|e }} {{ {'é': '😀', 'q': '"\\\\', 'n': 1.0}|tojson }} {{ {'é': '😀'}|tojson(ensure_ascii=true) }} {{ {'b': [1,{}], 'a': []}|tojson(indent=2, sort_keys=true) }} {{ [1,2]|tojson(separators=(',', ':')) }} {{ 'a b'.title() }} {{ ' abc '.strip().upper() }} {{ 'abc'.replace('b','') }} {{ 'a.b.c'.rsplit('.', 1) }} {{ 'x'.join(['1','2']) }} {{ 'abcabc'.find('c') }} {{ 'abcabc'.count('b') }} {{ {'a':1}.get('b') }} {{ {'a':1}.get('b', 5) }} {{ {'a':1}.keys()|list }} {{ {'a':1}['a'] }} {{ 'é日本'[1:] }} {{ 'é日本'[-1] }} {{ [1,2,3,4][1:3] }} {{ [1,2,3,4][::2] }} {{ range(3)|list }} {{ 'a' 'b' }} {{ 1 == 1.0 }} {{ none is none }} {{ (1,2)|length }} {{ ''.join([]) }}|{{ [] is iterable }} {{ 1.5|round }} {{ -3|abs }} {{ dict(a=1) }} {{ 'Ab'|lower ~ 1 }} {{ 3 is odd }} {{ 'a\\tb' }} {{ 1_000 }} {{ loop is defined }} {{ (messages|first).role }} {{ ['x']*1 if false else 'ok' }} {{ 'ab'*3 }} {{ "a"|string is string }} {{ [3,1]|min }} {{ [3,1]|max }} {{ 'x y'|list }} {{ {'a':{'b':3}}.a.b }} {{ messages[0].nothing is undefined }}"""
T["gen"]="""{% for m in messages %}{% if m.role == 'assistant' %}{% generation %}{{ m.content }}{% endgeneration %}{% else %}{{ m.content }}{% endif %}
{% endfor %}"""
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
                if n in("macros","filters") and (m is not M[0] or tools or gen): continue
                extra={"enable_thinking":False} if gen else {}
                try: e=render(t,m,tools,gen,extra)
                except Exception as x: e="ERR "+str(x)
                cases.append((n,t,m,tools,gen,extra,e))

here = os.path.dirname(os.path.abspath(__file__))
json.dump({"templates": T, "messages": M, "tools": TOOLS,
           "cases": [[n, M.index(m), TOOLS.index(to), g, None if e.startswith("ERR") else e] for n, t, m, to, g, x, e in cases]},
          open(here + "/chats.json", "w"), separators=(",", ":"))
