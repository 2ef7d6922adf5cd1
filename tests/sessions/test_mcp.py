"""MCP without I/O: revisions, tools, batches, cancellation."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from agent_ide.errors import RpcError
from agent_ide.wire.mcp import (
    MAX_BATCH_REPLY_BYTES,
    Exchange,
    McpSession,
    Notified,
    ToolResult,
)
from agent_ide.wire.toolspec import ToolSet, ToolSpec


class EchoArguments(msgspec.Struct):
    text: str
    times: int = 1


TOOLS = ToolSet(
    [
        ToolSpec("echo", "Says it again", EchoArguments, {"text": {"type": "string"}}),
        ToolSpec("nothing", "Does nothing"),
    ]
)


@pytest.fixture
def session() -> McpSession:
    return McpSession(TOOLS, {"name": "test", "version": "1"}, {"tools": {}})


def message(method: str, id: object = 1, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def receive(session: McpSession, *messages: Any) -> Exchange:
    said = messages[0] if len(messages) == 1 else list(messages)
    return session.receive(session.read(json.dumps(said).encode()))


def reply(exchange: Exchange) -> Any:
    ready = exchange.ready()
    return None if ready is None else json.loads(ready)


def initialize(session: McpSession, revision: str) -> Any:
    return reply(receive(session, message("initialize", protocolVersion=revision)))


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_known_revision_is_answered_with_itself(session: McpSession, revision: str) -> None:
    assert initialize(session, revision)["result"]["protocolVersion"] == revision


@pytest.mark.parametrize("revision", ["1999-01-01", "2099-01-01", ""])
def test_unknown_revision_is_answered_with_the_newest(session: McpSession, revision: str) -> None:
    assert initialize(session, revision)["result"]["protocolVersion"] == "2025-11-25"


def test_client_is_known_after_initialize(session: McpSession) -> None:
    receive(
        session,
        message(
            "initialize", protocolVersion="2025-11-25", clientInfo={"name": "c", "version": "9"}
        ),
    )
    assert (session.client.name, session.client.version) == ("c", "9")


@pytest.mark.parametrize("params", [{}, {"protocolVersion": 1}, [1]])
def test_bad_initialize(session: McpSession, params: Any) -> None:
    bad = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    assert reply(receive(session, bad))["error"]["code"] == -32602


def test_ping_and_unknown_method(session: McpSession) -> None:
    assert reply(receive(session, message("ping", "p")))["result"] == {}
    error = reply(receive(session, message("resources/list")))["error"]
    assert (error["code"], error["message"]) == (-32601, "Method not found: resources/list")


def test_tools_list(session: McpSession) -> None:
    tools = reply(receive(session, message("tools/list")))["result"]["tools"]
    assert [tool["name"] for tool in tools] == ["echo", "nothing"]
    assert tools[0]["inputSchema"] == {
        "type": "object",
        "properties": {"text": {"type": "string"}},
        "required": ["text"],
    }


def test_call_is_answered_when_told(session: McpSession) -> None:
    exchange = receive(session, message("tools/call", 5, name="echo", arguments={"text": "é"}))
    (call,) = exchange.calls
    assert exchange.ready() is None
    assert isinstance(call.arguments, EchoArguments)
    assert call.arguments.text == "é"
    answer = exchange.answer(call, ToolResult.of_text("é"))
    assert answer is not None
    assert json.loads(answer) == {
        "jsonrpc": "2.0",
        "id": 5,
        "result": {"content": [{"type": "text", "text": "é"}]},
    }
    assert exchange.fail(call, RpcError.internal()) is None, "a call is answered once"


CALL = '"jsonrpc":"2.0","id":1,"method":"tools/call"'


@pytest.mark.parametrize(
    "members",
    [
        CALL + ',"params":{"name":"echo","arguments":{"text":"a"}}',
        ' "params" : {"arguments":{"text":"\\u00e9"},"name":"echo"} ,'
        + CALL.replace(":1,", " :\t1 ,"),
        CALL.replace("1,", "1e400,") + ',"params":{"name":"nothing","arguments":null}',
        CALL.replace("1,", "null,") + ',"params":{"name":"nothing"}',
        CALL.replace("1,", "{},") + ',"params":{"name":"nothing"}',
        CALL.replace("1,", "true,") + ',"params":{"name":"nothing"}',
        CALL.replace('"id":1,', "") + ',"params":{"name":"nothing"}',
        CALL.replace("2.0", "1.0") + ',"params":{"name":"nothing"}',
        CALL + ',"params":null',
        CALL + ',"params":[]',
        CALL,
        CALL + ',"params":{"name":"gone","arguments":{}}',
        CALL + ',"params":{"name":"echo","arguments":{"text":1}}',
        CALL + ',"params":{"name":"echo","arguments":{"text":"\\ud83d"}}',
        '"id":2,"method":"ping",' + CALL + ',"params":{"name":"nothing"}',
        CALL + ',"params":{"name":"nothing"},"result":1,"error":2',
        CALL + ',"params":{"name":"nothing"',
        CALL + ',"params":{"name":"nothing","arguments":' + "[" * 3000 + "]" * 3000 + "}",
    ],
)
def test_a_call_is_the_same_by_itself_and_in_a_batch(session: McpSession, members: str) -> None:
    """By itself it is read in one pass where it is well-formed, in a batch member by member."""
    initialize(session, "2025-03-26")
    said = ("{" + members + "}").encode()
    alone = session.receive(session.read(said))
    batched = session.receive(session.read(b"[" + said + b"]"))
    in_batch = reply(batched)
    assert reply(alone) == (in_batch[0] if isinstance(in_batch, list) else in_batch)
    assert [(call.id, call.spec.name, call.arguments) for call in alone.calls] == [
        (call.id, call.spec.name, call.arguments) for call in batched.calls
    ]


@pytest.mark.parametrize("arguments", [{}, None])
def test_absent_arguments_are_empty(session: McpSession, arguments: Any) -> None:
    exchange = receive(session, message("tools/call", name="nothing", arguments=arguments))
    assert len(exchange.calls) == 1


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"name": "echo", "arguments": {}}, "text"),
        ({"name": "echo", "arguments": {"text": 1}}, "$.text"),
        ({"name": "echo", "arguments": [1]}, "echo"),
        ({"name": "gone", "arguments": {}}, "unknown tool: gone"),
        ({"arguments": {}}, "name"),
    ],
)
def test_bad_call_names_what_is_wrong(session: McpSession, params: Any, says: str) -> None:
    error = reply(receive(session, message("tools/call", **params)))["error"]
    assert error["code"] == -32602
    assert says in error["message"]


def test_failed_tool_is_a_result(session: McpSession) -> None:
    exchange = receive(session, message("tools/call", name="nothing"))
    answer = exchange.answer(exchange.calls[0], ToolResult.of_error("no"))
    assert answer is not None
    assert json.loads(answer)["result"] == {
        "content": [{"type": "text", "text": "no"}],
        "isError": True,
    }


def test_batch_is_answered_as_one_when_its_revision_has_them(session: McpSession) -> None:
    initialize(session, "2025-03-26")
    exchange = receive(
        session,
        message("ping", 1),
        message("tools/call", 2, name="nothing"),
        {"jsonrpc": "2.0", "method": "hello"},
        17,
    )
    assert exchange.ready() is None
    assert exchange.events == [Notified("hello", b"{}")]
    answer = exchange.answer(exchange.calls[0], ToolResult.of_text("done"))
    assert answer is not None
    replies = json.loads(answer)
    assert [item["id"] for item in replies] == [1, None, 2]


def test_batch_is_no_way_to_make_the_host_keep_much(session: McpSession) -> None:
    initialize(session, "2025-03-26")
    exchange = receive(session, *(message("tools/call", n, name="nothing") for n in range(4)))
    large = ToolResult.of_text("x" * (MAX_BATCH_REPLY_BYTES // 2 - 1000))
    sizes = (large, large, large, ToolResult.of_text("small"))
    answers = [exchange.answer(*pair) for pair in zip(exchange.calls, sizes, strict=True)]
    assert answers[:3] == [None] * 3
    assert answers[3] is not None
    replies = json.loads(answers[3])
    assert [item["id"] for item in replies] == [0, 1, 2, 3]
    assert ["error" in item for item in replies] == [False, False, True, False]


@pytest.mark.parametrize("revision", [None, "2024-11-05", "2025-06-18", "2025-11-25"])
def test_batch_is_refused_in_other_revisions(session: McpSession, revision: str | None) -> None:
    if revision:
        initialize(session, revision)
    answer = reply(receive(session, message("ping", 1), message("ping", 2)))
    assert (answer["id"], answer["error"]["code"]) == (None, -32600)


def test_cancelled_call_gets_no_answer(session: McpSession) -> None:
    exchange = receive(session, message("tools/call", "x", name="nothing"))
    (call,) = exchange.calls
    notice = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "x"}}
    cancelling = receive(session, notice)
    assert cancelling.cancelled == [call]
    assert cancelling.ready() is None
    assert exchange.drop(call) is None
    assert receive(session, notice).cancelled == [], "it is not in flight any more"


@pytest.mark.parametrize("params", [{}, {"requestId": "unknown"}, {"requestId": 1}, []])
def test_cancelling_nothing_is_silent(session: McpSession, params: Any) -> None:
    notice = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
    exchange = receive(session, notice)
    assert (exchange.cancelled, exchange.ready()) == ([], None)


def test_notifications_get_no_answer(session: McpSession) -> None:
    exchange = receive(session, {"jsonrpc": "2.0", "method": "notifications/initialized"})
    assert exchange.ready() is None
