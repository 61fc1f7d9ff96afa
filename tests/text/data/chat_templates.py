"""Templates in the manner of well-known families, by name: make_chats.py stores what transformers makes of them."""
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
T["operators"]=r"""{{ 1 < 2 < 3 }} {{ 3 > 2 > 2 }} {{ 1 == 1 != 2 }} {{ 1 <= 1 <= 1 < 5 }} {{ 1 in [1] in [[1]] }} {{ not 1 < 2 < 3 }} {{ (1 < 2) < 3 }} {{ 'a' < 'b' < 'c' > 'a' }} {{ 1 < 2 == true }}
{% set seen = namespace(n=0) %}{% macro next() %}{% set seen.n = seen.n + 1 %}{{ seen.n }}{% endmacro %}{{ '0' < next() < '2' }}{{ seen.n }}{{ '3' < next() < next() }}{{ seen.n }}
{{ 3 if 0 < messages|length < 9 else 4 }} {{ messages.0.role }} {{ [1, 2].1 }} {{ 'abc'.0 }} {{ [1] * 2 }} {{ 2 * 'ab' }} {{ 2 * (1,) }} {{ [1] * -1 }} {{ {'a': 1, 'a': 2} }} {{ dict({'a': 1, 'b': 0}, a=2) }} {{ [1, 2]|sum(start=10) }} {{ [[1], [2]]|sum(start=[]) }} {{ "it's a well-known dog_s (x)"|title }} {{ "it's a-b_c".title() }}"""
T["commandr"]=r"""{{ bos_token }}{%- macro document_turn(documents) -%}
{# format documents into chat turn #}
<|START_OF_TURN_TOKEN|>[
{% for doc in documents %}
    {"tool_call_id": "{{ loop.index0 }}", "r": {"text": {{ doc.text|tojson }}}}{% if not loop.last %},
    {% endif %}
{% endfor %}

]<|END|>
{%- endmacro %}
{%- macro tool_call_id_to_int(messages, tool_call_id) %}
{%- set counter = namespace(value=0) %}
{%- set tool_call_id_seen = namespace(value=false) %}
{%- for msg in messages %}
    {%- if msg.tool_calls %}
        {%- for tool_call in msg.tool_calls %}
            {%- if tool_call.id == tool_call_id and not tool_call_id_seen.value -%}
                {{ counter.value }}
                {%- set tool_call_id_seen.value = true %}
            {%- endif %}
            {%- set counter.value = counter.value + 1 %}
        {%- endfor %}
    {%- endif %}
{%- endfor %}
{%- endmacro %}
{%- set ns = namespace(n=0) -%}
{%- for m in messages -%}
{%- if m.role|lower == 'tool' -%}{{ tool_call_id_to_int(messages, m.tool_call_id) }}{%- endif -%}
{%- if 0 < loop.index0 < messages|length - 1 -%}[{{ loop.index }}]{%- endif -%}
{%- endfor -%}
{{ document_turn([{"text": "a\"b"}, {"text": "ü"}]) }}
{%- if tools is iterable and tools | length -%}{%- for t in tools | sort(attribute='function.name') -%}{{ t.function.name ~ loop.cycle(',', ';') }}{%- endfor -%}{%- endif -%}"""
T["qwen3coder"]=r"""{% macro render_item_list(item_list, tag_name='required') %}
    {%- if item_list is defined and item_list is iterable and item_list | length > 0 %}
        {%- if tag_name %}{{- '\n<' ~ tag_name ~ '>' -}}{% endif %}
            {{- '[' }}
                {%- for item in item_list -%}
                    {%- if loop.index > 1 %}{{- ", "}}{% endif -%}
                    {%- if item is string -%}
                        {{ "`" ~ item ~ "`" }}
                    {%- else -%}
                        {{ item }}
                    {%- endif -%}
                {%- endfor -%}
            {{- ']' }}
        {%- if tag_name %}{{- '</' ~ tag_name ~ '>' -}}{% endif %}
    {%- endif %}
{% endmacro %}
{%- macro render_extra_keys(json_dict, handled_keys) %}
    {%- if json_dict is mapping %}
        {%- for json_key in json_dict if json_key not in handled_keys %}
            {%- if json_dict[json_key] is mapping or (json_dict[json_key] is sequence and json_dict[json_key] is not string) %}
                {{- '\n<' ~ json_key ~ '>' ~ (json_dict[json_key] | tojson | safe) ~ '</' ~ json_key ~ '>' }}
            {%- else %}
                {{-'\n<' ~ json_key ~ '>' ~ (json_dict[json_key] | string) ~ '</' ~ json_key ~ '>' }}
            {%- endif %}
        {%- endfor %}
    {%- endif %}
{% endmacro %}
{%- for tool in tools %}
    {%- if tool.function is defined %}
        {%- set tool = tool.function %}
    {%- endif %}
    {{- "\n<function>\n<name>" ~ tool.name ~ "</name>" }}
    {%- for param_name, param_fields in tool.parameters.properties|items %}
        {{- '\n<parameter>' }}{{ '\n<name>' ~ param_name ~ '</name>' }}
        {%- if param_fields.type is defined %}{{- '\n<type>' ~ (param_fields.type | string) ~ '</type>' }}{%- endif %}
        {{- render_item_list(param_fields.enum, 'enum') }}
        {%- set handled_keys = ['type', 'description', 'enum', 'required'] %}
        {{- render_extra_keys(param_fields, handled_keys) }}
    {%- endfor %}
    {{- render_item_list(tool.parameters.required, tag_name='required') }}
{%- endfor %}
{%- set ns = namespace(is_first=true) %}
{%- for message in loop_messages|default(messages) %}
    {%- if message.role == "assistant" and message.tool_calls is defined and message.tool_calls is iterable and message.tool_calls | length > 0 %}
        {%- for tool_call in message.tool_calls %}
            {%- for args_name, args_value in tool_call.function.arguments|items %}
                {{- '<parameter=' + args_name + '>\n' }}
                {%- set args_value = args_value | tojson | safe if args_value is mapping else args_value | string %}
                {{- args_value }}
            {%- endfor %}
        {%- endfor %}
    {%- endif %}
{%- endfor %}
"""
T["gptoss"]=r"""{#-
  In addition to the normal inputs of `messages` and `tools`.
 #}
{%- macro render_typescript_type(param_spec, required_params, is_nullable=false) -%}
    {%- if param_spec.type == "array" -%}
        {%- if param_spec['items'] -%}
            {%- if param_spec['items']['type'] == "string" -%}
                {{- "string[]" }}
            {%- else -%}
                {%- set inner_type = render_typescript_type(param_spec['items'], required_params) -%}
                {%- if inner_type == "object | object" or inner_type|length > 50 -%}
                    {{- "any[]" }}
                {%- else -%}
                    {{- inner_type + "[]" }}
                {%- endif -%}
            {%- endif -%}
            {%- if param_spec.nullable -%}
                {{- " | null" }}
            {%- endif -%}
        {%- endif -%}
    {%- elif param_spec.type is defined and param_spec.type is iterable and param_spec.type is not string and param_spec.type is not mapping and param_spec.type[0] is defined -%}
        {%- if param_spec.type | length > 1 -%}
            {{- param_spec.type | join(" | ") }}
        {%- else -%}
            {{- param_spec.type[0] }}
        {%- endif -%}
    {%- elif param_spec.oneOf -%}
        {%- set has_object_variants = false -%}
        {%- for variant in param_spec.oneOf -%}
            {{- render_typescript_type(variant, required_params) -}}
            {%- if not loop.last -%}{{- " | " }}{%- endif -%}
        {%- endfor -%}
    {%- elif param_spec.type == "string" -%}
        {%- if param_spec.enum -%}
            {{- '"' + param_spec.enum|join('" | "') + '"' -}}
        {%- else -%}
            {{- "string" }}
        {%- endif -%}
    {%- elif param_spec.type == "number" -%}{{- "number" }}
    {%- elif param_spec.type == "object" -%}
        {%- if param_spec.properties -%}
            {{- "{\n" }}
            {%- for prop_name, prop_spec in param_spec.properties.items() -%}
                {{- prop_name -}}
                {%- if prop_name not in (param_spec.required or []) -%}
                    {{- "?" }}
                {%- endif -%}
                {{- ": " }}
                {{ render_typescript_type(prop_spec, param_spec.required or []) }}
                {%- if not loop.last -%}
                    {{-", " }}
                {%- endif -%}
            {%- endfor -%}
            {{- "}" }}
        {%- else -%}
            {{- "object" }}
        {%- endif -%}
    {%- else -%}
        {{- "any" }}
    {%- endif -%}
{%- endmacro -%}
{%- macro render_tool_namespace(namespace_name, tools) -%}
    {{- "## " + namespace_name + "\n\n" }}
    {{- "namespace " + namespace_name + " {\n\n" }}
    {%- for tool in tools %}
        {%- set tool = tool.function %}
        {{- "// " + tool.description + "\n" }}
        {{- "type "+ tool.name + " = " }}
        {%- if tool.parameters and tool.parameters.properties %}
            {{- "(_: {\n" }}
            {%- for param_name, param_spec in tool.parameters.properties.items() %}
                {%- if param_spec.description %}
                    {{- "// " + param_spec.description + "\n" }}
                {%- endif %}
                {{- param_name }}
                {%- if param_name not in (tool.parameters.required or []) -%}
                    {{- "?" }}
                {%- endif -%}
                {{- ": " }}
                {{- render_typescript_type(param_spec, tool.parameters.required or []) }}
                {%- if param_spec.default is defined -%}
                    {%- if param_spec.enum %}
                        {{- ", // default: " + param_spec.default }}
                    {%- elif param_spec.oneOf %}
                        {{- "// default: " + param_spec.default }}
                    {%- else %}
                        {{- ", // default: " + param_spec.default|tojson }}
                    {%- endif -%}
                {%- endif -%}
                {%- if not loop.last %}
                    {{- ",\n" }}
                {%- else %}
                    {{- ",\n" }}
                {%- endif -%}
            {%- endfor %}
            {{- "}) => any;\n\n" }}
        {%- else -%}
            {{- "() => any;\n\n" }}
        {%- endif -%}
    {%- endfor %}
    {{- "} // namespace " + namespace_name }}
{%- endmacro -%}
{%- macro build_system_message() -%}
    {%- if model_identity is not defined %}
        {%- set model_identity = "You are ChatGPT, a large language model trained by OpenAI." %}
    {%- endif %}
    {{- model_identity + "\n" }}
    {{- "Knowledge cutoff: 2024-06\n" }}
    {{- "Current date: " + strftime_now("%Y-%m-%d") + "\n\n" }}
    {%- if reasoning_effort is not defined %}
        {%- set reasoning_effort = "medium" %}
    {%- endif %}
    {{- "Reasoning: " + reasoning_effort + "\n\n" }}
    {%- if builtin_tools %}
        {{- "# Tools\n\n" }}
        {%- set available_builtin_tools = namespace(browser=false, python=false) %}
    {%- endif -%}
    {{- "# Valid channels: analysis, commentary, final. Channel must be included for every message." }}
    {%- if tools -%}
        {{- "\nCalls to these tools must go to the commentary channel: 'functions'." }}
    {%- endif -%}
{%- endmacro -%}
{{- "<|start|>system<|message|>" }}
{{- build_system_message() }}
{{- "<|end|>" }}
{%- if developer_message is defined %}{%- set x = 1 %}{%- elif messages[0].role == "developer" or messages[0].role == "system" %}
    {%- set developer_message = messages[0].content %}
    {%- set loop_messages = messages[1:] %}
{%- else %}
    {%- set developer_message = "" %}
    {%- set loop_messages = messages %}
{%- endif %}
{%- if developer_message or tools %}
    {{- "<|start|>developer<|message|>" }}
    {%- if tools -%}
        {{- "# Tools\n\n" }}
        {{- render_tool_namespace("functions", tools) }}
    {%- endif -%}
    {{- "<|end|>" }}
{%- endif %}
{%- set last_tool_call = namespace(name=none) %}
{%- for message in loop_messages -%}
    {%- if message.role == 'assistant' -%}
        {%- if "content" in message %}
            {%- if false and ("<|channel|>analysis<|message|>" in message.content or "<|channel|>final<|message|>" in message.content) %}
                {{- raise_exception("x") }}
            {%- endif %}
        {%- endif %}
        {%- if "tool_calls" in message %}
            {%- set future_final_message = namespace(found=false) %}
            {%- for future_message in loop_messages[loop.index:] %}
                {%- if future_message.role == 'assistant' and "tool_calls" not in future_message %}
                    {%- set future_final_message.found = true %}
                {%- endif %}
            {%- endfor %}
            {%- set tool_call = message.tool_calls[0] %}
            {%- if tool_call.function %}
                {%- set tool_call = tool_call.function %}
            {%- endif %}
            {%- if message.content and message.thinking %}
                {{- raise_exception("Cannot pass both content and thinking in an assistant message with tool calls!") }}
            {%- elif message.thinking and not future_final_message.found %}
                {{- "<|start|>assistant<|channel|>analysis<|message|>" + message.thinking + "<|end|>" }}
            {%- endif %}
            {{- "<|start|>assistant to=" }}
            {{- "functions." + tool_call.name + "<|channel|>commentary " }}
            {{- (tool_call.content_type if tool_call.content_type is defined else "json") + "<|message|>" }}
            {{- tool_call.arguments|tojson }}
            {{- "<|call|>" }}
            {%- set last_tool_call.name = tool_call.name %}
        {%- elif loop.last and not add_generation_prompt %}
            {{- "<|start|>assistant<|channel|>final<|message|>" + message.content + "<|return|>" }}
        {%- else %}
            {{- "<|start|>assistant<|channel|>final<|message|>" + message.content + "<|end|>" }}
            {%- set last_tool_call.name = none %}
        {%- endif %}
    {%- elif message.role == 'tool' -%}
        {%- if last_tool_call.name is none %}
            {{- raise_exception("Message has tool role, but there was no previous assistant message with a tool call!") }}
        {%- endif %}
        {{- "<|start|>functions." + last_tool_call.name }}
        {{- " to=assistant<|channel|>commentary<|message|>" + message.content|tojson + "<|end|>" }}
    {%- elif message.role == 'user' -%}
        {{- "<|start|>user<|message|>" + message.content + "<|end|>" }}
    {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
<|start|>assistant
{%- endif -%}"""
T["granite33"]=r"""{# Alias tools -> available_tools #}
{%- if tools and not available_tools -%}
    {%- set available_tools = tools -%}
{%- endif -%}
{%- if messages[0]['role'] == 'system' %}
     {%- set system_message = messages[0]['content'] %}
     {%- set loop_messages = messages[1:] %}
 {%- else %}
     {%- set system_message = " Knowledge Cutoff Date: April 2024.\n Today's Date: " + strftime_now('%B %d, %Y') + "." %}
     {%- if available_tools and documents %}
         {%- set system_message = system_message + " You are a helpful assistant with access to tools." %}
     {%- elif thinking %}
     {%- set system_message = system_message + " think" %}
     {%- endif %}
     {%- set loop_messages = messages %}
 {%- endif %}
 {{- '<|start_of_role|>system<|end_of_role|>' + system_message + '<|end_of_text|>
' }}
 {%- if available_tools %}
     {{- '<|start_of_role|>available_tools<|end_of_role|>' }}
     {{- available_tools | tojson(indent=4) }}
     {{- '<|end_of_text|>
' }}
 {%- endif %}
 {%- if documents %}
     {%- for document in documents %}
         {{- '<|start_of_role|>document {"document_id": "' + document['doc_id'] | string + '"}<|end_of_role|>
' }}
         {{- document['text'] }}
     {%- endfor %}
 {%- endif %}
 {%- for message in loop_messages %}
     {{- '<|start_of_role|>' + message['role'] + '<|end_of_role|>' + message['content'] + '<|end_of_text|>
' }}
     {%- if loop.last and add_generation_prompt %}
         {{- '<|start_of_role|>assistant' }}
             {%- if controls %}
                 {{- ' ' + controls | tojson()}}
             {%- endif %}
         {{- '<|end_of_role|>' }}
     {%- endif %}
 {%- endfor %}
"""
