"""What providers say against parameters: their values, and the schemas of tools."""

import re

from ..adaptations.effort import LEVELS, MANDATORY, ReasoningEffortUnknown
from ..adaptations.limits import (
    BELOW_ONE,
    UNSET,
    MaxTokensTooLarge,
    TemperatureOutOfRange,
    TopPWithTemperature,
)
from ..adaptations.response_format import (
    OBJECT,
    SCHEMA,
    WORDS,
    ResponseFormatRefused,
    StreamRequired,
)
from ..adaptations.schemas import ToolSchemaRefused
from ..adaptations.thinking import (
    ADAPTIVE,
    BODY,
    CALLED,
    DISABLED,
    ENABLE,
    ENABLED,
    TEMPLATE,
    UNABLE,
    EffortWithoutThinking,
    ThinkingFormRefused,
    ThinkingRefused,
)
from ..adaptations.tools import ToolChoiceRefused, ToolNameRepeated
from ..tool_schemas import (
    ANY_OF,
    BOOLEAN,
    ENUM,
    ITEMS,
    NO_SCHEMA,
    REFERENCE,
    REQUIRED,
    TOP,
    TYPE,
    TYPES,
)
from .refusal_row import QUOTES, Row, said, words

_BOTH = (
    rf"(?:temperature{QUOTES}\W{{1,4}}(?:and|or|with)?\W{{0,4}}top_?p"
    rf"|top_?p{QUOTES}\W{{1,4}}(?:and|or|with)?\W{{0,4}}temperature)\b"
)
_LIMIT = r"\bmax_?(?:completion_?|output_?|new_?)?tokens(?![a-z_])"
_NUMBER = r"(?P<value>\d{1,7})\b"
_FIGURE = r"(?P<value>\d(?:\.\d{1,3})?)"
_LEVEL = rf"{QUOTES}(?:{'|'.join(LEVELS)}|auto|default){QUOTES}"
_LISTED = r"(?:values?|levels?|options?|efforts?)(?: (?:are|is))?"
_CONTEXT = re.compile(
    r"\bcontext (?:length|limit|window|size)|\bcredits?\b|\bafford"
    r"|\bmax_\w{0,24}tokens\W{1,3}plus\b|(?:\bplus|\+) [`'\"]?max_\w{0,24}tokens",
    re.IGNORECASE,
)
"""The context is too long, or too dear: a client has to know that."""

