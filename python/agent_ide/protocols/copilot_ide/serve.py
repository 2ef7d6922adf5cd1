"""Serves Copilot CLI: the lock file, the sessions, the pushes.

Owns:     the server, its lock file and socket, every session.
Not here: messages (session.py, messages.py), tools (tools.py), HTTP and the pushes' pace
          (transports/).
Above:    host.py starts and stops it through `PROTOCOL`.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import time
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Literal

import msgspec

from agent_ide.errors import RpcError, ServeError, ToolError
from agent_ide.model import ClientId
from agent_ide.protocols.base import ClientStatus, Context, Mention, ProtocolSpec
from agent_ide.protocols.calls import outcome
from agent_ide.protocols.copilot_ide import discovery, messages
from agent_ide.protocols.copilot_ide.session import CopilotSession, Opening, read_opening
from agent_ide.protocols.copilot_ide.tools import AGENT, TITLE, TOOLS, CopilotTools, DiffPolicy
from agent_ide.transports import lockfile
from agent_ide.transports.pushes import Pushes
from agent_ide.transports.streamable_http import (
    MAX_UNIX_PATH_BYTES,
    Admission,
    HttpServer,
    Session,
    listen_pipe,
    listen_unix,
)
from agent_ide.wire.mcp import Exchange, ToolCall, ToolResult

__all__ = ["PROTOCOL", "CopilotServer"]

logger = logging.getLogger(__name__)

PUSH_INTERVAL_S = 0.2

CALL_S = 30.0
"""For every tool but open_diff, which waits for the user."""

GONE_AFTER_S = 5.0
"""A client without a push stream and without a request for so long is not shown as connected."""

MAX_SESSIONS = 100


class CopilotConfig(msgspec.Struct, frozen=True):
    """Options of this protocol.

    trust: patterns of folders for which the CLI need not ask whether it may trust them.
    """

    trust: list[str] = msgspec.field(default_factory=list)
    max_body_bytes: int = 16 * 1024 * 1024
    on_close: Literal["reject", "terminal"] = "reject"
    diff_timeout_s: float | None = None


class Peer:
    """One session: what the transport asks of it, and what the server pushes to it."""

    def __init__(
        self, session: CopilotSession, tools: CopilotTools, on_change: Callable[[], None]
    ) -> None:
        self.id = str(uuid.uuid4())
        self.session = session
        self.pushed = Pushes(PUSH_INTERVAL_S, on_change)
        self._on_change = on_change
        self.changed_paths: dict[str, None] = {}
        self.busy = 0
        self.last_heard_s = asyncio.get_running_loop().time()
        self._tools = tools
        self._calls: dict[ToolCall, asyncio.Task[bytes | None]] = {}

    @property
    def connected(self) -> bool:
        return self.pushed.open or self.busy > 0

    def receive(self, body: bytes) -> Exchange:
        self.last_heard_s = asyncio.get_running_loop().time()
        exchange = self.session.mcp.receive(body)
        self._on_change()
        for call in exchange.cancelled:
            if call in self._calls:
                self._calls[call].cancel()
        return exchange

    async def answer(self, exchange: Exchange) -> bytes | None:
        tasks = {call: asyncio.ensure_future(self._run(call)) for call in exchange.calls}
        self._calls.update(tasks)
        self.busy += 1
        try:
            await asyncio.wait(tasks.values())
        finally:
            self.busy -= 1
            self._on_change()
            for call, task in tasks.items():
                task.cancel()
                del self._calls[call]
        replies = [task.result() for task in tasks.values()]
        return next((reply for reply in replies if reply is not None), None)

    async def _run(self, call: ToolCall) -> bytes | None:
        try:
            return await outcome(call, self._bounded(call))
        except asyncio.CancelledError:
            return call.exchange.drop(call)

    async def _bounded(self, call: ToolCall) -> ToolResult:
        deadline_s = None if call.spec.name == "open_diff" else CALL_S
        try:
            async with asyncio.timeout(deadline_s):
                return await self._tools.run(self.session, call)
        except TimeoutError:
            raise ToolError(f"{call.spec.name}: no answer within {CALL_S:.0f} s") from None

    def pushes(self) -> AsyncIterator[bytes]:
        return self.pushed.stream()


class CopilotServer:
    """A listening server and its sessions (transports.streamable_http.Service)."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._config = context.config.section(AGENT, CopilotConfig)
        self._guid = str(uuid.uuid4())
        self._authorization = f"Nonce {uuid.uuid4()}"
        self._tools = CopilotTools(
            context.editor,
            context.state,
            context.reviews,
            DiffPolicy(
                self._config.diff_timeout_s,
                "hides" if self._config.on_close == "terminal" else "rejects",
            ),
            self._editor_info(),
            context.config.track_selection,
        )
        self._peers: dict[str, Peer] = {}
        self._numbers = itertools.count(1)
        self._folder = discovery.lock_folder(context.environ)
        self._server: HttpServer | None = None
        self._last_path = ""
        self._unlisten = [
            context.state.on_selection(self._selection_changed),
            context.state.on_diagnostics(self._diagnostics_changed),
            context.state.on_folders(self._write_lock),
        ]

    async def start(self) -> None:
        """Listen first, write the lock second.

        Raises:
            ServeError: no socket, or no folder for the lock.
        """
        lockfile.ensure_private_folder(self._folder)
        for _, lock in lockfile.sweep(self._folder, discovery.LOCK_PATTERN, _refuses):
            lockfile.remove(Path(str(lock.get("socketPath"))))
        self._remove_predecessor()
        # nothing but these two names reaches a unix socket; the CLI says localhost
        admission = Admission(self._authorization, frozenset({"localhost", "127.0.0.1"}))
        limit = self._config.max_body_bytes
        name = discovery.socket_name(self._guid)
        if os.name == "nt":
            self._server = await listen_pipe(self, admission, rf"\\.\pipe\{name}", limit)
        else:
            folder = _socket_folder(self._context.environ, self._context.facts.runtime_dir, name)
            self._server = await listen_unix(self, admission, folder / name, limit)
        self._write_lock()
        logger.info("= serving Copilot CLI on %s", self.address)

    def _remove_predecessor(self) -> None:
        """The lock of this Neovim's host before: with two, the CLI keeps to the dead one."""
        for path in self._folder.glob(discovery.LOCK_PATTERN):
            prior = lockfile.read_ours(path)
            if prior is not None and prior.get("pid") == self._context.facts.pid:
                lockfile.remove(path)
                lockfile.remove(Path(str(prior.get("socketPath"))))

    def _editor_info(self) -> dict[str, str]:
        facts = self._context.facts
        return {
            "version": facts.version,
            "appName": "Neovim",
            "appRoot": facts.runtime,
            "language": facts.language,
            "machineId": _machine_id(Path(facts.state_dir) / "machine-id"),
            "sessionId": f"{uuid.uuid4()}{time.time_ns() // 1_000_000}",
            "uriScheme": "nvim",
            "shell": facts.shell,
        }

    # -- what the host asks (protocols.base.Running) -------------------------------------------

    @property
    def address(self) -> str:
        assert self._server is not None, "start() comes first"
        return self._server.address

    @property
    def _lock(self) -> Path:
        return self._folder / discovery.lock_name(self._guid)

    def files(self) -> list[Path]:
        assert self._server is not None, "start() comes first"
        return [self._lock, *([self._server.path] if self._server.path else [])]

    def launch_env(self) -> dict[str, str]:
        return {}

    def clients(self) -> list[ClientStatus]:
        return [
            ClientStatus(
                id=peer.session.client,
                name=peer.session.mcp.client.name,
                version=peer.session.mcp.client.version,
                pid=peer.session.opening.pid,
                cwd=None,
                ready=peer.pushed.open,
                session_name=peer.session.name,
            )
            for peer in self._peers.values()
            if peer.connected
        ]

    async def mention(self, mention: Mention, pid: int | None) -> bool:
        ready = [peer for peer in self._peers.values() if peer.pushed.open]
        if not ready:
            return False
        of_pid = [peer for peer in ready if pid is not None and peer.session.opening.pid == pid]
        peer = of_pid[0] if of_pid else max(ready, key=lambda peer: peer.last_heard_s)
        peer.pushed.post(
            messages.add_file_reference(mention.path, mention.start_line, mention.end_line)
        )
        return True

    async def stop(self) -> None:
        while self._unlisten:
            self._unlisten.pop()()
        if self._server is None:
            return
        lockfile.remove(self._lock)
        for peer in list(self._peers.values()):
            self.close(peer)
        await self._server.close()

    # -- sessions (transports.streamable_http.Service) -----------------------------------------

    def find(self, session_id: str) -> Session | None:
        return self._peers.get(session_id)

    def open(self, headers: Mapping[str, str], body: bytes) -> Session | RpcError:
        opening = read_opening(headers, body)
        if isinstance(opening, RpcError):
            return opening
        for peer in list(self._peers.values()):
            if opening.cli_session and peer.session.opening.cli_session == opening.cli_session:
                # the CLI reloads its servers without saying goodbye
                self.close(peer)
        while len(self._peers) >= MAX_SESSIONS:
            self.close(next(iter(self._peers.values())))
        return self._begin(opening)

    def _begin(self, opening: Opening) -> Peer:
        client = ClientId(f"{AGENT}-{next(self._numbers)}")
        session = CopilotSession(client, opening, TOOLS)
        peer = Peer(session, self._tools, lambda: self._changed(peer))
        self._peers[peer.id] = peer
        self._refresh_selection(peer)
        logger.info("= %s begins a session", client)
        return peer

    def close(self, session: Session) -> None:
        peer = self._peers.pop(session.id, None)
        if peer is not None:
            logger.info("= %s ends its session", peer.session.client)
            peer.pushed.end()
            self._context.reviews.client_gone(peer.session.client)
            self._context.on_change()

    def _changed(self, peer: Peer) -> None:
        self._context.on_change()
        if not peer.connected and peer.id in self._peers:
            # a killed CLI only drops its connections; a living one comes back within a second
            loop = asyncio.get_running_loop()
            loop.call_later(GONE_AFTER_S, self._look_after, peer)

    def _look_after(self, peer: Peer) -> None:
        if not peer.connected and peer.id in self._peers:
            self._context.reviews.client_gone(peer.session.client)

    # -- pushes ---------------------------------------------------------------------------------

    def _selection_changed(self) -> None:
        selection = self._context.state.selection
        if selection is not None:
            self._last_path = selection.path
        for peer in self._peers.values():
            self._refresh_selection(peer)

    def _refresh_selection(self, peer: Peer) -> None:
        state = self._context.state

        def render() -> bytes | None:
            if state.selection is None and not self._last_path:
                return None
            return messages.selection_changed(state.selection, self._last_path)

        peer.pushed.refresh("selection", render)

    def _diagnostics_changed(self, path: str) -> None:
        for peer in self._peers.values():
            peer.changed_paths[path] = None
            peer.pushed.refresh("diagnostics", partial(self._render_diagnostics, peer))

    def _render_diagnostics(self, peer: Peer) -> bytes | None:
        changed, peer.changed_paths = peer.changed_paths, {}
        files = [(path, self._context.state.diagnostics.get(path, ())) for path in changed]
        return messages.diagnostics_changed(files)

    # -- the lock file ----------------------------------------------------------------------------

    def _write_lock(self) -> None:
        if self._server is None:
            return
        folders = self._context.state.real_folders()
        content = discovery.lock_content(
            address=self.address,
            authorization=self._authorization,
            pid=self._context.facts.pid,
            timestamp_ms=time.time_ns() // 1_000_000,
            folders=folders,
            trusted=discovery.is_trusted(folders, self._config.trust),
        )
        try:
            if self._lock.exists() and any(peer.connected for peer in self._peers.values()):
                # a rename over it means "connection lost" to a CLI
                lockfile.write_in_place(self._lock, content)
            else:
                lockfile.write_atomically(self._lock, content)
        except OSError as error:
            self._context.editor.notify(
                f"Copilot cannot find Neovim: {self._lock} cannot be written ({error.strerror})",
                "error",
            )


