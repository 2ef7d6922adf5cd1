"""The tools that the MCP conformance suite asks of every server.

Owns:     what each answers, and what it asks of its client.
Not here: sessions, the running of the suite (conformance.py).
Source:   @modelcontextprotocol/conformance 0.1.16, the description of each scenario.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal, Protocol, TypeAlias, cast

import msgspec

from agent_ide.errors import ToolError
from agent_ide.transports.pushes import Pushes
from agent_ide.wire import jsonrpc
from agent_ide.wire.mcp import Content, ImageContent, TextContent, ToolCall, ToolResult
from agent_ide.wire.toolspec import NoArguments, ToolSpec

__all__ = ["TOOLS", "Client"]

STEP_S = 0.05
"""What the suite asks a tool to let pass between its reports."""


class Client(Protocol):
    """Who calls a tool.

    tokens: of calls that want to hear of their progress.
    """

    tokens: dict[jsonrpc.RawId, object]
    pushed: Pushes

    async def ask(self, method: str, params: Mapping[str, Any]) -> Any:
        """Ask the client for something; its result."""


Tool: TypeAlias = Callable[[Client, ToolCall], Awaitable[ToolResult]]

TOOLS: dict[str, tuple[ToolSpec, Tool]] = {}
"""All of them, by name."""


class AudioContent(msgspec.Struct, frozen=True, rename="camel"):
    """A block that no tool of the product has."""

    data: str
    mime_type: str
    type: Literal["audio"] = "audio"


class ResourceContent(msgspec.Struct, frozen=True):
    """A block that no tool of the product has."""

    resource: dict[str, str]
    type: Literal["resource"] = "resource"


class PromptArguments(msgspec.Struct):
    prompt: str


class MessageArguments(msgspec.Struct):
    message: str


def tool(
    name: str,
    arguments: type[msgspec.Struct] = NoArguments,
    properties: Mapping[str, Mapping[str, Any]] | None = None,
    extras: Mapping[str, Any] | None = None,
) -> Callable[[Tool], Tool]:
    """Register a tool; its parameters are texts unless `properties` says otherwise."""
    if properties is None:
        names = (field.name for field in msgspec.structs.fields(arguments))
        properties = {name: {"type": "string"} for name in names}
    description = f"The suite's {name}"
    spec = ToolSpec(name, description, arguments, properties, schema_extras=extras or {})

    def register(run: Tool) -> Tool:
        TOOLS[name] = (spec, run)
        return run

    return register


# one red pixel, and no sound at all
PNG = ImageContent(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==",
    "image/png",
)
WAV = AudioContent("UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=", "audio/wav")


def resource(uri: str, kind: str, text: str) -> ResourceContent:
    return ResourceContent({"uri": uri, "mimeType": kind, "text": text})


def blocks(*content: object) -> ToolResult:
    return ToolResult(cast(tuple[Content, ...], content))


@tool("test_simple_text")
async def simple_text(_: Client, __: ToolCall) -> ToolResult:
    return ToolResult.of_text("This is a simple text response for testing.")


@tool("test_image_content")
async def image(_: Client, __: ToolCall) -> ToolResult:
    return blocks(PNG)


@tool("test_audio_content")
async def audio(_: Client, __: ToolCall) -> ToolResult:
    return blocks(WAV)


@tool("test_embedded_resource")
async def embedded(_: Client, __: ToolCall) -> ToolResult:
    text = "This is an embedded resource content."
    return blocks(resource("test://embedded-resource", "text/plain", text))


@tool("test_multiple_content_types")
async def mixed(_: Client, __: ToolCall) -> ToolResult:
    data = resource("test://mixed-content-resource", "application/json", '{"test":"data"}')
    return blocks(TextContent("Multiple content types test:"), PNG, data)


@tool("test_error_handling")
async def fails(_: Client, __: ToolCall) -> ToolResult:
    raise ToolError("This tool intentionally returns an error for testing")


@tool("test_tool_with_progress")
async def progress(client: Client, call: ToolCall) -> ToolResult:
    for done in (0, 50, 100):
        params = {"progressToken": client.tokens[call.id], "progress": done, "total": 100}
        client.pushed.post(jsonrpc.encode_notification("notifications/progress", params))
        # not to wait for something: the suite asks for it
        await asyncio.sleep(STEP_S)
    return ToolResult.of_text("Done.")


@tool("test_sampling", PromptArguments)
async def sampling(client: Client, call: ToolCall) -> ToolResult:
    text = {"type": "text", "text": cast(PromptArguments, call.arguments).prompt}
    params = {"messages": [{"role": "user", "content": text}], "maxTokens": 100}
    said = await client.ask("sampling/createMessage", params)
    return ToolResult.of_text(f"LLM response: {said['content']['text']}")


def schema(**properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": []}


async def elicit(client: Client, message: str, wanted: dict[str, Any]) -> ToolResult:
    params = {"message": message, "requestedSchema": wanted}
    said = await client.ask("elicitation/create", params)
    return ToolResult.of_text(f"User response: {said['action']}, {said.get('content')}")


@tool("test_elicitation", MessageArguments)
async def elicitation(client: Client, call: ToolCall) -> ToolResult:
    wanted = schema(username={"type": "string"}, email={"type": "string"})
    return await elicit(client, cast(MessageArguments, call.arguments).message, wanted)


@tool("test_elicitation_sep1034_defaults")
async def defaults(client: Client, _: ToolCall) -> ToolResult:
    states = ["active", "inactive", "pending"]
    wanted = schema(
        name={"type": "string", "default": "John Doe"},
        age={"type": "integer", "default": 30},
        score={"type": "number", "default": 95.5},
        status={"type": "string", "enum": states, "default": "active"},
        verified={"type": "boolean", "default": True},
    )
    return await elicit(client, "Defaults", wanted)


@tool("test_elicitation_sep1330_enums")
async def enums(client: Client, _: ToolCall) -> ToolResult:
    plain = ["option1", "option2", "option3"]
    legacy, names = ["opt1", "opt2", "opt3"], ["Option One", "Option Two", "Option Three"]
    titled = [{"const": f"value{n}", "title": f"Option {n}"} for n in (1, 2, 3)]
    wanted = schema(
        untitledSingle={"type": "string", "enum": plain},
        titledSingle={"type": "string", "oneOf": titled},
        legacyEnum={"type": "string", "enum": legacy, "enumNames": names},
        untitledMulti={"type": "array", "items": {"type": "string", "enum": plain}},
        titledMulti={"type": "array", "items": {"anyOf": titled}},
    )
    return await elicit(client, "Choices", wanted)


ADDRESS = {
    "type": "object",
    "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
}


@tool(
    "json_schema_2020_12_tool",
    properties={"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
    extras={
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$defs": {"address": ADDRESS},
        "additionalProperties": False,
    },
)
async def listed_only(_: Client, __: ToolCall) -> ToolResult:
    return ToolResult.of_text("Called.")
