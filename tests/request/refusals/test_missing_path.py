"""Which 404 is about the path, and which about what the request names."""

import pytest

from llm_normalize.request.refusals.missing_path import is_path_missing

PATH = "/models/acme/v1/responses"


@pytest.mark.parametrize(
    "body",
    [
        "",
        "404 page not found\n",
        "<!DOCTYPE html><html><title>The model is not here</title>",
        "<h1>No model here</h1>",
        '{"detail":"Not Found"}',
        '{"detail":"Not Found","id":"r-1","request_id":"r-1"}',
        "404 page not found (request id r-1)",
        '{"error":{"message":"Not Found","param":""}}',
        '{"error":{"message":"Invalid URL (POST /v1/responses)","code":null}}',
        '{"error":{"message":"Unknown request URL: POST /openai/v1/messages."}}',
        '{"error":{"code":"404","message": "Resource not found"}}',
        '{"message":"no Route matched with those values"}',
        '{"success":false,"errors":[{"code":7000,"message":"No route for that URI"}]}',
        f'{{"error":"Cannot POST {PATH}"}}',
        '{"error":"Cannot POST \\/models\\/acme\\/v1\\/responses"}',
        '{"error":{"message":"model m is only supported in v1/chat/completions"}}',
    ],
)
def test_answer_about_nothing_in_the_request_is_about_the_path(body: str) -> None:
    assert is_path_missing(404, body.encode(), PATH, "m-70b")


@pytest.mark.parametrize(
    "body",
    [
        '{"error":{"message":"The model `x` does not exist","code":"model_not_found"}}',
        '{"type":"error","error":{"type":"not_found_error","message":"model: m-70b"}}',
        '{"error":{"message":"No endpoints found for m-70b.","code":404}}',
        '{"error":{"code":"DeploymentNotFound","message":"It does not exist."}}',
        '{"error":{"message":"Previous response with id resp_1 not found."}}',
        '{"error":{"message":"Item with id rs_1 not found."}}',
        '{"error":{"message":"Conversation not found"}}',
        '{"error":{"message":"Vector store with id [\'vs_1\'] not found."}}',
        '{"error":{"message":"Container is expired."}}',
        '{"error":{"message":"It does not exist.","param": "tools[0].file_ids"}}',
        "model not found, try pulling it first",
    ],
)
def test_answer_that_names_what_was_looked_for_is_the_clients(body: str) -> None:
    assert not is_path_missing(404, body.encode(), PATH, "m-70b")


def test_status_decides_first() -> None:
    assert is_path_missing(405, b'{"error":"model"}', PATH, "m")
    assert not is_path_missing(400, b"", PATH, "m")
    assert not is_path_missing(200, b"", PATH, "m")
    # LM Studio
    body = b'{"error":"Unexpected endpoint or method. (POST /v1/messages)"}'
    assert is_path_missing(200, body, PATH, "m")
    assert is_path_missing(404, b"not here", PATH, "")


