"""The live set of reviews on an editor in memory and files on disk."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from agent_ide.editor.port import CloseReason
from agent_ide.errors import EditorError
from agent_ide.model import (
    Accepted,
    Cancelled,
    CancelledBy,
    Changes,
    ClientId,
    Failed,
    Proposal,
    Rejected,
    ReviewId,
    Verdict,
)
from agent_ide.review import reasons as reasons_module
from agent_ide.review import writing as module
from agent_ide.review.changes import count
from agent_ide.review.machine import State
from agent_ide.review.review import Review
from agent_ide.review.reviews import Reviews
from agent_ide.tasks import Tasks
from tests.support.eventually import eventually
from tests.support.fake_editor import FakeEditor

A, B = ClientId("claude-1"), ClientId("claude-2")


class Desk:
    """Reviews with everything around them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.editor = FakeEditor()
        self.tasks = Tasks()
        self.changes = 0
        self.reviews = Reviews(self.editor, self.tasks, self._changed)

    def _changed(self) -> None:
        self.changes += 1

    def propose(
        self, name: str, text: str, client: ClientId = A, tab_name: str = ""
    ) -> asyncio.Task[Verdict]:
        proposal = self.proposal(name, text, client, tab_name)
        return asyncio.ensure_future(self.reviews.propose(proposal))

    def proposal(self, name: str, text: str, client: ClientId = A, tab_name: str = "") -> Proposal:
        path = str(self.folder / name)
        return Proposal("claude", "Claude Code", client, path, tab_name or name, text)

    async def review(self, tab_name: str, state: State = State.PENDING) -> Review:
        def found() -> bool:
            review = self.reviews.find("claude", tab_name)
            return review is not None and review.state is state

        await eventually(found)
        review = self.reviews.find("claude", tab_name)
        assert review is not None
        return review


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    it = Desk(tmp_path)
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    yield it
    await it.tasks.close()


async def test_accepted_then_written(desk: Desk) -> None:
    answer = desk.propose("a.txt", "one\nTWO\n")
    review = await desk.review("a.txt")
    assert not review.is_new
    await desk.reviews.accept(review, "one\nTWO by hand\n")
    assert await answer == Accepted("one\nTWO by hand\n", unchanged_file=False)
    assert desk.reviews.open() == [review], "it stays until the client has written"
    (desk.folder / "a.txt").write_text("one\nTWO by hand\n")
    await eventually(lambda: not desk.reviews.open() and desk.editor.reloaded)
    assert desk.editor.closed == [(review.id, "accepted")]
    assert desk.editor.reloaded == [(str(desk.folder / "a.txt"), b"one\ntwo\n")]


async def test_crlf_file_is_compared_as_lf(desk: Desk) -> None:
    (desk.folder / "a.txt").write_bytes(b"one\r\ntwo\r\n")
    answer = desk.propose("a.txt", "one\nTWO\n")
    await desk.reviews.accept(await desk.review("a.txt"), "one\nTWO\n")
    assert await answer == Accepted("one\nTWO\n", unchanged_file=False)
    (desk.folder / "a.txt").write_bytes(b"one\r\nTWO\r\n")
    await eventually(lambda: not desk.reviews.open())


async def test_text_equal_to_the_file_is_said(desk: Desk) -> None:
    answer = desk.propose("a.txt", "one\nTWO\n")
    await desk.reviews.accept(await desk.review("a.txt"), "one\ntwo\n")
    assert await answer == Accepted("one\ntwo\n", unchanged_file=True)


async def test_rejected(desk: Desk) -> None:
    answer = desk.propose("a.txt", "x")
    review = await desk.review("a.txt")
    desk.reviews.reject(review)
    assert isinstance(await answer, Rejected)
    await eventually(lambda: review.state is State.CLOSED)
    assert desk.editor.closed == [(review.id, "rejected")]
    assert desk.reviews.by_id(review.id) is None, "nothing of it is kept"


async def test_closing_the_view_rejects(desk: Desk) -> None:
    answer = desk.propose("a.txt", "x")
    desk.reviews.view_closed(await desk.review("a.txt"))
    assert isinstance(await answer, Rejected)


