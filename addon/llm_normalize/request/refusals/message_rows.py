"""What providers say against messages: their order, their content, what they lack.

Of images, files and recordings: what they say of a model that reads text alone.
"""

from ..adaptations.attachments import AttachmentRefused
from ..adaptations.messages import (
    USER_FIRST,
    AnswerLast,
    MessageEmpty,
    MessageReasoningMissing,
    RolesNotAlternating,
    UserAfterTool,
)
from ..adaptations.system_messages import (
    SystemMessageLate,
    SystemMessageRefused,
    SystemMessageUnsupported,
)
from ..adaptations.tool_calls import (
    ThoughtSignatureMissing,
    ToolCallArgumentsRefused,
    ToolCallIdDuplicated,
    ToolCallIdRefused,
    ToolCallsParallel,
    ToolNameMissing,
)
from .refusal_row import QUOTES, Row, Said, said, words

_INSTRUCTIONS = r"(?:system|developer)"
_MUST = r"(?:must|should|has to|have to|needs? to|can|may|is|are)(?: only)?"

_SUPPORT = r"(?:support|accept|handle|see|allow|take|understand)(?:s|ed|ing)?"
_INPUT = (
    r"(?:[ _-](?:inputs?|contents?|parts?|types?|understanding|urls?|modality)){0,2}"
)


def _attachment_row(kind: str, value: str, words_said: tuple[Said, ...]) -> Row:
    """The row of what is called *kind*, a pattern, and *value* in a request."""
    return Row(
        AttachmentRefused,
        words(
            rf"(?:\bnot|n't|\bcannot) (?:currently |yet )?{_SUPPORT}(?: \w+){{0,2}}? {QUOTES}{kind}\b",
            rf"(?:\bnot|n't|\bcannot) (?:process|read) {kind}s\b",
            rf"\b{kind}{_INPUT}{QUOTES} (?:is|are) (?:currently )?"
            r"(?:not (?:currently |yet )?(?:supported|enabled|available|allowed|accepted|permitted)"
            r"|only supported|unsupported|disabled)\b",
            rf"\b{kind}{_INPUT}{QUOTES} (?:not supported|unsupported)\b",
            r"\b(?:unknown|unsupported|invalid|unexpected|unrecognized)"
            r"(?: (?:content|message|input))?(?: part)? (?:types?|variant|part|kind|modality)"
            rf"\W{{1,4}}(?:of )?{QUOTES}{kind}\b",
            rf"\bat most 0 {kind}",
            rf"\bfound that supports? {kind}\b",
            rf"\b(?:data|file|projector|mmproj)s? required for {kind}{_INPUT}\b",
            rf"不支持[^。;]{{0,6}}{kind}",
        ),
        words_said,
        value=value,
    )


