"""Composition root: one editor, one set of reviews, one server for each protocol.

Owns:     the parts and their life; the routing of what Lua sends; the status.
Not here: what any part does.
Above:    rplugin/python3/agent_ide_host.py hands over what comes through the channel.
Source:   doc/channel.md.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from agent_ide import log, version
from agent_ide.config import Config, EditorFacts
from agent_ide.editor import nvim as lua
from agent_ide.editor.nvim import NvimEditor
from agent_ide.editor.state import EditorState
from agent_ide.notebook.kernel import Kernels
from agent_ide.protocols.base import Context, Mention, ProtocolSpec, registered
from agent_ide.review.reviews import Review, Reviews
from agent_ide.servers import Servers
from agent_ide.tasks import Tasks

if TYPE_CHECKING:
    import pynvim

__all__ = ["Host"]

logger = logging.getLogger(__name__)

STOP_S = 1.0
"""How long servers may take to end; their files go first."""

SETTLE_S = 1.5
"""How long Neovim's end may wait for a verdict on its way; it takes a millisecond or two."""

PUBLISH_INTERVAL_S = 0.02
"""Between two statuses: each tells of all clients and reviews, so that of a hundred which come one
after another ten thousand would be told."""

SETTLED_S = 0.002
"""From a change to the status that tells of it. What is asked for goes first, a diff or a verdict,
and what changes with it is told together."""

ANSWER_TURNS = 50
"""Of the loop, from a verdict to the last byte of its answer: each step wakes the next in one."""


