"""Clients, an editor and files around the live set of reviews, all of it in virtual time.

Owns:     what a client asked and what became of it; the folder.
Not here: what is done (review_clients.py, review_user.py), what must hold (test_review_states.py).
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent_ide.editor.state import EditorState
from agent_ide.model import (
    Accepted,
    Cancelled,
    ClientId,
    Rejected,
    RejectedBy,
    ReviewId,
    Verdict,
)
from agent_ide.notebook.kernel import Kernels
from agent_ide.protocols.claude_ide.tools import TOOLS as CLAUDE_TOOLS
from agent_ide.protocols.claude_ide.tools import ClaudeTools
from agent_ide.protocols.copilot_ide.session import CopilotSession, Opening
from agent_ide.protocols.copilot_ide.tools import TOOLS as COPILOT_TOOLS
from agent_ide.protocols.copilot_ide.tools import CopilotTools, DiffPolicy
from agent_ide.review.review import Review
from agent_ide.review.reviews import Reviews
from agent_ide.tasks import Tasks
from agent_ide.wire.mcp import ToolCall
from agent_ide.wire.toolspec import ToolSet
from tests.support.virtual_time import VirtualLoop
from tests.torture.faulty_editor import FaultyEditor

__all__ = ["TIMEOUT_S", "Client", "Request", "World", "told"]

TIMEOUT_S = 300.0
"""Of Copilot's diffs."""


def told(verdict: Verdict | None) -> str:
    """A verdict with its reason, short."""
    match verdict:
        case Accepted(text):
            return f"accepted {text!r}"
        case Rejected(by) | Cancelled(by):
            return f"{type(verdict).__name__.lower()}: {by.value}"
    return "failed" if verdict else "none"


@dataclass(eq=False)
class Client:
    """session: what its server gives the tools for it."""

    id: ClientId
    agent: str
    session: Any
    connected: bool = True


@dataclass(eq=False)
class Request:
    """An open_diff and what became of it.

    number:  of this world's.
    seen:    the file's text as the client asked; None: no file.
    at_s:    when it was asked.
    allowed: verdicts that something has given a reason for.
    review:  None when it was refused, or not begun.
    typed:   what the user last typed into its proposal.
    accepted_s: when it was last seen to wait for its client's write.
    unseen:  the reviews looked at the file later than the client.
    decided: its verdict was seen to have a reason.
    """

    number: int
    client: Client
    path: Path
    tab: str
    text: str
    seen: str | None
    at_s: float
    task: asyncio.Task[Any]
    allowed: set[str] = field(default_factory=set)
    review: Review | None = None
    typed: str | None = None
    unseen: bool = False
    decided: bool = False
    accepted_s: float = -1000.0

    @property
    def verdict(self) -> str:
        return told(self.review.verdict if self.review else None)

    @property
    def waits(self) -> bool:
        """Undecided, or not looked at yet."""
        return self.undecided if self.review else not self.task.done()

    @property
    def undecided(self) -> bool:
        return self.review is not None and self.review.undecided

    def is_late(self, now_s: float) -> bool:
        """Its client's diffs have a deadline, and it has passed."""
        return self.client.agent == "copilot" and now_s >= self.at_s + TIMEOUT_S

    @property
    def accepted(self) -> bool:
        return self.review is not None and self.review.accepted