async def test_second_verdict_is_ignored(desk: Desk) -> None:
    answer = desk.propose("a.txt", "x")
    review = await desk.review("a.txt")
    await desk.reviews.accept(review, "yes")
    desk.reviews.reject(review)
    desk.reviews.view_closed(review)
    desk.reviews.withdraw([review], CancelledBy.CLIENT)
    await desk.reviews.accept(review, "again")
    assert await answer == Accepted("yes", unchanged_file=False)
    assert review.state is State.ACCEPTED


async def test_new_file(desk: Desk) -> None:
    desk.propose("new/deep.txt", "x")
    review = await desk.review("new/deep.txt")
    assert review.is_new
    assert review.before.data is None


async def test_one_is_shown_the_others_wait(desk: Desk) -> None:
    first, second = desk.propose("a.txt", "1", A), desk.propose("b.txt", "2", B)
    shown = await desk.review("a.txt")
    waiting = await desk.review("b.txt", State.QUEUED)
    assert list(desk.editor.views) == [shown.id]
    desk.reviews.reject(shown)
    await first
    await desk.review("b.txt")
    assert list(desk.editor.views) == [waiting.id]
    desk.reviews.reject(waiting)
    await second


async def test_accepted_one_does_not_block_the_next(desk: Desk) -> None:
    first = desk.propose("a.txt", "1", A)
    accepted = await desk.review("a.txt")
    await desk.reviews.accept(accepted, "1")
    await first
    desk.propose("b.txt", "2", B)
    pending = await desk.review("b.txt")
    assert list(desk.editor.views) == [pending.id], "the accepted one is out of sight"
    assert (accepted.id, "hidden") in desk.editor.closed
    assert desk.reviews.open() == [accepted, pending]


