"""Arguments that no tool was made for, drawn from the schemas that each server itself shows.

An argument of the wrong type is the call's error (-32602), whatever else it holds; one of the right
type has a result or a refusal. Never an error of ours, never silence, one answer for each id.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ide.review.reviews import Reviews
from tests.support.figures import Figure, Scale
from tests.torture import texts
from tests.torture.messages import SERVERS, Line, connect, read
from tests.torture.witness import faults

WRONG, REFUSED, EITHER, RIGHT = "wrong", "refused", "either", "right"

PATHS = (
    *("", "a", "/", "/tmp", "/a", "//", "/a/../../etc/passwd", "~/x", "/dev/zero", "/dev/stdin"),
    *(
        "/" + "a" * 300,
        "/" + "a/" * 3000,
        "/a\0b",
        "/a\nb",
        "/a|qa!",
        "/`id`",
        "/$(id)",
        "/%",
        "/#",
    ),
    *("file:///a%20b", "file:///%00", "file://host/a", "file:///a%zz", "file:///%ff", "file://"),
    *("untitled:Untitled-1", "git:/x?y", "term://sh", "scp://h/x", "http://evil.example/", "C:\\x"),
    *("\\\\host\\share\\x", "/\u202egnp.exe", "/\x1b]0;x\x07", "/é€😀", "<C-r>=1", ":qa!\r"),
)

text_of_a_field = st.sampled_from(PATHS).map(json.dumps) | texts.strings
right = {"string": text_of_a_field, "boolean": st.sampled_from(["true", "false"])}


def has_type(text: str, name: str) -> bool:
    value = read(text)
    return isinstance(value, {"string": str, "boolean": bool}[name])


@st.composite
def calls(draw: st.DrawFn, tools: list[Any]) -> tuple[str, str, str]:
    """A tool, its arguments as JSON, and what they are."""
    tool = draw(st.sampled_from(tools))
    schema = tool["inputSchema"]
    if draw(st.integers(0, 9)) == 0:
        text = draw(texts.any_json.filter(lambda text: not isinstance(read(text), dict)))
        # null counts as none given
        return tool["name"], text, EITHER if text == "null" else WRONG
    pairs, verdict = [], RIGHT
    for name, of_it in schema["properties"].items():
        needed = name in schema.get("required", [])
        match draw(st.sampled_from(["right"] * 5 + ["wrong", "null", "missing"])):
            case "right":
                pairs.append((json.dumps(name), draw(right[of_it["type"]])))
            case "wrong":
                other = texts.any_json.filter(
                    lambda text, kind=of_it["type"]: text != "null" and not has_type(text, kind)
                )
                pairs.append((json.dumps(name), draw(other)))
                verdict = WRONG
            case "null":
                pairs.append((json.dumps(name), "null"))
                # some clients write null for what they leave out
                verdict = WRONG if needed or verdict == WRONG else EITHER
            case "missing" if needed:
                verdict = WRONG
    if draw(st.integers(0, 5)) == 0:
        pairs.append((draw(texts.strings.map(lambda text: json.dumps("x" + read(text)))), "[]"))
        if schema.get("additionalProperties") is False:
            verdict = WRONG
    pairs = draw(st.permutations(pairs))
    return tool["name"], "{" + ",".join(f"{key}:{value}" for key, value in pairs) + "}", verdict


class Caller:
    """Calls tools at a server whose user rejects every diff as soon as it is asked for."""

    def __init__(self, runner: asyncio.Runner, line: Line, reviews: Reviews) -> None:
        self._runner, self._line, self._reviews = runner, line, reviews
        self._numbers = itertools.count(1)
        self.user = runner.run(self._start())

    async def _start(self) -> asyncio.Task[None]:
        return asyncio.get_running_loop().create_task(self._reject())

    async def _reject(self) -> None:
        while True:
            for review in self._reviews.open():
                if review.undecided:
                    self._reviews.reject(review)
            await asyncio.sleep(0.002)

    def ask(self, method: str, params: str) -> Any:
        """The one answer to a request."""
        number = next(self._numbers)
        text = f'{{"jsonrpc":"2.0","id":{number},"method":"{method}","params":{params}}}'
        (answer,) = self._runner.run(self._line.ask(text.encode(), 1))
        assert answer["id"].text == str(number)
        return answer

    def call(self, tool: str, arguments: str) -> str:
        """What became of a call."""
        answer = self.ask("tools/call", f'{{"name":{json.dumps(tool)},"arguments":{arguments}}}')
        if "error" in answer:
            code = int(answer["error"]["code"].text)
            assert code in (-32602, -32000), answer
            return WRONG if code == -32602 else REFUSED
        result = answer["result"]
        assert all(block["type"] == "text" for block in result["content"])
        return REFUSED if result.get("isError") else RIGHT


@pytest.fixture(params=SERVERS)
def caller(
    request: pytest.FixtureRequest, short_folder: Path, caplog: pytest.LogCaptureFixture
) -> Iterator[Caller]:
    with asyncio.Runner() as runner:
        place = connect(request.param, short_folder)
        it = Caller(runner, *runner.run(place.__aenter__()))
        yield it
        it.user.cancel()

        async def end() -> None:
            with suppress(asyncio.CancelledError):
                await it.user
            await place.__aexit__(None, None, None)

        runner.run(end())
        assert faults(caplog) == []


def test_every_tool(caller: Caller, scale: Scale, figure: Figure) -> None:
    tools = caller.ask("tools/list", "{}")["result"]["tools"]
    count, seen = scale(short=80, long=2_000), dict.fromkeys([WRONG, REFUSED, RIGHT], 0)

    @texts.many(count, figure)
    @given(calls(tools))
    def one(call: tuple[str, str, str]) -> None:
        tool, arguments, verdict = call
        outcome = caller.call(tool, arguments)
        seen[outcome] += 1
        if verdict == WRONG:
            assert outcome == WRONG
        elif verdict == RIGHT and outcome == WRONG:
            # of the right type, and no path
            assert any("path" in name.lower() or name == "uri" for name in read(arguments))

    one()
    names = len(tools)
    figure(f"calls of {names} tools", count, "", ", ".join(f"{n} {how}" for how, n in seen.items()))
    assert seen[WRONG]
    assert seen[RIGHT]


def test_each_field_of_each_tool(caller: Caller) -> None:
    """Every field has had every type of JSON, alone wrong among right ones."""
    for tool in caller.ask("tools/list", "{}")["result"]["tools"]:
        properties = tool["inputSchema"]["properties"]
        fine = {
            name: {"string": "/a", "boolean": True}[it["type"]] for name, it in properties.items()
        }
        for name, it in properties.items():
            for value in (1, -1.5, [], {}, ["/a"], {"a": "/a"}, "/a", True):
                if isinstance(value, {"string": str, "boolean": bool}[it["type"]]):
                    continue
                bad = json.dumps({**fine, name: value})
                assert caller.call(tool["name"], bad) == WRONG, (tool["name"], name, value)
            without = {key: value for key, value in fine.items() if key != name}
            if name in tool["inputSchema"].get("required", []):
                assert caller.call(tool["name"], json.dumps(without)) == WRONG


@pytest.mark.parametrize(
    "params",
    [
        "{}",
        "[]",
        '["getOpenEditors"]',
        '{"name":1}',
        '{"name":null}',
        '{"name":["openFile"]}',
        '{"name":"no such tool"}',
        '{"name":"\\u0000"}',
        '{"arguments":{}}',
        '{"name":"toString"}',
        '{"name":"__class__"}',
        '{"name":"' + "x" * 100_000 + '"}',
    ],
    ids=lambda params: params[:24],
)
def test_call_of_no_tool(caller: Caller, params: str) -> None:
    answer = caller.ask("tools/call", params)
    assert answer["error"]["code"].text == "-32602"
    assert len(answer["error"]["message"]) < 500


@pytest.mark.parametrize(
    "params", ["{}", '{"protocolVersion":1}', '{"protocolVersion":null}', "[]"]
)
def test_initialize_with_nothing(caller: Caller, params: str) -> None:
    assert caller.ask("initialize", params)["error"]["code"].text == "-32602"


def test_diff_of_what_is_no_file(caller: Caller, tmp_path: Path) -> None:
    """A device never ends, a pipe never begins; neither may be read."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    tools = {tool["name"]: tool for tool in caller.ask("tools/list", "{}")["result"]["tools"]}
    name = next(name for name in ("open_diff", "openDiff") if name in tools)
    for path in (pipe, "/dev/zero", "/dev/stdin", "/proc/self/mem", tmp_path):
        fields = tools[name]["inputSchema"]["properties"]
        arguments = {key: str(path) if "ath" in key else "x" for key in fields}
        assert caller.call(name, json.dumps(arguments)) in (RIGHT, REFUSED)
