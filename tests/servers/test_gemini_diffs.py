"""Diffs of Gemini CLI and Qwen Code over a real socket: each ends exactly once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agent_ide.protocols import peer
from agent_ide.review import writing
from agent_ide.review.machine import State
from tests.servers.gemini import Client, Desk
from tests.support.eventually import eventually

ACCEPTED, REJECTED = "ide/diffAccepted", "ide/diffRejected"


@pytest.fixture
async def desk(short_folder: Path) -> AsyncIterator[Desk]:
    it = Desk(short_folder)
    await it.start()
    (short_folder / "a.txt").write_text("one\ntwo\n")
    yield it
    await it.close()


@pytest.fixture(params=["gemini", "qwen"])
async def client(desk: Desk, request: pytest.FixtureRequest) -> Client:
    return await desk.connect(request.param)


@pytest.fixture
def path(desk: Desk) -> Path:
    return desk.folder / "a.txt"


async def quiet(desk: Desk, client: Client, *verdicts: str) -> None:
    """Nothing more is said: what was on its way has come by the time of another answer."""
    await client.request("ping")
    await asyncio.sleep(0)
    assert client.verdicts() == list(verdicts)


async def test_list(client: Client) -> None:
    tools = {tool["name"]: tool for tool in (await client.request("tools/list"))["tools"]}
    assert list(tools) == ["openDiff", "closeDiff"]
    assert tools["openDiff"]["inputSchema"]["required"] == ["filePath", "newContent"]
    assert tools["closeDiff"]["inputSchema"]["required"] == ["filePath"]


async def test_accepted_with_the_users_change(desk: Desk, client: Client, path: Path) -> None:
    await client.open_diff(path, "one\r\nTWO\r\n")
    review = await desk.review(path)
    assert (review.proposal.agent, review.proposal.text) == (client.agent, "one\nTWO\n")
    await desk.reviews.accept(review, "one\nmine\n")
    said = await client.hears("diffAccepted")
    assert said == {"filePath": str(path), "content": "one\nmine\n"}
    assert review.state is State.ACCEPTED
    assert path.read_text() == "one\ntwo\n", "the CLI writes"
    path.write_text("one\r\nmine\r\n")
    await eventually(lambda: review.state is State.CLOSED)
    await eventually(lambda: desk.editor.closed == [(review.id, "accepted")])
    await quiet(desk, client, ACCEPTED)


@pytest.mark.parametrize("way", ["command", "view closed"])
async def test_rejected(desk: Desk, client: Client, path: Path, way: str) -> None:
    await client.open_diff(path, "x\n")
    review = await desk.review(path)
    desk.reviews.reject(review) if way == "command" else desk.reviews.view_closed(review)
    assert await client.hears("diffRejected") == {"filePath": str(path)}
    await quiet(desk, client, REJECTED)


async def test_a_view_that_hides_leaves_the_question_to_the_terminal(short_folder: Path) -> None:
    desk = Desk(short_folder, qwen={"on_close": "terminal"})
    await desk.start()
    for agent, state in (("gemini", State.CLOSED), ("qwen", State.HIDDEN)):
        client, path = await desk.connect(agent), short_folder / f"{agent}.txt"
        await client.open_diff(path, "x\n")
        review = await desk.review(path)
        desk.reviews.view_closed(review)
        await eventually(lambda review=review, state=state: review.state is state)
        assert client.verdicts() == ([REJECTED] if agent == "gemini" else [])
    await desk.close()


@pytest.mark.parametrize("typed", [None, "one\nmine\n"])
async def test_decided_in_the_terminal(
    desk: Desk, client: Client, path: Path, typed: str | None
) -> None:
    await client.open_diff(path, "one\nTWO\n")
    review = await desk.review(path)
    if typed is not None:
        desk.editor.typed[review.id] = typed
    assert await client.close_diff(path) == {"content": typed or "one\nTWO\n"}
    assert desk.reviews.open() == []
    await quiet(desk, client)
    path.write_text("one\nTWO\n")
    await eventually(lambda: bool(desk.editor.reloaded))
    # a second one finds nothing: the CLI takes its own text
    assert await client.close_diff(path) == {}


async def test_decided_in_the_terminal_while_the_editor_does_not_answer(
    desk: Desk, client: Client, path: Path
) -> None:
    await client.open_diff(path, "x\n")
    await desk.review(path)
    desk.editor.refuse = "a prompt is open"
    assert await client.close_diff(path) == {"content": "x\n"}
    desk.editor.refuse = None


async def test_decided_in_both_places_at_once(desk: Desk, client: Client, path: Path) -> None:
    """The CLI takes whichever comes first: both say the same text."""
    await client.open_diff(path, "x\n")
    review = await desk.review(path)
    await desk.reviews.accept(review, "mine\n")
    assert await client.close_diff(path) == {"content": "mine\n"}
    await client.hears("diffAccepted")
    await quiet(desk, client, ACCEPTED)


async def test_an_accept_of_nothing_is_refused(desk: Desk, client: Client, path: Path) -> None:
    await client.open_diff(path, "x\n")
    review = await desk.review(path)
    await desk.reviews.accept(review, "")
    assert "empty text" in desk.editor.notes[-1]
    assert review.state is State.PENDING
    await quiet(desk, client)
    desk.reviews.reject(review)
    await client.hears("diffRejected")


async def test_an_empty_file_may_be_proposed(desk: Desk, client: Client, path: Path) -> None:
    await client.open_diff(path, "")
    await desk.reviews.accept(await desk.review(path), "")
    assert await client.hears("diffAccepted") == {"filePath": str(path), "content": ""}


async def test_bytes_of_a_text_are_kept(desk: Desk, client: Client, path: Path) -> None:
    text = "\ufeffé \U0001f600\nno line break"
    await client.open_diff(path, text)
    review = await desk.review(path)
    await desk.reviews.accept(review, review.proposal.text)
    assert (await client.hears("diffAccepted"))["content"] == text


async def test_a_view_that_cannot_be_opened_leaves_the_question_to_the_terminal(
    desk: Desk, client: Client, path: Path
) -> None:
    desk.editor.refuse = "no room"
    await client.open_diff(path, "x\n")
    await eventually(lambda: bool(desk.editor.notes))
    assert "asks about it in its terminal" in desk.editor.notes[-1]
    desk.editor.refuse = None
    await quiet(desk, client)
    assert await client.close_diff(path) == {"content": "x\n"}
    await quiet(desk, client)


async def test_diffs_that_the_user_has_switched_off_stay_in_the_terminal(
    short_folder: Path,
) -> None:
    desk = Desk(short_folder, diff={"enabled": False})
    await desk.start()
    client = await desk.connect()
    path = short_folder / "a.txt"
    await client.open_diff(path, "x\n")
    assert await client.close_diff(path) == {"content": "x\n"}
    await quiet(desk, client)
    assert desk.editor.notes == []
    assert desk.reviews.open() == []
    await desk.close()


@pytest.mark.parametrize("path", ["relative.txt", "term://ls", "a\0b", ""])
async def test_a_path_that_is_none_is_no_error(desk: Desk, client: Client, path: str) -> None:
    """It is no file to Neovim either: its user is told, the CLI asks in its terminal."""
    await client.open_diff(path, "x\n")
    await eventually(lambda: bool(desk.editor.notes))
    assert "it is no absolute path of a file" in desk.editor.notes[0]
    assert desk.reviews.open() == []
    assert await client.close_diff(path) == {"content": "x\n"}
    await quiet(desk, client)


async def test_an_orphan_is_freed_by_the_next_diff(desk: Desk, client: Client, path: Path) -> None:
    """After Ctrl-C in its menu the client waits for nothing, and cannot say so."""
    await client.open_diff(path, "x\n")
    orphan = await desk.review(path)
    other = desk.folder / "b.txt"
    await client.open_diff(other, "y\n")
    assert await client.hears("diffRejected") == {"filePath": str(path)}
    await desk.reviews.accept(await desk.review(other), "y\n")
    assert orphan.state is State.CLOSED
    await client.hears("diffAccepted")
    await quiet(desk, client, REJECTED, ACCEPTED)


async def test_another_clients_diff_is_left_alone(desk: Desk, path: Path) -> None:
    first, second = await desk.connect("gemini"), await desk.connect("gemini")
    await first.open_diff(path, "x\n")
    await second.open_diff(path, "y\n")
    assert len(desk.reviews.open()) == 2
    await desk.reviews.accept(await desk.review(path), "x\n")
    assert (await first.hears("diffAccepted"))["content"] == "x\n"
    assert second.verdicts() == []


async def test_a_second_diff_of_a_path_takes_the_firsts_place(
    desk: Desk, client: Client, path: Path
) -> None:
    await client.open_diff(path, "x\n")
    first = await desk.review(path)
    await client.open_diff(path, "y\n")
    await eventually(lambda: first.state is State.CLOSED)
    second = await desk.review(path)
    # by this path the client would take it for the second one's
    await quiet(desk, client)
    await desk.reviews.accept(second, "y\n")
    assert (await client.hears("diffAccepted"))["content"] == "y\n"
    await quiet(desk, client, ACCEPTED)


async def test_two_edits_of_a_file_in_a_row(desk: Desk, client: Client, path: Path) -> None:
    for text in ("x\n", "x\ny\n"):
        await client.open_diff(path, text)
        await desk.reviews.accept(await desk.review(path), text)
        await eventually(
            lambda text=text: (
                client.pushes("diffAccepted")[-1:] != []
                and (client.pushes("diffAccepted")[-1]["content"] == text)
            )
        )
        path.write_text(text)
    await eventually(lambda: desk.reviews.open() == [])


async def test_a_client_that_is_gone_leaves_no_diff(
    desk: Desk, client: Client, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peer, "GONE_AFTER_S", 0.05)
    await client.open_diff(path, "x\n")
    review = await desk.review(path)
    await client.kill()
    await eventually(lambda: review.state is State.CLOSED)
    await eventually(lambda: desk.editor.closed == [(review.id, "withdrawn")])
    assert desk.side(client.agent).clients() == []


async def test_a_stream_that_comes_back_in_time_keeps_its_diff(
    desk: Desk, client: Client, path: Path
) -> None:
    await client.open_diff(path, "x\n")
    review = await desk.review(path)
    await client.kill()
    assert await client.listen() == 200
    assert review.state is State.PENDING
    await desk.reviews.accept(review, "x\n")
    assert (await client.hears("diffAccepted"))["content"] == "x\n"


async def test_a_verdict_waits_for_a_stream(desk: Desk, client: Client, path: Path) -> None:
    await client.open_diff(path, "x\n")
    review = await desk.review(path)
    await client.kill()
    desk.reviews.reject(review)
    await client.listen()
    assert await client.hears("diffRejected") == {"filePath": str(path)}


async def test_before_the_server_ends_every_diff_is_rejected(
    desk: Desk, client: Client, path: Path
) -> None:
    await client.open_diff(path, "x\n")
    await desk.review(path)
    await desk.server.stop()
    await client.stream_ended()
    assert client.pushes("diffRejected") == [{"filePath": str(path)}]
    assert client.ended_cleanly


async def test_a_client_that_ends_closes_its_diff(desk: Desk, client: Client, path: Path) -> None:
    """As on SIGTERM: without the argument that a decision has."""
    await client.open_diff(path, "x\n")
    await desk.review(path)
    await client.call("closeDiff", filePath=str(path))
    assert desk.reviews.open() == []


async def test_what_was_not_written_is_said(
    desk: Desk, client: Client, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "WRITE_PATIENCE_S", 0.05)
    await client.open_diff(path, "x\n")
    await desk.reviews.accept(await desk.review(path), "x\n")
    await eventually(lambda: any("has not written a.txt yet" in note for note in desk.editor.notes))
    await client.kill()


async def test_unknown_tool_and_bad_arguments(client: Client) -> None:
    error: Any = await client.call("somethingElse")
    assert error["code"] == -32602
    error = await client.call("openDiff", filePath=1)
    assert error["code"] == -32602