MESSAGE_ROWS: tuple[Row, ...] = (
    Row(
        SystemMessageLate,
        words(
            rf"\b{_INSTRUCTIONS}{QUOTES}(?:(?: (?:role|prompt|instruction|message)s?{QUOTES})"
            rf"{{1,2}}[^.;]{{0,20}}?\b{_MUST}\b|[^.;]{{0,4}} (?:must|should|has to|(?:may|can) only)\b)"
            r"[^.;]{0,30}?\b(?:beginning|start|first|front|top|position 0|index 0|precede|before any)\b",
            r"\b(?:only the )?first message (?:in the \w+ )?(?:can|may|must|should|has to) (?:be|have)"
            r"\b[^.;]{0,16}\bsystem\b",
            r"\b(?:only|at most|exactly|not support)(?: have| be| accept)? (?:one|a single|1)"
            rf" (?:leading )?{QUOTES}system{QUOTES} (?:message|prompt|role)",
            rf"\b(?:multiple|several|duplicate|additional|consecutive|more than one) {QUOTES}"
            rf"system{QUOTES} (?:message|prompt|role)s?\b",
            rf"\bsystem{QUOTES} (?:role )?(?:message|prompt)s?\b[^.;]{{0,16}}\bonly once\b",
            rf"\bunexpected role {QUOTES}system{QUOTES} after role\b",
            rf"\bsystem{QUOTES} (?:message|role)s? (?:is |are )?"
            r"(?:not at the|only at the|after|not (?:allowed|supported) in the middle)",
            r"\binvalid chat setting\b",
            r"(?:(?<![a-z])system|系统) ?(?:消息|角色|提示)?[^。;]{0,12}(?:最前|最开始|开头|首|第一)",
        ),
        said(
            r"""
            vLLM 400: System message must be at the beginning.
            llama.cpp 500: While executing CallExpression at line 85, column 32 in source:\n{{- raise_exception('System message must be at the beginnin...\nError: Jinja Exception: System message must be at the beginning.
            Ollama 500: system message must be at the beginning
            """
        ),
    ),
    Row(
        SystemMessageRefused,
        words(
            r"\bmessages\W{1,3}\d{1,6}\W{1,4}role\b[^;]{0,60}'user'(?: or|,| \|) 'assistant'(?!,| \|)",
            rf"\bunexpected role {QUOTES}(?:system|developer){QUOTES}\. the messages api\b",
            rf"\bunknown variant {QUOTES}{_INSTRUCTIONS}{QUOTES}, expected (?:one of )?{QUOTES}user"
            rf"{QUOTES}(?: or|,) {QUOTES}assistant\b{QUOTES}(?!,)",
            rf"(?:不支持|\b(?:unsupported|invalid|unknown)) ?role\W{{1,6}}{_INSTRUCTIONS}\b(?! messages?\b)",
            r"\binvalid_value\W{1,4}messages\W{1,4}\d{0,6}\W{1,4}role\b",
        ),
        said(
            """
            vLLM 400: [{'type': 'literal_error', 'loc': ('body', 'messages', 3, 'role'), 'msg': "Input should be 'user' or 'assistant'"}]
            Anthropic 400: messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter, not "system" as an input message role.
            Ollama 400: unknown variant 'system', expected 'user' or 'assistant'
            """
        ),
    ),
    Row(
        SystemMessageUnsupported,
        words(
            r"\bdeveloper instructions? (?:is|are) not (?:enabled|supported)\b",
            rf"\bsystem{QUOTES} role{QUOTES} (?:is )?not supported\b",
            rf"(?:\bnot|n't) support (?:the )?{QUOTES}system{QUOTES} (?:messages?|prompts?|instructions?|roles?)"
            r"(?! (?:caching|after|before|between|in |longer|from|with (?!this)))",
            rf"\brole{QUOTES} does not support {QUOTES}system\b",
        ),
        said(
            """
            Gemini 400: Developer instruction is not enabled for models/gemma-3-27b-it
            vLLM 400: System role not supported
            Bedrock 400: This model doesn't support system messages. Try again without a system message or use a model that supports system messages.
            """
        ),
    ),
    Row(
        AnswerLast,
        words(
            r"\b(?:conversation|last message(?: of \S{1,60})?) must (?:end with|be|have)(?: an?)? (?:role )?"
            rf"{QUOTES}user\b",
            r"\bnot support assistant (?:message )?prefill\b|\bexpected last role user\b",
            rf"\blast message\b[^;]{{0,40}}\b(?:must|cannot|can't|may) not (?:be|come)(?: from)? (?:the |an? )?"
            rf"{QUOTES}assistant\b",
        ),
        said(
            """
            Anthropic 400: This model does not support assistant message prefill. The conversation must end with a user message.
            Mistral 400: Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant
            DeepSeek 400: The last message of deepseek-reasoner must be a user message, or an assistant message with prefix mode on
            """
        ),
    ),
    Row(
        RolesNotAlternating,
        words(
            r"\bfunction call turn comes immediately after\b",
            r"\b(?:roles?|messages|requests|user|conversation)\b[^.;]{0,40}\balternat(?:e|ely|ing)\b",
            rf"\balternating (?:between )?{QUOTES}(?:user|roles)\b",
            rf"\b(?:multiple|several|two) {QUOTES}(?:user|assistant){QUOTES} (?:roles|messages|turns) in a row\b",
            r"\b(?:consecutive|successive|adjacent)\b[^.;]{0,24}\b(?:user|assistant|same role)\b",
            rf"\b(?:2|two) or more {QUOTES}(?:user|assistant){QUOTES} messages\b",
            rf"\b(?:user|assistant|same role){QUOTES}[^.;]{{0,24}}\b(?:cannot|can't|must not"
            r"|may not) (?:directly )?follow (?:each|one) (?:an)?other\b",
            rf"\bunexpected role {QUOTES}(\w+){QUOTES} after role {QUOTES}\1\b",
            rf"\b(user|assistant){QUOTES} (?:\w+ be )?followed by (?:role )?{QUOTES}\1\b",
            r"(?:角色|消息|user)[^。;]{0,20}交替",
        ),
        said(
            """
            vLLM 400: Conversation roles must alternate user/assistant/user/assistant/...
            Anthropic 400: messages: roles must alternate between "user" and "assistant", but found multiple "assistant" roles in a row
            Bedrock 400: A conversation must alternate between user and assistant roles.
            """
        ),
    ),
    Row(
        RolesNotAlternating,
        words(
            r"\bno user (?:query|messages?) found\b|\bcontents (?:is not specified|field is required)\b",
            r"\bmust (?:start|begin) with (?:an? )?user\b",
        ),
        said(
            """
            vLLM 400: No user query found in messages.
            Gemini 400: * GenerateContentRequest.contents: contents is not specified
            Bedrock 400: A conversation must start with a user message. Try again with a conversation that starts with a user message.
            """
        ),
        value=USER_FIRST,
    ),
    Row(
        UserAfterTool,
        words(
            rf"\bunexpected role {QUOTES}user{QUOTES} after role {QUOTES}tool\b",
            rf"\bexpected role {QUOTES}assistant{QUOTES} after (?:role )?{QUOTES}tool\b",
            rf"\b{QUOTES}user{QUOTES} messages? (?:cannot|can't|must not|may not|is not allowed to) "
            rf"(?:directly )?(?:follow|come after|be sent after) (?:a )?{QUOTES}tool\b",
            rf"\b{QUOTES}tool{QUOTES} messages? (?:cannot|can't|must not|may not) be followed by (?:a )?"
            rf"{QUOTES}user\b",
            rf"\b{QUOTES}user{QUOTES} messages? after (?:a )?{QUOTES}tool{QUOTES}"
            r"(?: (?:message|result|role)s?)? (?:is|are) not\b",
            rf"\bafter (?:a )?{QUOTES}tool{QUOTES} (?:message|result|role)s?,? (?:an )?"
            rf"{QUOTES}assistant{QUOTES} (?:message )?(?:is expected|must follow)",
        ),
        said(
            """
            Mistral 400: Unexpected role 'user' after role 'tool'
            """
        ),
    ),
    Row(
        MessageEmpty,
        words(
            r"\b(?:message(?! queue)|messages(?! \w*(?: not|not|n't) be)|content(?: blocks?)?"
            r"|contents?\.parts)\b[^;,\n]{0,80}"
            r"\b(?<!name )(?:must not|cannot|can not|can't|should not|may not) be (?:an )?(?:empty|blank)\b",
            r"\b(?:messages?|content(?: blocks?)?)\b[^;\n]{0,40}\b(?:must|should) "
            r"(?:be (?:a )?non-?empty|have non-?empty|contain non-whitespace)\b",
            r"(?<!response )(?<!file )(?<!document )\b(?:message|content|text field)\b[^;\n]{0,60}"
            r"\b(?<!parameters )(?:is|has|have) (?:an )?(?:empty|blank)\b",
            r"(?<!returned )(?<!returned an )\b(?:empty|blank) (?:message )?content\b",
            r"\bcontent\b[^;\n]{0,40}\b(?:at least 1 character|minimum length of 1)\b",
            r"\bassistant messages? (?:must|should) (?:have|contain)(?: either)? content or "
            r"tool[_ ]calls\b(?!,? but not both)|\bneither content nor tool_calls\b",
            rf"\bcontent{QUOTES} or {QUOTES}tool[_ ]calls{QUOTES} (?:must|should|has to) be "
            r"(?:set|provided|present|specified)\b",
            r"\bmessages? must (?:have at least one content|be at least 1 token)\b",
            r"\bmust (?:have a text parameter|include at least one parts field)\b",
            r"\bcontent\.\d{1,4}\.text(?:\.text)?: field required\b",
            r"\b(?:empty|blank) (?:assistant|tool) messages?\b[^.;]{0,24}\b(?:not|un\w+)",
            r"(?:消息|内容|\bcontent)[^。;]{0,8}不能为空",
        ),
        said(
            """
            Kimi 400: Invalid request: the message at position 1 with role 'assistant' must not be empty
            Anthropic 400: messages.11: all messages must have non-empty content except for the optional final assistant message
            Anthropic 400: messages: text content blocks must be non-empty
            """
        ),
    ),
    Row(
        ToolCallIdDuplicated,
        words(
            rf"\b(?:call|tool_use{QUOTES})[ _]ids?\b[^;]{{0,60}}\b(?:duplicate|must be unique|not unique)",
        ),
        said(
            """
            Kimi 400: Invalid request: tool call id write:0 is duplicated
            Anthropic 400: messages.1.content.1: `tool_use` ids must be unique
            """
        ),
    ),
    Row(
        ToolCallIdRefused,
        words(
            r"\b(?:tool[ _]?)?call[ _]?ids?\b[^;]{0,160}?"
            r"\b(?:length (?:of )?\d|alphanumeric|too long|max(?:imum)? length"
            r"|match(?:es)?\b(?=[^;]{0,24}(?:pattern|expression|[\^\[])))",
            rf"\btool_calls{QUOTES}[.\[]\W{{0,3}}\d{{1,4}}\W{{1,4}}id{QUOTES}\b"
            r"[^;]{0,80}?\b(?:too long|maximum length|pattern)",
            rf"\btool_(?:use|result)\.(?:tool_use_)?id{QUOTES}: string should match pattern",
            r"\btooluseid\b[^;]{0,80}\b(?:regular expression|length less)\b",
            r"\btool[ _]call[ _]ids?\b[^.;]{0,40}\b(?:nine|9) (?:alphanumeric )?"
            r"(?:characters|letters)",
        ),
        said(
            """
            Mistral 400: Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.
            oMLX 500: Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9
            OpenAI 400: Invalid 'messages[2].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a string with length 48 instead.
            """
        ),
    ),
    Row(
        ToolCallArgumentsRefused,
        words(
            rf"\barguments{QUOTES}[^;\n]{{0,48}}?\b(?:must|should|has to|have to|needs? to|(?:is|are) not)"
            r"\b[^;\n]{0,24}\b(?:json|object|dictionary)\b",
            r"\binvalid (?:json (?:in|for) )?(?:(?:tool|function)[ _-]?(?:call )?)?arguments\b",
            r"\b(?:pars|decod|deserializ|unmarshal)(?:e|ed|ing)?\b[^;\n]{0,32}\barguments\b",
            # Python's parser, and a template that finds no object
            r"\b(?:expecting |unterminated string |extra data|invalid (?:control character|\\{1,4}))"
            r"[^;\n]{0,40}: line \d{1,9} column \d{1,9} \(char \d{1,9}\)|\bitem pairs from a mapping\b",
            # a native form: Claude's, Bedrock's, Gemini's
            rf"\b(?:tool_?use{QUOTES}\.input|function_?call{QUOTES}\.args)\b[^;\n]{{0,48}}"
            r"\b(?:dictionary|object|invalid|map|struct)\b|\bexpected a valid json object\b",
        ),
        said(
            """
            DashScope 400: <400> InternalError.Algo.InvalidParameter: The "function.arguments" parameter of the code model must be in JSON format.
            MiniMax 400: invalid params, invalid function arguments json string, tool_call_id: call_function_1 (2013)
            vLLM 400: Expecting ',' delimiter: line 1 column 54 (char 53)
            """
        ),
    ),
    Row(
        ToolNameMissing,
        words(
            rf"\bfunction_?response{QUOTES}\.name\b[^;\n]{{0,32}}\b(?:empty|required|missing)\b",
            rf"\brole {QUOTES}tool{QUOTES} (?:must|should|needs? to) (?:have|contain|include) an? {QUOTES}name\b",
        ),
        said(
            """
            Gemini 400: * GenerateContentRequest.contents[2].parts[0].function_response.name: Name cannot be empty.
            a gateway 400: Missing parameter 'name': messages with role 'tool' must have a 'name'.
            """
        ),
    ),
    Row(
        ToolCallsParallel,
        words(
            r"\bsupports? (?:only )?(?:a )?(?:single|one) (?:tool|function)[ -]calls?\b",
            r"\b(?:only|exactly|at most) (?:one|a single|1) (?:tool|function)[ -]calls?\b(?! was\b)",
            r"\b(?:parallel|multiple|several|more than one) (?:tool|function)[ -]"
            r"(?:calls?|calling)\b[^.;]{0,32}\b(?:not|un\w+)\b",
            r"\b(?:not|cannot|can't|n't) (?:support|handle|make|allow) "
            r"(?:parallel|multiple|several|more than one) (?:tool|function)[ -]call",
        ),
        said(
            """
            NIM 400: This model only supports single tool-calls at once!
            NIM 500: Internal server error: This model only supports single tool-calls at once!
            """
        ),
    ),
    Row(
        MessageReasoningMissing,
        words(
            rf"\breasoning[_ ]content{QUOTES}\b[^;]{{0,60}}\b(?:must|should|has to|needs to) "
            r"(?:be (?:passed|sent|provided|included|returned|present|set)|not be empty)\b",
            rf"\breasoning_content{QUOTES}(?:: field required|(?: [\w'`-]+){{0,7}}? (?:missing|required))\b",
            r"\b(?:missing|expected|requires?|needs?|must (?:include|contain|have|carry|pass))\b[^.;]{0,24}"
            r"\breasoning_content\b",
            r"reasoning_content[^。;]{0,12}(?:缺失|必须|不能为空)|(?:回传|缺少) ?reasoning_content",
        ),
        said(
            """
            DeepSeek 400: The `reasoning_content` in the thinking mode must be passed back to the API.
            Kimi 400: thinking is enabled but reasoning_content is missing in assistant tool call message at index 13
            DeepSeek 400: Missing `reasoning_content` field in the assistant message at message index 2.
            """
        ),
    ),
    Row(
        ThoughtSignatureMissing,
        words(
            rf"\b(?:missing|lacks?|requires?|without|no|must (?:include|contain|have))\b[^.;]{{0,24}}"
            rf"{QUOTES}\bthought[_ ]?signature\b",
            rf"\bthought[_ ]?signature{QUOTES} (?:(?:is |was )?(?:missing|required|not found)"
            r"|must be (?:provided|set|included|passed))\b",
        ),
        said(
            """
            Gemini 400: Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly.
            """
        ),
    ),
    Row(
        AttachmentRefused,
        words(
            r"\bnot (?:a |an )?(?:multi-?modal|vision)\b",
            rf"(?:\bnot|n't) {_SUPPORT} (?:\w+ )?multi-?modal\b",
            r"\bmulti-?modal(?: \w+){0,2} (?:is|are) not (?:supported|enabled)\b",
            r"\btext[- ]only model\b|\bmodel\b[^.;]{0,40} is text[- ]only\b",
            r"\bonly (?:supports?|accepts?|takes?|process(?:es)?|handles?) text\b",
            r"\bsupports? (?:only text|text only)\b",
            r"不支持多模态",
        ),
        said(
            """
            vLLM 400: qwen2.5-coder is not a multimodal model
            Ollama 500: Multimodal data provided, but model does not support multimodal requests.
            a gateway 422: This is a text-only model
            """
        ),
    ),
    _attachment_row(
        r"(?:images?(?:_url)?|vision|pictures?|图)",
        "image_url",
        said(
            """
            vLLM 400: Unknown part type: image_url
            vLLM 400: At most 0 image(s) may be provided in one prompt.
            llama.cpp 500: image input is not supported - hint: if this is unexpected, you may need to provide the mmproj
            """
        ),
    ),
    _attachment_row(
        r"(?:files?|pdfs?|documents?|文件)",
        "file",
        said(
            """
            vLLM 400: Unknown part type: file
            LM Studio 400: Invalid content part type: file
            a gateway 422: This model does not support PDF input
            """
        ),
    ),
    _attachment_row(
        r"(?:audios?|input_audio|音频)",
        "input_audio",
        said(
            """
            vLLM 400: Unknown part type: input_audio
            llama.cpp 500: audio input is not supported
            """
        ),
    ),
)
