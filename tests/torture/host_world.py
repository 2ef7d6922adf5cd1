"""Neovim, its host and scripted CLIs, for a state machine: what each does, and what there is.

Owns:     the connected CLIs and what they asked; what the user typed; the project's files.
Not here: what is done in which order, what must hold (test_host_states.py).
"""

from __future__ import annotations

import re
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from websockets.exceptions import ConnectionClosed

from tests.servers import claude, copilot
from tests.support.live import Live
from tests.support.neovim import LIMIT_S, wait_until
from tests.torture.host_lua import CLEAN, PROBLEMS, SELECT, TEXTS
from tests.transports.http import Wire

__all__ = ["FILES", "LIMIT", "Agent", "HostWorld", "Question"]

FILES = ("a.txt", "b.txt", "new.txt")

LIMIT = 6 * LIMIT_S

OPTIONS = "copilot = { on_close = 'terminal' }"


@dataclass(eq=False)
class Agent:
    """A connected CLI."""

    kind: str
    client: Any
    connected: bool = True


@dataclass(eq=False)
class Question:
    """An open_diff.

    handle: its id (Claude), or the connection that it is open on (Copilot).
    reply:  Copilot's answer, when it comes.
    typed:  what the user typed into its proposal, once the agent is the one to take it or not.
    """

    agent: Agent
    path: Path
    tab: str
    text: str
    handle: Any
    reply: Any = None
    typed: list[str] = field(default_factory=list)

    def answers(self) -> list[str]:
        """Every answer to it, in the words of its protocol."""
        if isinstance(self.handle, Wire):
            if not self.reply.done() or self.reply.cancelled() or self.reply.exception():
                return []
            body = self.reply.result().decode()
            return re.findall(r"^data: (.+)$", body, re.MULTILINE) or [body]
        heard = self.agent.client.heard
        return [str(item) for item in list(heard) if item.get("id") == self.handle]

    @property
    def open(self) -> bool:
        return self.agent.connected and not self.answers()