class _Errors(logging.Handler):
    """Keeps what was logged as an error: a task that died, say."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))


class World:
    """Everything around the reviews; files and folders are real."""

    FILES = ("a.txt", "b.txt", "new/c.txt")

    def __init__(self, hides: bool) -> None:
        """hides: Copilot goes on asking in its terminal when the user closes a view."""
        self.folder = Path(tempfile.mkdtemp(prefix="states-"))
        self.loop = VirtualLoop()
        self.editor = FaultyEditor()
        self.editor.on_closed = self.close_view
        self.tasks = Tasks()
        self.reviews = Reviews(self.editor, self.tasks, self._changed)
        self.requests: list[Request] = []
        self.clients: list[Client] = []
        self.written: set[tuple[Path, str]] = set()
        state, policy = EditorState(), DiffPolicy(TIMEOUT_S, "hides" if hides else "rejects")
        self._claude = ClaudeTools(self.editor, state, self.reviews, Kernels(), True)
        self._copilot = CopilotTools(self.editor, state, self.reviews, policy, {}, True)
        self._errors = _Errors()
        logging.getLogger("agent_ide").addHandler(self._errors)
        for name in self.FILES[:2]:
            self.write(self.path(name), b"one\ntwo\n")

    def close(self) -> None:
        logging.getLogger("agent_ide").removeHandler(self._errors)
        self.loop.end()
        shutil.rmtree(self.folder)

    def faults(self) -> list[object]:
        """What must never be: errors in the log, exceptions nobody took."""
        return [*self._errors.lines, *self.loop.faults]

    # -- files --------------------------------------------------------------------------------

    def path(self, name: str) -> Path:
        return self.folder / name

    def write(self, path: Path, data: bytes) -> None:
        path.parent.mkdir(exist_ok=True)
        if path.exists():
            os.chmod(path, 0o644)
        path.write_bytes(data)
        # the clock of files is not ours: two writes within its step look like one
        self._stamp = getattr(self, "_stamp", 10**9) + 1
        os.utime(path, ns=(self._stamp * 1000, self._stamp * 1000))
        self.written.add((path, self.text(path) or ""))

    @staticmethod
    def text(path: Path) -> str | None:
        """With LF line breaks; None: no file."""
        return path.read_bytes().decode().replace("\r\n", "\n") if path.exists() else None

    def is_read_only(self, path: Path) -> bool:
        return path.exists() and not path.stat().st_mode & 0o222

    @property
    def disk_is_slow(self) -> bool:
        return self.loop.disk.slow

    def set_disk(self, slow: bool) -> None:
        self.loop.disk.slow = slow
        self.loop.disk.answer()
        self.loop.settle()

    # -- clients ------------------------------------------------------------------------------

    def connect(self, agent: str) -> Client:
        client_id = ClientId(f"{agent}-{len(self.clients) + 1}")
        session: Any = client_id
        if agent == "copilot":
            session = CopilotSession(client_id, Opening(None, None), COPILOT_TOOLS)
        client = Client(client_id, agent, session)
        self.clients.append(client)
        return client

    def call(self, client: Client, tool: str, **arguments: Any) -> Coroutine[Any, Any, Any]:
        """A tool call as its server runs it."""
        tools: ToolSet = CLAUDE_TOOLS if client.agent == "claude" else COPILOT_TOOLS
        spec = tools.get(tool)
        assert spec is not None
        call = ToolCall(b"1", spec, spec.arguments(**arguments), None)  # type: ignore[arg-type]
        run = self._claude.run if client.agent == "claude" else self._copilot.run
        return run(client.session, call)

    def open_diff(self, client: Client, name: str, tab: str, text: str) -> Request:
        path = self.path(name)
        arguments = {"new_file_contents": text, "tab_name": tab}
        if client.agent == "claude":
            arguments |= {"old_file_path": str(path), "new_file_path": str(path)}
            call = self.call(client, "openDiff", **arguments)
        else:
            call = self.call(client, "open_diff", original_file_path=str(path), **arguments)
        task = self.loop.start(call)
        begun = (self.text(path), self.loop.time(), task)
        request = Request(len(self.requests), client, path, tab, text, *begun)
        self.requests.append(request)
        return request

    # -- what the reviews say -----------------------------------------------------------------

    def _changed(self) -> None:
        known = {request.text: request for request in self.requests}
        for review in self.reviews.open():
            known[review.proposal.text].review = review

    def do(self, call: Callable[..., Any], *arguments: Any) -> None:
        """In the loop, when its turn comes."""
        self.loop.call_soon(call, *arguments)

    def event(self, work: Coroutine[Any, Any, None]) -> None:
        """As the host does with what Lua tells: an exception is a line in the log."""
        self.do(self.tasks.spawn, work, "event")

    def close_view(self, review_id: ReviewId) -> None:
        """The user closes the windows; what Lua tells."""
        self.editor.views.pop(review_id, None)
        review = self.reviews.by_id(review_id)
        if review is not None:
            if review.proposal.closing == "rejects":
                # a rejection is the end of what was typed into it
                request = self.request_of(review)
                request.allowed.add(told(Rejected(RejectedBy.VIEW_CLOSED)))
                request.typed = None
                self.editor.typed.pop(review_id, None)
            self.reviews.view_closed(review)

    def request_of(self, review: Review) -> Request:
        return next(request for request in self.requests if request.review is review)
