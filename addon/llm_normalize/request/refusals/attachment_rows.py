"""What providers say of images, files and recordings for a model that reads text alone."""

from ..adaptations.messages.attachment_refused import AttachmentRefused
from .refusal_row import QUOTES, Row, Said, said, words

_SUPPORT = r"(?:support|accept|handle|see|allow|take|understand)(?:s|ed|ing)?"
_INPUT = (
    r"(?:[ _-](?:inputs?|contents?|parts?|types?|understanding|urls?|modality)){0,2}"
)


def _row(kind: str, value: str, words_said: tuple[Said, ...]) -> Row:
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


ATTACHMENT_ROWS: tuple[Row, ...] = (
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
            a gateway 400: The model only supports text input
            """
        ),
    ),
    _row(
        r"(?:images?(?:_url)?|vision|pictures?|图)",
        "image_url",
        said(
            """
            vLLM 400: Unknown part type: image_url
            vLLM 400: At most 0 image(s) may be provided in one prompt.
            llama.cpp 500: image input is not supported - hint: if this is unexpected, you may need to provide the mmproj
            OpenAI 400: Invalid content type. image_url is only supported by certain models.
            DeepSeek 400: Failed to deserialize the JSON body into the target type: messages[0]: unknown variant `image_url`, expected `text` at line 1 column 90
            OpenRouter 404: No endpoints found that support image input
            Groq 400: This model does not support image input
            LM Studio 400: Model does not support images. Use a model that does.
            Ollama 500: this model is missing data required for image input
            """
        ),
    ),
    _row(
        r"(?:files?|pdfs?|documents?|文件)",
        "file",
        said(
            """
            vLLM 400: Unknown part type: file
            LM Studio 400: Invalid content part type: file
            a gateway 422: This model does not support PDF input
            a gateway 404: No endpoints found that support file input
            """
        ),
    ),
    _row(
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