def _refuses(_path: Path, lock: lockfile.Lock) -> bool:
    return lockfile.socket_refuses(str(lock.get("socketPath")))


def _socket_folder(environ: Mapping[str, str], runtime_dir: str, name: str) -> Path:
    """`$XDG_RUNTIME_DIR` where it is ours alone and short enough, else Neovim's private folder.

    Raises:
        ServeError: neither is.
    """
    problems = []
    for folder in (environ.get("XDG_RUNTIME_DIR"), runtime_dir):
        if not folder:
            continue
        if len(os.fsencode(folder)) + 1 + len(name) > MAX_UNIX_PATH_BYTES:
            problems.append(f"{folder} is too long for a socket")
            continue
        if lockfile.is_private(Path(folder)):
            return Path(folder)
        problems.append(f"{folder} is not a folder of this user alone (mode 0700)")
    raise ServeError("; ".join(problems))


def _machine_id(path: Path) -> str:
    """A random uuid that stays; says nothing about the machine."""
    try:
        return str(uuid.UUID(path.read_text()))
    except (OSError, ValueError):
        fresh = str(uuid.uuid4())
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(fresh)
    except OSError as error:
        logger.warning("! %s cannot be written: %s", path, error.strerror)
    return fresh


async def _serve(context: Context) -> CopilotServer:
    server = CopilotServer(context)
    await server.start()
    return server


PROTOCOL = ProtocolSpec(AGENT, TITLE, _serve)