async def test_accepted_one_is_written_while_it_makes_room_for_the_next(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.propose("a.txt", "1", A)
    accepted = await desk.review("a.txt")
    await desk.reviews.accept(accepted, "1")
    close = desk.editor.close_review

    async def close_late(review_id: ReviewId, reason: CloseReason) -> None:
        if reason == "hidden":
            (desk.folder / "a.txt").write_text("1")
            await eventually(lambda: desk.reviews.by_id(accepted.id) is None)
        await close(review_id, reason)

    monkeypatch.setattr(desk.editor, "close_review", close_late)
    desk.propose("b.txt", "2", B)
    await desk.review("b.txt")


async def test_one_that_is_withdrawn_while_room_is_made_for_it_is_not_shown(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.propose("a.txt", "1", A)
    await desk.reviews.accept(await desk.review("a.txt"), "1")
    close, room = desk.editor.close_review, asyncio.Event()

    async def close_late(review_id: ReviewId, reason: CloseReason) -> None:
        await close(review_id, reason)
        if reason == "hidden":
            await room.wait()

    monkeypatch.setattr(desk.editor, "close_review", close_late)
    answer = desk.propose("b.txt", "2", B)
    opening = await desk.review("b.txt", State.OPENING)
    desk.reviews.withdraw([opening], CancelledBy.CLIENT)
    await answer
    await eventually(lambda: (opening.id, "withdrawn") in desk.editor.closed)
    room.set()
    await desk_is_idle(desk)
    assert desk.editor.views == {}


async def desk_is_idle(desk: Desk) -> None:
    """Wait until nothing but the watches of files runs."""
    for _ in range(20):
        await asyncio.sleep(0)


async def test_view_that_does_not_open_fails(desk: Desk) -> None:
    desk.editor.refuse = "no window"
    assert await desk.propose("a.txt", "x") == Failed("no window")
    desk.editor.refuse = None
    desk.propose("b.txt", "y")
    await desk.review("b.txt")


async def test_client_gone(desk: Desk) -> None:
    accepted, pending = desk.propose("a.txt", "1"), desk.propose("b.txt", "2")
    other = desk.propose("c.txt", "3", B)
    await desk.reviews.accept(await desk.review("a.txt"), "1")
    await accepted
    await desk.review("b.txt")
    desk.reviews.client_gone(A)
    assert isinstance(await pending, Cancelled)
    (stays,) = desk.reviews.of_client(A)
    assert (stays.accepted, stays.client_gone) == (True, True)
    assert stays.status()["client_gone"] is True
    await desk.review("c.txt")
    assert not other.done()


async def test_cancelled_request_withdraws(desk: Desk) -> None:
    answer = desk.propose("a.txt", "x")
    review = await desk.review("a.txt")
    answer.cancel()
    with pytest.raises(asyncio.CancelledError):
        await answer
    await eventually(lambda: desk.editor.closed == [(review.id, "withdrawn")])


async def test_closed_by_its_client_while_pending(desk: Desk) -> None:
    """Decided in the agent's terminal: the view goes, and the file is taken up when written."""
    answer = desk.propose("a.txt", "one\nTWO\n")
    review = await desk.review("a.txt")
    await desk.reviews.close(review)
    assert isinstance(await answer, Cancelled)
    (desk.folder / "a.txt").write_text("one\nTWO\n")
    await eventually(lambda: desk.editor.reloaded)


async def test_closed_by_its_client_then_written(desk: Desk) -> None:
    """As Claude does it: close_tab comes just before the write."""
    answer = desk.propose("a.txt", "x\n")
    review = await desk.review("a.txt")
    await desk.reviews.accept(review, "by hand\n")
    await answer
    await desk.reviews.close(review)
    assert desk.reviews.open() == []
    await eventually(lambda: desk.editor.closed == [(review.id, "accepted")])
    (desk.folder / "a.txt").write_text("by hand\n")
    await eventually(lambda: desk.editor.reloaded)
    assert desk.editor.notes == []


@pytest.mark.parametrize(("text", "kept"), [("by hand", ["by hand"]), ("x", [])])
async def test_closed_by_its_client_and_never_written(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, text: str, kept: list[str]
) -> None:
    monkeypatch.setattr(module, "WRITE_PATIENCE_S", 0.01)
    answer = desk.propose("a.txt", "x")
    review = await desk.review("a.txt")
    await desk.reviews.accept(review, text)
    await answer
    await desk.reviews.close(review)
    # on a slow machine "has not written yet" may come before
    await eventually(lambda: any("did not write a.txt" in note for note in desk.editor.notes))
    assert desk.editor.kept == kept


async def test_client_that_writes_another_text_is_taken_up_and_said(desk: Desk) -> None:
    """Claude makes its edit anew in a file that has changed meanwhile."""
    answer = desk.propose("a.txt", "x\n")
    review = await desk.review("a.txt")
    await desk.reviews.accept(review, "by hand\n")
    await answer
    await desk.reviews.close(review)
    (desk.folder / "a.txt").write_text("x and more\n")
    await eventually(lambda: desk.editor.notes)
    assert "wrote another text" in desk.editor.notes[-1]
    assert desk.editor.reloaded
    assert desk.editor.kept == ["by hand\n"]


async def test_user_closes_all(desk: Desk) -> None:
    accepted, pending = desk.propose("a.txt", "new\n"), desk.propose("b.txt", "2")
    await desk.reviews.accept(await desk.review("a.txt"), "new\n")
    await accepted
    await desk.review("b.txt")
    await desk.reviews.close_by_user(desk.reviews.open())
    assert isinstance(await pending, Rejected)
    path = str(desk.folder / "a.txt")
    assert desk.editor.buffers[path] == "new\n", "accepted text is in the buffer, unsaved"
    assert path in desk.editor.dirty
    await eventually(lambda: not desk.reviews.open())


async def test_user_closes_all_but_the_buffer_refuses(desk: Desk) -> None:
    accepted = desk.propose("a.txt", "new\n")
    review = await desk.review("a.txt")
    await desk.reviews.accept(review, "new\n")
    await accepted
    desk.editor.refuse = "it is locked"
    await desk.reviews.close_by_user(desk.reviews.open())
    assert review.accepted, "nothing is lost"
    assert desk.editor.notes == ["a.txt: it is locked"]


async def test_unwritten_for_long_is_said(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WRITE_PATIENCE_S", 0.01)
    answer = desk.propose("a.txt", "new\n")
    await desk.reviews.accept(await desk.review("a.txt"), "new\n")
    await answer
    await eventually(lambda: desk.editor.notes)
    assert "has not written a.txt yet" in desk.editor.notes[0]
    (desk.folder / "a.txt").write_text("new\n")
    await eventually(lambda: not desk.reviews.open())
    assert len(desk.editor.notes) == 1


async def test_decided_while_the_view_opens(desk: Desk) -> None:
    desk.editor.free.clear()
    answer = desk.propose("a.txt", "x")
    review = await desk.review("a.txt", State.OPENING)
    desk.reviews.withdraw([review], CancelledBy.CLIENT_GONE)
    assert isinstance(await answer, Cancelled)
    desk.editor.free.set()
    await eventually(lambda: review.state is State.CLOSED)
    await eventually(lambda: not desk.editor.views)


async def test_by_name(desk: Desk) -> None:
    desk.propose("a.txt", "1", tab_name="tab a")
    desk.propose("b.txt", "2", tab_name="tab b")
    shown = await desk.review("tab a")
    waiting = await desk.review("tab b", State.QUEUED)
    assert desk.reviews.by_name(None) is shown
    assert desk.reviews.by_name("tab b") is waiting
    assert desk.reviews.by_name(str(desk.folder / "b.txt")) is waiting
    assert desk.reviews.by_name("tab") is None
    assert desk.reviews.find("copilot", "tab a") is None


# -- the file is not any more what it was ---------------------------------------------------------


def set_up(path: Path, what: str) -> None:
    match what:
        case "changed on disk":
            path.write_text("by hand\n")
        case "deleted on disk":
            path.unlink()
        case "a folder is there now":
            path.unlink()
            path.mkdir()
        case "read-only on disk":
            path.chmod(0o444)
        case "its folder is gone":
            path.parent.rmdir()
        case "made on disk meanwhile":
            path.write_text("by hand\n")


STALE = [
    ("a.txt", "changed on disk"),
    ("a.txt", "deleted on disk"),
    ("a.txt", "a folder is there now"),
    ("a.txt", "read-only on disk"),
    ("folder/new.txt", "its folder is gone"),
    ("new.txt", "made on disk meanwhile"),
]


async def test_an_accept_that_would_not_count_is_refused(desk: Desk) -> None:
    refuses = replace(desk.proposal("a.txt", "new\n"), when_emptied="nothing would be left")
    answer = asyncio.ensure_future(desk.reviews.propose(refuses))
    review = await desk.review("a.txt")
    await desk.reviews.accept(review, "")
    assert review.state is State.PENDING
    assert desk.editor.resumed == [review.id]
    assert desk.editor.notes == ["a.txt: nothing would be left"]
    await desk.reviews.accept(review, "mine\n")
    assert await answer == Accepted("mine\n", unchanged_file=False)


async def test_an_empty_proposal_may_be_accepted(desk: Desk) -> None:
    refuses = replace(desk.proposal("a.txt", ""), when_emptied="nothing would be left")
    answer = asyncio.ensure_future(desk.reviews.propose(refuses))
    await desk.reviews.accept(await desk.review("a.txt"), "")
    assert await answer == Accepted("", unchanged_file=False)


async def test_the_text_as_it_stands(desk: Desk) -> None:
    answer = desk.propose("a.txt", "new\n")
    review = await desk.review("a.txt")
    assert await desk.reviews.text_of(review) == "new\n"
    desk.editor.typed[review.id] = "typed\n"
    assert await desk.reviews.text_of(review) == "typed\n"
    desk.editor.refuse = "a prompt is open"
    assert await desk.reviews.text_of(review) == "new\n"
    desk.editor.refuse = None
    desk.editor.views.clear()
    assert await desk.reviews.text_of(review) == "new\n"
    await desk.reviews.accept(review, "accepted\n")
    assert await desk.reviews.text_of(review) == "accepted\n"
    assert await answer == Accepted("accepted\n", unchanged_file=False)


@pytest.mark.parametrize(("name", "what"), STALE)
async def test_stale_review_is_said_and_asked_about(desk: Desk, name: str, what: str) -> None:
    (desk.folder / "folder").mkdir()
    answer = desk.propose(name, "new\n")
    review = await desk.review(name)
    assert review.stale is None
    set_up(desk.folder / name, what)
    await eventually(lambda: review.stale is not None)
    assert review.status()["stale"] == what
    desk.editor.agrees = False
    await desk.reviews.accept(review, "new\n")
    assert desk.editor.questions == [
        f"{review.name}: {what}. The agent may fail, or overwrite it. Accept anyway?"
    ]
    assert desk.editor.resumed == [review.id]
    assert review.state is State.PENDING
    desk.editor.agrees = True
    await desk.reviews.accept(review, "new\n")
    assert await answer == Accepted("new\n", unchanged_file=False)


async def test_verdict_looks_at_the_file_by_itself(desk: Desk) -> None:
    answer = desk.propose("a.txt", "new\n")
    review = await desk.review("a.txt")
    (desk.folder / "a.txt").write_text("by hand\n")
    await desk.reviews.accept(review, "new\n")
    assert len(desk.editor.questions) == 1
    await answer
    # what is merged with unsaved changes has that as its root
    (desk.folder / "a.txt").write_text("new\n")
    await eventually(lambda: desk.editor.reloaded)
    assert desk.editor.reloaded[0][1] == b"by hand\n"


async def test_file_as_it_was_again_is_fresh(desk: Desk) -> None:
    desk.propose("a.txt", "new\n")
    review = await desk.review("a.txt")
    (desk.folder / "a.txt").write_text("by hand\n")
    await eventually(lambda: review.stale is not None)
    (desk.folder / "a.txt").write_bytes(b"one\r\ntwo\r\n")
    await eventually(lambda: review.stale is None)


async def test_withdrawn_while_the_user_is_asked(desk: Desk) -> None:
    answer = desk.propose("a.txt", "new\n")
    review = await desk.review("a.txt")
    (desk.folder / "a.txt").write_text("by hand\n")
    asked = asyncio.Event()

    async def confirm(question: str) -> bool:
        asked.set()
        await asyncio.Event().wait()
        return True

    desk.editor.confirm = confirm  # type: ignore[method-assign]
    accepting = asyncio.ensure_future(desk.reviews.accept(review, "new\n"))
    await asked.wait()
    # a second verdict while the question is open does nothing
    await desk.reviews.accept(review, "other\n")
    desk.reviews.withdraw([review], CancelledBy.CLIENT)
    assert isinstance(await answer, Cancelled)
    accepting.cancel()


async def test_second_review_of_one_file_is_stale_when_the_first_is_accepted(desk: Desk) -> None:
    first, second = desk.propose("a.txt", "1\n", A, "first"), desk.propose("a.txt", "2\n", B, "2nd")
    queued = await desk.review("2nd", State.QUEUED)
    assert queued.stale is None
    accepted = await desk.review("first")
    await desk.reviews.accept(accepted, "1\n")
    assert queued.stale == "another change of it was accepted"
    await first
    await desk.reviews.close(accepted)
    assert queued.stale == "another change of it was accepted", "it is about to be written"
    (desk.folder / "a.txt").write_text("1\n")
    await eventually(lambda: queued.stale == "changed on disk")
    assert not second.done()


# -- the queue -------------------------------------------------------------------------------------


async def test_user_looks_at_another_one_first(desk: Desk) -> None:
    for name in ("a.txt", "b.txt", "c.txt"):
        desk.propose(name, name)
    first = await desk.review("a.txt")
    third = await desk.review("c.txt", State.QUEUED)
    desk.reviews.show(third)
    await desk.review("c.txt")
    await eventually(lambda: list(desk.editor.views) == [third.id])
    assert desk.editor.closed == [(first.id, "hidden")]
    desk.reviews.show(third)
    desk.reviews.reject(third)
    # the first comes back by itself, before the second
    await desk.review("a.txt")
    assert (await desk.review("b.txt", State.QUEUED)).undecided
    desk.reviews.show(first)
    assert first.state is State.PENDING


async def test_user_looks_at_another_one_while_the_first_waits_for_them(desk: Desk) -> None:
    """A busy user has not seen the first one yet; what Neovim answers for it is late."""
    desk.editor.free.clear()
    desk.propose("a.txt", "1")
    desk.propose("b.txt", "2")
    first = await desk.review("a.txt", State.OPENING)
    second = await desk.review("b.txt", State.QUEUED)
    desk.reviews.show(second)
    assert (first.state, second.state) == (State.QUEUED, State.OPENING)
    desk.editor.free.set()
    await desk.review("b.txt")
    assert first.state is State.QUEUED
    desk.reviews.reject(second)
    await desk.review("a.txt")


async def test_hidden_one_is_shown_again(desk: Desk) -> None:
    proposal = Proposal(
        "claude", "Claude Code", A, str(desk.folder / "a.txt"), "a.txt", "x", closing="hides"
    )
    asyncio.ensure_future(desk.reviews.propose(proposal))  # noqa: RUF006
    review = await desk.review("a.txt")
    desk.reviews.view_closed(review)
    await desk.review("a.txt", State.HIDDEN)
    desk.reviews.show(review)
    await desk.review("a.txt")


async def test_size_of_a_change_is_in_the_status(desk: Desk) -> None:
    desk.propose("a.txt", "zero\none\nTWO\n")
    status = (await desk.review("a.txt")).status()
    assert (status["added"], status["removed"]) == (2, 1)


@pytest.mark.parametrize(
    ("before", "after", "changes"),
    [
        ("", "", Changes()),
        ("a\n", "a\n", Changes()),
        ("", "a\nb\n", Changes(2, 0, 1)),
        ("a\nb\n", "", Changes(0, 2, 1)),
        ("a\nb\nc\n", "a\nB\nc\n", Changes(1, 1, 1)),
        ("a\nb\nc\nd\n", "A\nb\nc\nD\n", Changes(2, 2, 2)),
        ("a\na\n", "a\na\na\n", Changes(1, 0, 1)),
        ("a", "a\n", Changes(1, 1, 1)),
        ("".join(f"{i}\n" for i in range(9000)), "x\n" * 3000, Changes(3000, 9000, 1)),
    ],
)
def test_size_of_a_change(before: str, after: str, changes: Changes) -> None:
    assert count(before, after) == changes


async def test_diffs_can_be_off(tmp_path: Path) -> None:
    editor, tasks = FakeEditor(), Tasks()
    reviews = Reviews(editor, tasks, lambda: None, lambda agent: agent != "claude")
    proposal = Proposal("claude", "Claude Code", A, str(tmp_path / "a.txt"), "a", "x")
    verdict = await reviews.propose(proposal)
    assert isinstance(verdict, Failed)
    assert "switched diffs off" in verdict.reason
    assert reviews.open() == []
    await tasks.close()


# -- after a verdict ------------------------------------------------------------------------------


@pytest.mark.parametrize("merges", [True, False])
async def test_own_version_is_not_lost_when_the_file_is_not_reloaded(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, merges: bool
) -> None:
    async def refuse(*_: object) -> int:
        raise EditorError("Neovim could not do it")

    monkeypatch.setattr(desk.editor, "reload_file", refuse)
    if not merges:
        monkeypatch.setattr(desk.editor, "merge_into_buffer", refuse)
    proposal = replace(desk.proposal("a.txt", "one\nTWO\n"), writes="proposed")
    answer = asyncio.ensure_future(desk.reviews.propose(proposal))
    await desk.reviews.accept(await desk.review("a.txt"), "one\nmine\n")
    await answer
    (desk.folder / "a.txt").write_text("one\nTWO\n")
    await eventually(lambda: desk.editor.notes)
    if merges:
        assert desk.editor.buffers == {str(desk.folder / "a.txt"): "one\nmine\n"}
    else:
        assert desk.editor.kept == ["one\nmine\n"]
        assert "recover" in desk.editor.notes[0]


async def test_view_that_is_closed_before_the_host_heard_of_it(desk: Desk) -> None:
    """The question stays, and can be brought back: it does not count as visible."""
    desk.editor.free.clear()
    proposal = replace(desk.proposal("a.txt", "x"), closing="hides")
    answer = asyncio.ensure_future(desk.reviews.propose(proposal))
    review = await desk.review("a.txt", State.OPENING)
    desk.reviews.view_closed(review)
    desk.editor.free.set()
    await eventually(lambda: desk.editor.closed)
    await asyncio.sleep(0)
    assert (review.state, desk.editor.views) == (State.HIDDEN, {})
    desk.reviews.show(review)
    await desk.review("a.txt")
    desk.reviews.reject(review)
    assert isinstance(await answer, Rejected)


async def test_events_for_configurations(desk: Desk) -> None:
    answer = desk.propose("a.txt", "one\nTWO\n")
    review = await desk.review("a.txt")
    await desk.reviews.accept(review, "one\nTWO\n")
    await answer
    (desk.folder / "a.txt").write_text("one\nTWO\n")
    await eventually(lambda: not desk.reviews.open())
    desk.reviews.reject(await started(desk, "b.txt"))
    await eventually(lambda: len(desk.editor.announced) == 6)
    assert [event for event, _ in desk.editor.announced] == [
        *("opened", "accepted", "closed"),
        *("opened", "rejected", "closed"),
    ]
    facts = {"agent": "claude", "path": str(desk.folder / "a.txt"), "tab_name": "a.txt"}
    assert desk.editor.announced[0][1] == {**facts, "hunks": 1, "is_new": False}
    assert desk.editor.announced[2][1]["verdict"] == "accepted"


async def started(desk: Desk, name: str) -> Review:
    desk.propose(name, "x")
    return await desk.review(name)


async def test_undo_of_the_last_accepted(desk: Desk) -> None:
    await desk.reviews.undo()
    assert desk.editor.notes == ["no accepted diff to undo"]
    for name, text in [("a.txt", "one\nTWO\n"), ("new.txt", "new\n")]:
        answer = desk.propose(name, text)
        await desk.reviews.accept(await desk.review(name), text)
        await answer
        (desk.folder / name).write_text(text)
        await eventually(lambda: not desk.reviews.open())
    await eventually(lambda: len(desk.editor.reloaded) == 2)
    await desk.reviews.undo()
    await desk.reviews.undo()
    assert desk.editor.buffers == {
        str(desk.folder / "new.txt"): "",
        str(desk.folder / "a.txt"): "one\ntwo\n",
    }
    assert "it was new" in desk.editor.notes[-2]
    assert desk.editor.notes[-1] == "a.txt is as before that edit, unsaved; :w writes it"


async def rejected_with_a_reason(desk: Desk) -> None:
    desk.editor.prompts["claude"] = ""
    proposal = Proposal(
        *("claude", "Claude Code", A, str(desk.folder / "a.txt"), "a.txt", "x"),
        closings_after_reject=2,
    )
    answer = asyncio.ensure_future(desk.reviews.propose(proposal))
    review = await desk.review("a.txt")
    assert review.status()["carries_reason"] is True
    desk.reviews.reject(review, "use a set")
    assert isinstance(await answer, Rejected)


async def test_reason_comes_into_the_prompt_after_the_second_closing(desk: Desk) -> None:
    await rejected_with_a_reason(desk)
    desk.reviews.tab_closed("claude", A, "a.txt")
    desk.reviews.tab_closed("claude", B, "a.txt")
    desk.reviews.tab_closed("claude", A, "b.txt")
    await asyncio.sleep(0)
    assert desk.editor.prompts == {"claude": ""}
    desk.reviews.tab_closed("claude", A, "a.txt")
    await eventually(lambda: desk.editor.prompts["claude"] == "use a set")
    desk.reviews.tab_closed("claude", A, "a.txt")
    assert desk.editor.notes == []


async def test_reason_that_is_not_taken_is_said(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reasons_module, "PATIENCE_S", 0.01)
    await rejected_with_a_reason(desk)
    await eventually(lambda: desk.editor.notes)
    assert "did not take the reason" in desk.editor.notes[0]