PARAMETER_ROWS: tuple[Row, ...] = (
    Row(
        StreamRequired,
        words(
            r"\b(?<!thinking )only supports? (?:the )?stream(?:ing)?(?: mode| responses?| calls?| output)?\b"
            r"(?! ?= ?false)",
            r"\bmust have stream ?= ?true\b|\bstream must be (?:set to )?true\b",
        ),
        said(
            """
            DashScope 400: This model only support stream mode, please enable the stream parameter to access the model.
            Fireworks 400: Requests with max_tokens > 4096 must have stream=true
            """
        ),
    ),
    Row(
        EffortWithoutThinking,
        words(
            rf"\bthinking\b[^;]{{0,24}}\bdisabled{QUOTES} (?:when|if|while|with|together with) "
            rf"{QUOTES}(?:reasoning_?|output_config\.)?effort\b",
        ),
        said(
            """
            DeepSeek 400: thinking options type cannot be disabled when reasoning_effort is set
            """
        ),
    ),
    Row(
        TopPWithTemperature,
        words(
            rf"\b{_BOTH}[^.;]{{0,40}}\b(?:both|together|same time|simultaneously|mutually|only)\b",
            rf"\b(?:both|only one of|either|one of|not both)\b[^.;]{{0,16}}{QUOTES}\b{_BOTH}",
            rf"\b(?:top_?p|temperature){QUOTES} (?:cannot|can't|must not|must|may not|should not)"
            r" be (?:set|unset|used|specified|combined)\b[^.;]{0,24}\b(?:temperature|top_?p)\b",
        ),
        said(
            r"""
            Anthropic 400: `temperature` and `top_p` cannot both be specified for this model. Please use only one.
            LiteLLM 400: litellm.BadRequestError: VertexAIException BadRequestError - b'{\"message\":\"`temperature` and `top_p` cannot both be specified for this model. Please use only one.\"}'
            """
        ),
    ),
    Row(
        TopPWithTemperature,
        words(
            rf"\btop_?p{QUOTES} must be (?:[\w .]{{1,40}} or )?unset when thinking\b"
        ),
        said(
            """
            Anthropic 400: `top_p` must be greater than or equal to 0.95 or unset when thinking is enabled or in adaptive mode.
            """
        ),
        value=UNSET,
    ),
    Row(
        TopPWithTemperature,
        words(rf"\btop_?p{QUOTES} must be > ?0(?:\.0)? and < ?1(?:\.0)?(?![\d.])"),
        said(
            """
            TGI 422: Input validation error: `top_p` must be > 0.0 and < 1.0
            """
        ),
        value=BELOW_ONE,
    ),
    Row(
        MaxTokensTooLarge,
        words(
            rf"{_LIMIT}[^;]{{0,120}}?(?:less (?:than )?or equal to|capped at|at most|no (?:more|greater) than"
            r"|<=|(?:not|cannot) (?:exceed|be (?:greater|larger|more|higher) than)|up to|between 1 and"
            r"|(?:exceeds?|(?:greater|larger|higher|more) than) (?:the )?(?:model(?:'s)? |allowed )?"
            r"(?:maximum|max|limit)(?: (?:\w+ ){0,2}(?:of|is))?"
            r"|above the (?:limit|maximum) of)\W{0,3}(?:\w+ )?"
            rf"{QUOTES}{_NUMBER}",
            rf"{_LIMIT} (?:must|should) be (?P<value>less than \d{{1,7}})\b",
            rf"{_LIMIT}[^;]{{0,40}}\b(?:maximum|limit)(?: (?:allowed )?value)? is {QUOTES}{_NUMBER}",
            rf"{_LIMIT}[^;\[]{{0,40}}[\[(]\d{{1,4}}, ?{_NUMBER}[\])]",
            rf"{_LIMIT}[^;]{{0,40}}?\d{{1,7}} ?> ?{_NUMBER}",
            rf"\bmaximum (?:allowed )?(?:value )?(?:for|of) {QUOTES}{_LIMIT}{QUOTES} is {_NUMBER}",
            rf"\bmaximum of {_NUMBER} {QUOTES}{_LIMIT}",
            rf"\bmaximum tokens you requested exceeds the model limit of {_NUMBER}",
            rf"{_LIMIT}[^;]{{0,80}}\brange is from 1 \(inclusive\) to (?P<value>\d{{1,7}} \(exclusive\))",
            rf"\bmaximum (?:output|completion) (?:is|of) {_NUMBER} tokens\b[^.;]{{0,16}}{_LIMIT}",
            rf"{_LIMIT}[^;]{{0,16}}(?:最大|不能超过)[^\d;]{{0,8}}{_NUMBER}",
        ),
        said(
            """
            vLLM 422: max_tokens: Input should be less than or equal to 8192
            OpenAI 400: max_tokens is too large: 128000. This model supports at most 8192 completion tokens, whereas you provided 128000.
            Groq 400: `max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens` is less than the `context_window` for this model
            """
        ),
        unless=_CONTEXT,
    ),
    Row(
        ReasoningEffortUnknown,
        words(
            rf"(?<![a-z])(?:effort|(?<!verbosity )(?<!detail )(?<!log )level|reasoning value)s?\b[^;]{{0,160}}?(?:; )?\b(?:(?:supported|valid|allowed|possible|"
            rf"accepted) {_LISTED}|should be|must be(?: one of| in)?|one of|choose from|expected|allowed:?|supported:"
            rf"|only|(?<!not )supports?(?: only)?)\W{{0,6}}(?P<value>{_LEVEL}(?:(?:\W{{1,6}}|,? (?:and|or) ){_LEVEL})*)",
        ),
        said(
            """
            OpenAI 400: reasoning_effort: Invalid value: 'max'. Supported values are: 'low', 'medium', and 'high'.
            SGLang 400: {'type': 'literal_error', 'loc': ('body', 'reasoning_effort'), 'msg': "Input should be 'low', 'medium' or 'high'"}
            CLIProxyAPI 400: level "max" not supported, valid levels: low, medium, high
            """
        ),
    ),
    Row(
        ReasoningEffortUnknown,
        words(
            r"\breasoning is mandatory\b[^.;]{0,40}\bcannot be disabled\b",
            r"\bbudget 0 is invalid\. this model only works in thinking mode\b",
        ),
        said(
            """
            OpenRouter 400: Reasoning is mandatory for this endpoint and cannot be disabled.
            Gemini 400: Budget 0 is invalid. This model only works in thinking mode.
            """
        ),
        value=MANDATORY,
    ),
    Row(
        TemperatureOutOfRange,
        words(
            rf"\btemperature{QUOTES}\b[^;]{{0,60}}?\bonly (?:the default |be set to )?\(?"
            rf"{_FIGURE}(?:\)|\b)",
            rf"\btemperature{QUOTES}\b[^;]{{0,40}}?(?:between|range|in|within|from|expected)"
            r"(?: of| is)?\W{1,4}(?P<value>\d(?:\.\d{1,3})?\W{1,3}(?:and |to )?"
            r"\d(?:\.\d{1,3})?)\b",
            rf"\btemperature{QUOTES}\b[^;]{{0,60}}?(?:\bless than or equal to|\bat most|<=)"
            rf" {QUOTES}{_FIGURE}\b",
            rf"\btemperature{QUOTES} must be (?:(?:set|equal) to )?{_FIGURE}(?! (?:or|to|and)\b)\b",
            rf"\bonly supports? {QUOTES}temperature{QUOTES} ?[=:]? ?{QUOTES}{_FIGURE}\b",
            rf"\btemperature{QUOTES}[^;]{{0,8}}范围为?\W{{0,4}}(?P<value>\d(?:\.\d{{1,3}})?\W{{1,3}}"
            r"\d(?:\.\d{1,3})?)",
        ),
        said(
            """
            Kimi 400: invalid temperature: only 1 is allowed for this model
            OpenAI 400: Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.
            Anthropic 400: temperature: Input should be less than or equal to 1
            """
        ),
    ),
    Row(
        TemperatureOutOfRange,
        words(rf"\btemperature{QUOTES} is deprecated for this model\b"),
        said(
            """
            Bedrock 400: `temperature` is deprecated for this model.
            """
        ),
        value="1",
    ),
    Row(
        ResponseFormatRefused,
        words(
            rf"\bresponse_format(?:\.type {QUOTES}json_schema{QUOTES}| type) is unavailable\b"
        ),
        said(
            """
            DeepSeek 400: This response_format type is unavailable now
            """
        ),
        value=OBJECT,
    ),
    Row(
        ResponseFormatRefused,
        words(rf"\bresponse_format\.type{QUOTES} must be {QUOTES}json_schema\b"),
        said(
            """
            LM Studio 400: 'response_format.type' must be 'json_schema' or 'text'
            """
        ),
        value=SCHEMA,
    ),
    Row(
        ResponseFormatRefused,
        words(r"\b(?:function calling|tool use) with a response mime type\b"),
        said(
            """
            Gemini 400: Function calling with a response mime type: 'application/json' is unsupported
            Vertex 400: Tool use with a response mime type: 'application/json' is unsupported
            """
        ),
        value=WORDS,
    ),
    Row(
        ToolChoiceRefused,
        words(rf"\binvalid tool_choice type: {QUOTES}object\b"),
        said(
            """
            LM Studio 400: Invalid tool_choice type: 'object'. Supported string values: none, auto, required
            """
        ),
    ),
    Row(
        ToolNameRepeated,
        words(r"\btool names must be unique\b"),
        said(
            """
            DeepSeek 400: Tool names must be unique.
            """
        ),
    ),
    Row(
        ToolSchemaRefused,
        words(
            rf"\bunknown name {QUOTES}(?!type\b)(?P<value>[a-zA-Z$]{{1,40}}){QUOTES} at "
            rf"{QUOTES}[\w.\[\]]{{0,40}}(?:tools|function_declarations)\b",
        ),
        said(
            """
            Gemini 400: Invalid JSON payload received. Unknown name "propertyNames" at 'request.tools[0].function_declarations[0].parameters': Cannot find field.
            """
        ),
    ),
    Row(
        ToolSchemaRefused,
        words(
            rf"\b(?:schema|parameters)\b[^;]{{0,160}}?{QUOTES}(?P<value>[a-zA-Z$]{{1,40}}){QUOTES} "
            r"(?:keyword )?is not (?:permitted|supported|allowed)\b",
            rf"\bschema\b[^;]{{0,60}}?\bunsupported (?:field|property):? {QUOTES}"
            rf"(?P<value>[a-zA-Z$]{{1,40}})\b",
            rf"\bschema\b[^;]{{0,120}}?\b(?:unsupported )?keyword:? {QUOTES}"
            rf"(?P<value>[a-zA-Z$]{{1,40}})\b",
        ),
        said(
            """
            OpenAI 400: Invalid schema for function 'f': In context=('properties', 'a'), 'propertyNames' is not permitted.
            """
        ),
    ),
    Row(
        ToolSchemaRefused,
        words(
            r"\bunrecognized schema: true\b",
            r"\bjson schema\b[^;]{0,200}\bproperty schema for \S+ must be an object\b",
        ),
        said(
            """
            llama.cpp 500: JSON schema conversion failed: Unrecognized schema: true
            Kimi 400: tools.function.parameters is not a valid moonshot flavored json schema, details: <At path 'properties.a': property schema for 'b' must be an object>
            """
        ),
        value=BOOLEAN,
    ),
    Row(
        ToolSchemaRefused,
        words(
            r"\bjson schema\b[^;]{0,120}\btype is not defined\b",
            r"\bdidn't specify the schema type\b",
        ),
        said(
            """
            Kimi 400: tools.function.parameters is not a valid moonshot flavored json schema, details: <At path 'properties.a': type is not defined>
            """
        ),
        value=TYPE,
    ),
    Row(
        ToolSchemaRefused,
        words(
            rf"\bparameters{QUOTES} (?:(?:is|are) (?:empty|missing|required)|not found)\b",
            rf"\b(?:input_schema|parameters){QUOTES}(?:\.type)?:? (?:is |field )?required\b",
            rf"\bmissing field {QUOTES}(?:parameters|input_schema)\b|\bschema should be of type object\b",
            rf"\bgot {QUOTES}type: null\b|\bNone is not valid under any of the given schemas\b",
        ),
        said(
            """
            MiniMax 400: invalid params, function parameters is empty (2013)
            llama.cpp 500: [json.exception.out_of_range.403] key 'parameters' not found
            DeepSeek 400: Invalid schema for function 'f': schema must be a JSON Schema of 'type: "object"', got 'type: null'.
            """
        ),
        value=NO_SCHEMA,
    ),
    Row(
        ToolSchemaRefused,
        words(r"\bunknown name \W{1,4}type\b[^;]{0,160}\bcannot start list\b"),
        said(
            """
            Gemini 400: Invalid JSON payload received. Unknown name "type" at 'tools[0].function_declarations[0].parameters.properties[0].value': Proto field is not repeating, cannot start list.
            """
        ),
        value=TYPES,
    ),
    Row(
        ToolSchemaRefused,
        words(r"\bparameters\b\S{0,200}\.items: missing field\b"),
        said(
            """
            Gemini 400: * GenerateContentRequest.tools[0].function_declarations[0].parameters.properties[a].items: missing field.
            """
        ),
        value=ITEMS,
    ),
    Row(
        ToolSchemaRefused,
        words(
            r"\benum\[\d{1,4}\]\W{1,3} \(type_string\)",
            r"\benum: only allowed for string\b",
        ),
        said(
            """
            Gemini 400: Invalid value at 'request.tools[0].function_declarations[0].parameters.properties[0].value.enum[0]' (TYPE_STRING), 2
            Gemini 400: * GenerateContentRequest.tools[0].function_declarations[0].parameters.properties[a].enum: only allowed for STRING type
            """
        ),
        value=ENUM,
    ),
    Row(
        ToolSchemaRefused,
        words(r"\bparameters\b\S{0,200}\.format: only\b"),
        said(
            """
            Gemini 400: * GenerateContentRequest.tools[0].function_declarations[93].parameters.properties[links].items.properties[url].format: only 'enum' and 'date-time' are supported for STRING type
            """
        ),
        value="format",
    ),
    Row(
        ToolSchemaRefused,
        words(
            r"\brequired property \S{1,80} is not defined in properties\b",
            r"\bparameters(?:\.[\w.\[\]]{1,80})?\.required\[\d{1,3}\]: property is not defined\b",
        ),
        said(
            """
            Kimi 400: tools.function.parameters is not a valid moonshot flavored json schema, details: <At path 'properties.a.items.required': required property 'b' is not defined in properties>
            Gemini 400: GenerateContentRequest.tools[0].function_declarations[0].parameters.required[0]: property is not defined
            """
        ),
        value=REQUIRED,
    ),
    Row(
        ToolSchemaRefused,
        words(r"\boneof\b[^;]{0,60}\banyof\b[^;]{0,40} at the top level\b"),
        said(
            """
            Anthropic 400: tools.0.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level
            OpenAI 400: Invalid schema for function 'f': schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level.
            """
        ),
        value=TOP,
    ),
    Row(
        ToolSchemaRefused,
        words(r"\bwhen using anyof, type should be defined in anyof items\b"),
        said(
            """
            Kimi 400: tools.function.parameters is not a valid moonshot flavored json schema, details: <At path 'root': when using anyOf, type should be defined in anyOf items instead of the parent schema>
            """
        ),
        value=ANY_OF,
    ),
    Row(
        ToolSchemaRefused,
        words(
            r"\bconflicting keywords found after \$ref expansion\b",
            r"\bwhen using \$ref, type should be defined in the referenced schema\b",
        ),
        said(
            """
            Kimi 400: tools.function.parameters is not a valid moonshot flavored json schema, details: <At path 'properties.a': conflicting keywords found after $ref expansion: description>
            """
        ),
        value=REFERENCE,
    ),
    Row(
        ToolSchemaRefused,
        words(
            r"\bfailed to (?:parse|initialize) grammar\b", r"\bpattern must start with"
        ),
        said(
            """
            llama.cpp 400: Failed to parse grammar
            llama.cpp 500: JSON schema: Pattern must start with '^' and end with '$'
            """
        ),
        value="pattern",
    ),
    Row(
        ThinkingFormRefused,
        words(
            rf"\bthinking\.type\.enabled{QUOTES} is not supported\b",
            rf"\buse {QUOTES}(?:thinking\.type\.)?adaptive{QUOTES} (?:thinking )?instead\b",
        ),
        said(
            """
            Anthropic 400: "thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.
            """
        ),
        value=ADAPTIVE,
    ),
    Row(
        ThinkingFormRefused,
        words(
            rf"\bthinking\b[^;]{{0,24}}{QUOTES}adaptive{QUOTES} found using\b",
            rf"\badaptive{QUOTES} thinking (?:is|are) not supported\b",
            rf"\bthinking\W{{1,6}}type\b[^;]{{0,40}}\binput should be {QUOTES}(?:enabled|disabled)"
            rf"{QUOTES} or {QUOTES}(?:enabled|disabled){QUOTES}(?!,| or)",
        ),
        said(
            """
            Bedrock 400: thinking: Input tag 'adaptive' found using 'type' does not match any of the expected tags: 'disabled', 'enabled'
            Anthropic 400: adaptive thinking is not supported on this model
            """
        ),
        value=ENABLED,
    ),
    Row(
        ThinkingRefused,
        words(
            rf"\bthinking{QUOTES}(?: mode)? does not support (?:this |a )?{QUOTES}tool_choice\b",
            rf"\btool_choice{QUOTES} [^;]{{0,60}}\b(?:incompatible|cannot be used) with thinking\b",
            rf"\btool_choice{QUOTES} must be {QUOTES}auto{QUOTES} (?:when|if|with) thinking\b",
            rf"\bthinking{QUOTES} (?:may|can) ?not be enabled when {QUOTES}tool_choice\b",
        ),
        said(
            """
            DeepSeek 400: Thinking mode does not support this tool_choice
            Kimi 400: tool_choice 'specified' is incompatible with thinking enabled
            """
        ),
        value=DISABLED,
    ),
    Row(
        ThinkingRefused,
        words(
            rf"\btool_choice{QUOTES} parameter does not support being set to \w+(?: or \w+)?"
            r" in thinking mode\b"
        ),
        said(
            """
            DashScope 400: <400> InternalError.Algo.InvalidParameter: The tool_choice parameter does not support being set to required or object in thinking mode
            """
        ),
        value=ENABLE,
    ),
    Row(
        ThinkingRefused,
        words(r"\bprefill is (?:incompatible|not compatible) with enable_thinking\b"),
        said(
            """
            llama.cpp 400: Assistant response prefill is incompatible with enable_thinking.
            """
        ),
        value=TEMPLATE,
    ),
    Row(
        ThinkingRefused,
        words(
            r"\benable_thinking must be (?:set to )?false for non-?streaming\b",
            rf"\benable thinking can ?not be support(?:ed)? when {QUOTES}stream=false\b",
        ),
        said(
            """
            DashScope 400: parameter.enable_thinking must be set to false for non-streaming calls
            ModelScope 400: enable thinking can not be support when `stream=False`.
            """
        ),
        value=BODY,
    ),
    Row(
        ThinkingRefused,
        words(
            rf"\bthink value {QUOTES}\w{{1,20}}{QUOTES} is not supported\b",
            r"\bdoes not support thinking(?![\w-]|,? \w)",
            r"\bthinking level is not supported for this model\b",
        ),
        said(
            """
            Ollama 400: think value "medium" is not supported for this model
            Ollama 400: "gemma3:27b" does not support thinking
            Gemini 400: Thinking level is not supported for this model.
            """
        ),
        value=UNABLE,
    ),
    Row(
        ThinkingRefused,
        words(rf"\bto avoid this requirement, disable {QUOTES}thinking\b"),
        said(
            """
            Anthropic 400: messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks). To avoid this requirement, disable `thinking`.
            """
        ),
        value=CALLED,
    ),
)