class Host:
    """Everything between one Neovim and its agents, from the event `start` to `stop`."""

    def __init__(
        self,
        nvim: pynvim.Nvim,
        config: Config,
        facts: EditorFacts,
        protocols: Iterable[ProtocolSpec] | None = None,
    ) -> None:
        self._editor = NvimEditor(nvim, facts.runtime_dir)
        self._config, self._facts = config, facts
        self._tasks = Tasks()
        self._events = Tasks()
        self._state = EditorState()
        self._reviews = Reviews(self._editor, self._tasks, self._changed, config.shows_diffs)
        self._kernels = Kernels(self._changed)
        self._servers = Servers(registered() if protocols is None else protocols, self._context())
        self._keeping: asyncio.Task[None] | None = None
        self._published: dict[str, Any] = {}
        self._publishing = False
        self._next_publish_s = 0.0
        self._tracking = False
        self._handlers: dict[str, Callable[[dict[str, Any]], Awaitable[None] | None]] = {
            "selection": lambda payload: self._state.select(lua.read_selection(payload)),
            "buffers": lambda payload: self._state.open_buffers(lua.read_buffers(payload)),
            "folders": lambda payload: self._state.set_folders(
                [lua.clean(str(folder)) for folder in payload["folders"]],
                # whatever is not clearly a yes is none
                {agent: says is True for agent, says in payload.get("trusted", {}).items()},
            ),
            "diagnostics": lambda payload: self._state.diagnose(
                lua.clean(str(payload["path"])), lua.read_diagnostics(payload)
            ),
            "review": self._on_review,
            "accept": self._on_accept,
            "reject": self._on_reject,
            "undo": lambda payload: self._reviews.undo(),
            "close_diffs": lambda payload: self._reviews.close_by_user(self._reviews.open()),
            "mention": self._on_mention,
            "kernel": self._on_kernel,
        }

    @classmethod
    def from_start(cls, nvim: pynvim.Nvim, payload: dict[str, Any]) -> Host:
        """A host as Lua's `start` event wants it.

        Raises:
            ConfigError: the options cannot be used.
        """
        facts = msgspec.convert(payload["editor"], EditorFacts)
        config = Config.read(payload["config"])
        log.open(facts.log_file, config.log_level)
        return cls(nvim, config, facts)

    async def run(self) -> None:
        """Say hello, start every server and see that they can be found."""
        self._editor.hello(version.read())
        try:
            await self._servers.start()
        except Exception:  # the root of the start: those that serve go on, the log has the reason
            logger.exception("! not every server has started")
            self._editor.notify("not every agent can connect; see :AgentIde log", "error")
        self._keeping = self._tasks.spawn(self._servers.keep(), "keep servers")

    def receive(self, name: str, payload: dict[str, Any]) -> None:
        """An event of Lua. Never raises: a bad one is logged."""
        handler = self._handlers.get(name)
        if handler is None:
            logger.error("! Lua sent the unknown event %r", name)
            return
        try:
            work = handler(payload)
        except Exception:  # the root of every event: Neovim must not see a traceback
            logger.exception("! event %s", name)
            return
        if work is not None:
            self._events.spawn(_finish(work), f"event {name}")

    def receive_reply(self, call_id: int, ok: bool, value: Any) -> None:
        self._editor.receive_reply(call_id, ok, value)

    def remove_files(self) -> None:
        """What must not outlive the host, at once and without a loop."""
        self._servers.remove_files()
        self._kernels.kill()

    async def settle(self) -> None:
        """Let what the user has decided until now reach the agents; bounded in time."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(SETTLE_S):
                await self._events.idle()
                for _ in range(ANSWER_TURNS):
                    await asyncio.sleep(0)

    async def stop(self) -> None:
        """End every server politely, bounded in time."""
        # a long life shows here: it has no more of them than a short one
        logger.debug("= the host stops with %d tasks", len(asyncio.all_tasks()))
        if self._keeping is not None:
            self._keeping.cancel()
        try:
            async with asyncio.timeout(STOP_S):
                await asyncio.gather(self._servers.stop(), self._kernels.close())
                await self._events.close()
                await self._tasks.close()
        except TimeoutError:
            logger.warning("! not everything ended within %s s", STOP_S)

    def _context(self) -> Context:
        return Context(
            config=self._config,
            facts=self._facts,
            environ=os.environ,
            editor=self._editor,
            state=self._state,
            reviews=self._reviews,
            kernels=self._kernels,
            tasks=self._tasks,
            on_change=self._changed,
        )

    # -- what the user does ---------------------------------------------------------------------

    async def _on_review(self, payload: dict[str, Any]) -> None:
        review = self._reviews.by_id(int(payload["id"]))
        match payload["event"]:
            case "accept":
                if review is not None and payload.get("as_proposed") is True:
                    await self._reviews.accept(review, review.proposal.text)
                elif review is not None:
                    # not held here: it may be large
                    await self._reviews.accept(review, self._editor.unpack_text(payload))
                elif "text_file" in payload:
                    self._editor.unpack_text(payload)  # its file goes
            case "reject" if review is not None:
                self._reviews.reject(review)
            case "show" if review is not None:
                self._reviews.show(review)
            case "closed" if review is not None:
                self._reviews.view_closed(review)

    async def _on_accept(self, payload: dict[str, Any]) -> None:
        review = self._named(payload)
        if review is not None:
            await self._reviews.accept(review, review.proposal.text)

    def _on_reject(self, payload: dict[str, Any]) -> None:
        review = self._named(payload)
        if review is not None:
            reason = payload.get("reason")
            self._reviews.reject(review, lua.clean(str(reason)) if reason else None)

    def _named(self, payload: dict[str, Any]) -> Review | None:
        if payload.get("id") is not None:
            return self._reviews.by_id(int(payload["id"]))
        name = payload.get("name")
        review = self._reviews.by_name(lua.clean(str(name)) if name else None)
        if review is None:
            self._editor.notify("no review waits under that name" if name else "no review waits")
        return review

    async def _on_mention(self, payload: dict[str, Any]) -> None:
        """Lua sends one when a client is ready; it may have gone on the way."""
        lines = (payload.get("start_line"), payload.get("end_line"))
        mention = Mention(lua.clean(str(payload["path"])), *lines)
        server = self._servers.running.get(str(payload["agent"]))
        if server is None or not await server.mention(mention, payload.get("terminal_pid")):
            name = os.path.basename(mention.path)
            self._editor.notify(f"{name} was not sent: nobody is connected any more", "warn")

    async def _on_kernel(self, payload: dict[str, Any]) -> None:
        await (self._kernels.restart() if payload["action"] == "restart" else self._kernels.stop())
        self._editor.notify(f"the notebook's kernel: {payload['action']} done")

    # -- the status -------------------------------------------------------------------------------

    def _changed(self) -> None:
        """Publish soon."""
        if not self._publishing:
            self._publishing = True
            loop = asyncio.get_running_loop()
            loop.call_at(max(loop.time() + SETTLED_S, self._next_publish_s), self._publish)

    def _publish(self) -> None:
        self._publishing = False
        self._next_publish_s = asyncio.get_running_loop().time() + PUBLISH_INTERVAL_S
        status = self._status()
        if status == self._published:
            return
        self._published = status
        self._editor.publish(status)
        connected = bool(status["clients"])
        if connected != self._tracking:
            self._tracking = connected
            self._editor.track(connected)

    def _status(self) -> dict[str, Any]:
        status: dict[str, Any] = {
            **self._servers.status(),
            "reviews": [review.status() for review in self._reviews.open()],
        }
        if self._kernels.running:
            status["kernel"] = self._kernels.running[0]
        return status


async def _finish(work: Awaitable[None]) -> None:
    await work