class HostWorld:
    """One Neovim; `clean` makes it ready for the next example."""

    def __init__(self) -> None:
        self.live = Live(OPTIONS)
        self.editor = self.live.editor
        self.agents: list[Agent] = []
        self.questions: list[Question] = []
        self.numbers = 0
        self.killed_s = -1000.0
        self.happened: Counter[str] = Counter()
        self.problems: list[str] = []
        self.editor.lua(SELECT)
        self.clean()

    def close(self) -> None:
        try:
            for agent in self.agents:
                self.disconnect(agent, politely=False)
        finally:
            self.live.__exit__()

    def evidence(self) -> str:
        """For a failure: what is on the screen, and the end of the log."""
        asked = "\n".join(map(str, self.questions))
        screen = self.editor.terminal.text()
        return f"{screen}\n{asked}\nproblems: {self.problems}\n{self.live.log()[-5000:]}"

    # -- agents -------------------------------------------------------------------------------

    def connected(self, kind: str | None = None) -> list[Agent]:
        return [agent for agent in self.agents if agent.connected and kind in (None, agent.kind)]

    def connect(self, kind: str) -> None:
        client = self.live.claude() if kind == "claude" else self.live.copilot()
        self.agents.append(Agent(kind, client))

    def disconnect(self, agent: Agent, politely: bool) -> None:
        agent.connected = False
        self.live.run(self._leave(agent.client, politely))

    @staticmethod
    async def _leave(client: Any, politely: bool) -> None:
        try:
            if politely and isinstance(client, claude.Client):
                await client.close()
            elif politely:
                await client.delete()
        except (OSError, EOFError, ConnectionClosed):
            # the host was quicker
            pass
        finally:
            await client.kill()

    def all_lost(self) -> None:
        """The host has ended: nobody is connected."""
        for agent in self.connected():
            self.disconnect(agent, politely=False)

    def ask(self, agent: Agent, name: str, tab: str, text: str) -> None:
        path = self.live.project / name
        handle = self.live.run(agent.client.open_diff(path, text, tab))
        question = Question(agent, path, tab, text, handle)
        if isinstance(agent.client, copilot.Client):
            question.reply = self.live.start(self._verdict(handle))
        self.questions.append(question)

    @staticmethod
    async def _verdict(wire: Wire) -> bytes:
        """The body of an answer; no deadline: the user takes their time."""
        head, body = await wire.reader.readuntil(b"\r\n\r\n"), b""
        if b"chunked" not in head.lower():
            return head
        while size := int(await wire.reader.readline(), 16):
            body += await wire.reader.readexactly(size)
            await wire.reader.readexactly(2)
        return body

    def close_tab(self, agent: Agent, tab: str) -> None:
        tool = "close_tab" if agent.kind == "claude" else "close_diff"
        self.live.run(agent.client.call(tool, tab_name=tab))

    # -- the user -----------------------------------------------------------------------------

    def unique(self) -> str:
        self.numbers += 1
        return f"unique {self.numbers}"

    def type(self, text: str) -> None:
        """A line into the proposal that is shown, if one can be edited."""
        self.normal_mode()
        if self.in_proposal() and self.editor.lua("return vim.bo.modifiable"):
            review = int(self.editor.lua("return vim.b.agent_ide_review or 0"))
            self.editor.feed(f"ggO{text}<Esc>")
            for entry in self.editor.reviews():
                question = self._question_of(entry)
                if entry["id"] == review and question is not None:
                    question.typed.append(text)
                    self.happened["texts typed"] += 1

    def _question_of(self, entry: dict[str, Any]) -> Question | None:
        """The open one of a review."""
        for question in self.questions:
            said = (question.agent.kind, question.tab, str(question.path))
            if question.open and said == (entry["agent"], entry["tab_name"], entry["path"]):
                return question
        return None

    def in_proposal(self) -> bool:
        return bool(self.editor.lua("return vim.bo.buftype == 'acwrite'"))

    def let_go(self) -> None:
        """The user gives up what was typed into what is open now."""
        for question in self.questions:
            if question.open:
                question.typed.clear()

    def normal_mode(self) -> None:
        self.editor.nvim.call("nvim_input", "<C-\\><C-n><Esc>")
        wait_until(lambda: self.editor.mode() in ("n", "nt"), "Normal mode", LIMIT)

    def end_recording(self) -> None:
        if self.editor.call("reg_recording"):
            self.editor.feed("q")

    def try_command(self, command: str) -> None:
        """A command that Neovim may refuse: that is no fault of ours."""
        self.editor.lua("pcall(vim.cmd, ...) vim.v.errmsg = ''", command)

    # -- faults -------------------------------------------------------------------------------

    def may_kill(self) -> bool:
        """A host that ends too often is given up, which is right."""
        return time.monotonic() - self.killed_s > 25

    # -- what there is --------------------------------------------------------------------------

    def wait_consistent(self) -> None:
        """What the host says and what is to be seen fit together, soon."""
        wait_until(
            lambda: "yes" if not (found := self.editor.lua(PROBLEMS)) else self._told(found),
            "that all fits together",
            LIMIT,
        )

    def _told(self, problems: list[str]) -> str:
        self.problems = problems
        return ""

    def errors(self) -> list[str]:
        """What Neovim has called an error."""
        found = re.findall(r"^.*\bE\d+:.*$|^Error.*$", self.editor.messages(), re.MULTILINE)
        return [*found, *filter(None, [self.editor.call("eval", "v:errmsg")])]

    def texts(self) -> str:
        """Everything in which a typed text may be found: buffers, files, what is kept, answers."""
        kept = (self.live.folder / "state").rglob("kept/*")
        files = [*self.live.project.iterdir(), *kept]
        answers = [text for question in self.questions for text in question.answers()]
        read = [path.read_text(encoding="utf-8") for path in files if path.is_file()]
        return "\n".join([*self.editor.lua(TEXTS), *read, *answers])

    def has_all(self, typed: list[str]) -> bool:
        found = self.texts()
        # as whole lines: one may be the beginning of another
        self.problems = [text for text in typed if not re.search(rf"\b{text}\b", found)]
        return not self.problems

    def count(self) -> None:
        """What became of this example's questions, for the figures."""
        self.happened["diffs asked for"] += len(self.questions)
        self.happened["texts typed and found again"] += sum(len(q.typed) for q in self.questions)
        for question in self.questions:
            for answer in question.answers():
                accepted = "SAVED" in answer
                self.happened["accepted" if accepted else "rejected or withdrawn"] += 1
            self.happened["ended with their connection"] += not question.answers()

    def clean(self) -> None:
        """No window, buffer, file or agent of the last example is left."""
        self.normal_mode()
        self.end_recording()
        self.editor.lua(CLEAN)
        for path in [*self.live.project.iterdir(), *(self.live.folder / "state").rglob("kept/*")]:
            path.unlink()
        for name in FILES[:2]:
            (self.live.project / name).write_text("one\ntwo\nthree\n", encoding="utf-8")
        self.agents, self.questions = [], []
        self.editor.lua("vim.cmd.edit(...)", str(self.live.project / FILES[0]))