@pytest.mark.parametrize("status", [400, 422])
@pytest.mark.parametrize(
    "body",
    [
        # vLLM, SGLang: pydantic's words and places
        "{\"error\":{\"message\":\"[{'type': 'literal_error', 'loc': ('body', 'tools', 8, 'type'), 'msg': 'Input should be ...'}]\"}}",
        '{"detail":[{"loc":["body","input",3,"type"],"msg":"Input should be \'message\'"}]}',
        '{"error":{"message":"1 validation error: Input tag \'namespace\' found using \'type\' does not match any of the expected tags"}}',
        # LM Studio, llama.cpp, Ollama, gateways
        '{"error":{"message":"Invalid discriminator value.","param":"tools[2].type"}}',
        '{"error":{"message":"\'type\' of tool must be \'function\'"}}',
        '{"error":{"message":"Unsupported tool type: custom"}}',
        '{"error":{"message":"tool type \\"namespace\\" is not supported"}}',
        '{"error":{"message":"Invalid input type: additional_tools"}}',
        '{"error":{"message":"Unknown item type \'compaction\'"}}',
        '{"error":"unknown variant `namespace`, expected `function` at line 1 column 9"}',
        '{"error":{"message":"Unsupported input type: file_search_call"}}',
        '{"error":{"message":"tools[3] has an unsupported type"}}',
        '{"detail":[{"loc":["body","tools",0,"FunctionTool","type"],"msg":"Input should be \'function\'"}]}',
        "{\"error\":{\"message\":\"{'type': 'missing', 'loc': ('body', 'tools', 0, 'input_schema'), 'msg': 'Field required', 'input': {'type': 'web_search_20250305', 'max_uses': 8}}\"}}",
        '{"error":{"code":400,"message":"Output of tool call should be \'Input text\'"}}',
        '{"error":{"message":"Only function tools are supported"}}',
        '{"error":{"message":"Unsupported custom tool: \'exec\'. Only \'apply_patch\' is supported."}}',
        '{"error":{"message":"model m is not supported via Responses API.","code":"unsupported_api_for_model"}}',
        '{"error":{"message":"Responses is not supported, please use \\/v1\\/chat\\/completions instead"}}',
        # The form of the input as a whole, and calls without their outputs
        '{"error":{"message":"Invalid type for \'input\'.","type":"invalid_request_error","param":"input","code":"invalid_union"}}',
        '{"error": {"message": "Invalid input", "type": "invalid_request_error", "param": "input"}}',
        '{"error":{"message":"body -> input -> list[union[Message,ItemReference]] -> 3 -> ItemReference -> id\\n Field required"}}',
        "{\"error\":{\"message\":\"240 validation errors: {'type': 'string_type', 'loc': ('body', 'input', 'str')\"}}",
        "{\"error\":{\"message\":\"23 validation errors for ChatCompletionRequest\\nmessages.0 [input_value={'type': 'input_image', 'image_url'\"}}",
        '{"detail":[{"loc":["body","messages",1,"content","list[x]",0,"ContentBlockText","type"],"msg":"Input should be \'text\'","input":"thinking"}]}',
        '{"error":{"message":"No tool output found for tool call c1."}}',
        '{"error":{"message":"Failed to deserialize: input: missing field `call_id` at line 1 column 135167"}}',
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.",
        "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'",
    ],
)
def test_type_of_tool_or_item_that_is_refused_is_as_good_as_no_path(
    status: int, body: str
) -> None:
    assert is_path_missing(status, body.encode(), PATH, "m-70b")
    assert not is_path_missing(500, body.encode(), PATH, "m-70b")


@pytest.mark.parametrize(
    "body",
    [
        '{"error":{"message":"Unsupported parameter: \'type\'"}}',
        '{"error":{"message":"tools.0.input_schema: Field required"}}',
        '{"error":{"message":"max_output_tokens is too large"}}',
        '{"error":{"message":"Invalid schema for function \'f\': type is missing","param":"tools[0].parameters"}}',
        '{"error":{"message":"Invalid type for \'input\': expected a string or a list"}}',
        '{"error":{"message":"Unsupported content type: image"}}',
        "{\"error\":{\"message\":\"Input tag 'image' found using 'type' does not match any of the expected tags: 'text'\"}}",
        '{"error":{"message":"\'array\' is no JSON type","param":"tools[0].function.parameters.type"}}',
        '{"detail":[{"loc":["body","tools",0,"function","parameters","type"],"msg":"Input should be a string"}]}',
        '{"error":{"message":"input[3].content[1].type: unsupported image type"}}',
        '{"error":{"message":"input[3].content: image of an unknown type"}}',
        '{"error":{"message":"Unsupported input type: audio"}}',
        '{"error":{"message":"Invalid input type \'input_image\'"}}',
        '{"error":{"message":"input type image_url is not supported by this model"}}',
        '{"error":{"message":"Image input type is not supported"}}',
        '{"error":{"message":"The model does not support tools"}}',
        '{"error":{"message":"This model is only supported in v1/responses and not in v1/chat/completions."}}',
        '{"error":{"message":"1 validation error for ChatCompletionRequest\\ntemperature [input_value=5]"}}',
        '{"error":{"message":"messages.1.content.0.type: Expected `thinking`, but found `text`"}}',
        '{"error":{"message":"No tool output found for function call c1."}}',
        '{"error":{"message":"Your input exceeds the context window","code":"context_length_exceeded"}}',
        "",
    ],
)
def test_other_refusals_are_the_clients(body: str) -> None:
    assert not is_path_missing(400, body.encode(), PATH, "m-70b")
