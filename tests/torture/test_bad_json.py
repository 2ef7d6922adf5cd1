"""Bad JSON and bad messages at all three servers: one answer for each request, as JSON-RPC has it.

What the grammar says of each message: tests/sessions. Here: what a real server does with it, over
its own transport, and that it goes on.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from agent_ide.protocols.copilot_ide.serve import CopilotConfig
from agent_ide.protocols.gemini_ide import serve as gemini_serve
from agent_ide.transports.websocket import MAX_MESSAGE_BYTES
from agent_ide.wire.jsonrpc import MAX_BATCH
from agent_ide.wire.mcp import BATCH_REVISION
from tests.servers import claude
from tests.support.figures import Figure, Scale
from tests.torture import texts
from tests.torture.answers import check, expected
from tests.torture.frames import TEXT, Socket, frame
from tests.torture.messages import SERVERS, Line, Number, connect, read
from tests.torture.requests import site
from tests.torture.witness import Growth, faults

MB = 1024 * 1024


class Talk:
    """One line to a server, and the loop in which both live."""

    def __init__(self, runner: asyncio.Runner, line: Line, server: str) -> None:
        self._runner, self.line, self.server = runner, line, server

    def ask(self, text: bytes | str, answers: int | None = None) -> list[Any]:
        data = text.encode() if isinstance(text, str) else text
        return self._runner.run(self.line.ask(data, answers))


@pytest.fixture(params=SERVERS)
def talk(
    request: pytest.FixtureRequest, short_folder: Path, caplog: pytest.LogCaptureFixture
) -> Iterator[Talk]:
    with asyncio.Runner() as runner:
        place = connect(request.param, short_folder)
        line, _ = runner.run(place.__aenter__())
        runner.run(line.ask(b'{"jsonrpc":"2.0","id":1,"method":"ping"}', 1))
        # Claude's server pushes from now on, in one task however often it is told so
        runner.run(line.ask(b'{"jsonrpc":"2.0","method":"ide_connected","params":{}}'))
        before = runner.run(_tasks())
        yield Talk(runner, line, request.param)
        assert runner.run(_tasks()) == before, "a task has died, or goes on"
        runner.run(place.__aexit__(None, None, None))
        assert faults(caplog) == []


async def _tasks() -> int:
    await asyncio.sleep(0.05)
    return len(asyncio.all_tasks())


def test_any_message(talk: Talk, scale: Scale, figure: Figure) -> None:
    count, growth = scale(short=40, long=2_500), Growth()

    @texts.many(count, figure)
    @given(texts.envelopes(), texts.variant_numbers)
    def one(drawn: str, number: int) -> None:
        for text in texts.variants(drawn, number):
            check(text, talk.ask(text, len(expected(text))))

    one()
    detail = f"growth {growth.look():.1f} MB, hypothesis' own included"
    figure(f"messages of any shape to {talk.server}", count * texts.VARIANTS, "", detail)


def test_any_json(talk: Talk, scale: Scale, figure: Figure) -> None:
    count = scale(short=10, long=500)

    @texts.many(count, figure)
    @given(texts.any_json, texts.variant_numbers)
    def one(drawn: str, number: int) -> None:
        for text in texts.variants(drawn, number):
            check(text, talk.ask(text, len(expected(text))))

    one()
    figure(f"JSON of any shape to {talk.server}", count * texts.VARIANTS)


def test_connected_again_and_again(talk: Talk) -> None:
    """Each time one more task that pushes would stay; the fixture counts them."""
    for _ in range(20):
        talk.ask('{"jsonrpc":"2.0","method":"ide_connected","params":{"pid":1}}')


DEEP = {
    "arrays": "[" * 10_000 + "]" * 10_000,
    "objects": '{"a":' * 10_000 + "1" + "}" * 10_000,
    "arrays without end": "[" * 10_000,
}


@pytest.mark.parametrize("deep", DEEP.values(), ids=DEEP)
@pytest.mark.parametrize(
    "frame_of_it",
    [
        "%s",
        '{"jsonrpc":"2.0","id":1,"method":"ping","params":%s}',
        '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":%s}}',
        '{"jsonrpc":"2.0","id":%s,"method":"ping"}',
        '{"jsonrpc":"2.0","id":1,"method":%s}',
        '{"jsonrpc":"2.0","id":1,"method":"ping","skipped":%s}',
        '{"jsonrpc":"2.0","id":"agent_ide-roots","result":%s}',
        '[{"jsonrpc":"2.0","id":1,"method":"ping","params":%s}]',
    ],
)
def test_deep(talk: Talk, frame_of_it: str, deep: str) -> None:
    """Deeper than any message is, so it is no message: an answer, whichever, and no crash."""
    answers = talk.ask(frame_of_it % deep, 1)
    assert len(answers) == 1
    assert int(answers[0]["error"]["code"].text) in (-32700, -32600)


IDS = (
    *("1e400", "-1e400", "9" * 5000, "1" * 400 + ".5", "1e-400", "-0"),
    *("null", '"' + "x" * MB + '"', r'"\u0000"', '""'),
)


@pytest.mark.parametrize("value", IDS, ids=lambda value: value[:12])
def test_id_is_echoed(talk: Talk, value: str) -> None:
    (answer,) = talk.ask(f'{{"jsonrpc":"2.0","id":{value},"method":"ping"}}', 1)
    assert answer == {"jsonrpc": "2.0", "id": read(value), "result": {}}


@pytest.mark.parametrize("value", ["true", "false", "{}", "[]", "[1]", '{"id":1}'])
def test_id_that_is_none(talk: Talk, value: str) -> None:
    (answer,) = talk.ask(f'{{"jsonrpc":"2.0","id":{value},"method":"ping"}}', 1)
    assert (answer["id"], answer["error"]["code"].text) == (None, "-32600")


@pytest.mark.parametrize(
    "value", [*texts.WRONG_NUMBERS, "nul", "True", "'a'", '"\n"', r'"\q"', '"', "\u00a0", "\0"]
)
def test_no_json(talk: Talk, value: str) -> None:
    for text in (
        value,
        f'{{"jsonrpc":"2.0","id":1,"method":"ping","params":[{value}]}}',
        f'{{"jsonrpc":"2.0","id":{value},"method":"ping"}}',
        f'{{"jsonrpc":"2.0","id":1,"method":"ping"}}{value}',
    ):
        (answer,) = talk.ask(text, 1)
        assert (answer["id"], answer["error"]["code"].text) == (None, "-32700"), text


def test_other_encodings(talk: Talk) -> None:
    ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}'
    for encoding in ("utf-8-sig", "utf-16", "utf-16-le", "utf-32"):
        (answer,) = talk.ask(ping.encode(encoding), 1)
        assert answer["error"]["code"].text == "-32700"


def test_members_that_are_doubled(talk: Talk) -> None:
    (answer,) = talk.ask('{"jsonrpc":"1","jsonrpc":"2.0","id":1,"id":2,"method":9,"method":"ping"}')
    assert answer == {"jsonrpc": "2.0", "id": Number("2"), "result": {}}


def test_same_id_twice(talk: Talk) -> None:
    """Each request is one, whatever it is called."""
    for _ in range(3):
        assert len(talk.ask('{"jsonrpc":"2.0","id":7,"method":"tools/list"}', 1)) == 1


def test_batches(talk: Talk) -> None:
    ping = '{"jsonrpc":"2.0","id":%d,"method":"ping"}'
    two = f"[{ping % 1},{ping % 2}]"
    (refused,) = talk.ask(two, 1)
    assert (refused["id"], refused["error"]["code"].text) == (None, "-32600")
    hello = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"%s"}}'
    assert "result" in talk.ask(hello % BATCH_REVISION, 1)[0]
    (answers,) = talk.ask(two, 1)
    assert [item["id"].text for item in answers] == ["1", "2"]
    # wrong members have answers of their own, notifications none
    mixed = f'[1,{ping % 3},[],{{"jsonrpc":"2.0","method":"x"}},{{"id":4}},{ping % 3}]'
    (answers,) = talk.ask(mixed, 1)
    told = [(item["id"], "error" in item) for item in answers]
    three = Number("3")
    assert told == [
        (None, True),
        (three, False),
        (None, True),
        (Number("4"), True),
        (three, False),
    ]
    assert talk.ask('[{"jsonrpc":"2.0","method":"x"},{"jsonrpc":"2.0","method":"x"}]') == []
    for text in ("[]", f"[{','.join([ping % 1] * (MAX_BATCH + 1))}]", "[" + "1," * 100_000 + "1]"):
        (answer,) = talk.ask(text, 1)
        assert (answer["id"], answer["error"]["code"].text) == (None, "-32600")
    # calls of a batch are answered with it, failed and good ones
    calls = [
        {"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": {"name": name}}
        for n, name in enumerate(["getOpenEditors", "get_selection", "nothing", "openDiff"])
    ]
    (answers,) = talk.ask(json.dumps(calls), 1)
    assert sorted(int(item["id"].text) for item in answers) == [0, 1, 2, 3]


def test_cancelled_in_the_same_breath(talk: Talk) -> None:
    """No answer, or the one that was ready; never two, and the session goes on."""
    call = '{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"getOpenEditors"}}'
    cancel = '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}'
    for request_id in ("5", '"5"', "null", "{}", "1e400", "[" * 500 + "]" * 500):
        assert len(talk.ask(call)) <= 1
        assert talk.ask(cancel % request_id) == []


@pytest.mark.parametrize(
    "text",
    [
        '{"jsonrpc":"2.0","id":"%s","method":"ping"}',
        '{"jsonrpc":"2.0","id":1,"method":"%s"}',
        '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"%s":1}}',
        '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"%s"}}',
        '{"jsonrpc":"2.0","id":1,"method":"ping","%s":"x"}',
        '"%s"',
        '"%s',
    ],
)
def test_long_string(talk: Talk, text: str, figure: Figure) -> None:
    growth = Growth()
    (answer,) = talk.ask(text % ("x" * 5 * MB), 1)
    if not text.startswith('{"jsonrpc":"2.0","id":"'):
        # nothing of it comes back
        assert len(json.dumps(answer)) < 1000
    assert growth.look() < 128


async def test_longer_than_a_server_takes(
    short_folder: Path, scale: Scale, figure: Figure, caplog: pytest.LogCaptureFixture
) -> None:
    """Its length says so; what is sent all the same is thrown away."""
    size = scale(short=1, long=100) * MB
    piece = b"x" * MB
    for name, limit in (
        ("copilot", CopilotConfig().max_body_bytes),
        ("gemini", gemini_serve.MAX_BODY_BYTES),
    ):
        (short_folder / name).mkdir(0o700)
        async with site(name, short_folder / name) as at:
            growth = Growth()
            wire = await at.dial()
            wire.write(at.head("POST", f"Content-Length: {max(size, limit + 1)}"))
            assert (await wire.answer()).status == 413
            for _ in range(size // MB):
                wire.write(piece)
                await asyncio.sleep(0)
            wire.writer.transport.abort()
            assert await at.serves()
            assert growth.look() < 128
    desk = claude.Desk(short_folder / "claude")
    await desk.server.start()
    socket = await Socket.connect(desk.port(), f"{claude.HEADER}: {desk.lock()['authToken']}")
    said = max(size, MAX_MESSAGE_BYTES + 1)
    socket.write(frame(TEXT, b'"' + b"x" * (size - 1), length=said))
    assert await socket.close_code() == 1009
    await socket.end()
    await desk.close()
    figure("string that is refused", size / MB, "MB")
    assert faults(caplog) == []
