"""Serves Copilot CLI: the lock file, the sessions, the pushes.

Owns:     the server, its lock file and socket, every session.
Not here: messages (session.py, messages.py), tools (tools.py), HTTP and the pushes' pace
          (transports/).
Above:    host.py starts and stops it through `PROTOCOL`.
"""

from __future__ import annotations

import itertools
import logging
import os
import time
import uuid
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Literal

import msgspec

from agent_ide.errors import RpcError, ServeError
from agent_ide.model import ClientId, Position, Range
from agent_ide.protocols.base import Agent, ClientStatus, Context, Mention, ProtocolSpec, Served
from agent_ide.protocols.copilot_ide import discovery, messages, places
from agent_ide.protocols.copilot_ide.peer import CopilotPeer
from agent_ide.protocols.copilot_ide.session import CopilotSession, Opening, read_opening
from agent_ide.protocols.copilot_ide.tools import AGENT, TITLE, TOOLS, CopilotTools, DiffPolicy
from agent_ide.protocols.peers import Peers
from agent_ide.transports import lockfile
from agent_ide.transports.discovery_file import DiscoveryFile
from agent_ide.transports.streamable_http import (
    Admission,
    HttpServer,
    Session,
    listen_pipe,
    listen_unix,
)
from agent_ide.trust import is_trusted

__all__ = ["PROTOCOL", "CopilotServer"]

logger = logging.getLogger(__name__)


class CopilotConfig(msgspec.Struct, frozen=True):
    """Options of this protocol.

    env:   of the CLI when Neovim starts it; it may say where that CLI looks.
    trust: patterns of folders for which the CLI need not ask whether it may trust them.
    """

    env: dict[str, str] = msgspec.field(default_factory=dict)
    trust: list[str] = msgspec.field(default_factory=list)
    max_body_bytes: int = 16 * 1024 * 1024
    on_close: Literal["reject", "terminal"] = "reject"
    diff_timeout_s: float | None = None


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
        self._peers: Peers[CopilotPeer] = Peers()
        self._numbers = itertools.count(1)
        self._folder = discovery.lock_folder({**context.environ, **self._config.env})
        self._file = DiscoveryFile("Copilot", partial(context.editor.notify, level="error"))
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
        for _, lock in lockfile.sweep(self._folder, discovery.LOCK_PATTERN, places.refuses):
            places.remove_socket(lock)
        self._remove_predecessor()
        # nothing but these two names reaches a unix socket; the CLI says localhost
        admission = Admission((self._authorization,), frozenset({"localhost", "127.0.0.1"}))
        limit = self._config.max_body_bytes
        name = discovery.socket_name(self._guid)
        if os.name == "nt":
            self._server = await listen_pipe(self, admission, rf"\\.\pipe\{name}", limit)
        else:
            folder = places.socket_folder(
                self._context.environ, self._context.facts.runtime_dir, name
            )
            self._server = await listen_unix(self, admission, folder / name, limit)
        self._write_lock()
        logger.info("= serving Copilot CLI on %s", self.address)

    def _remove_predecessor(self) -> None:
        """The lock of this Neovim's host before: with two, the CLI keeps to the dead one."""
        for path in self._folder.glob(discovery.LOCK_PATTERN):
            prior = lockfile.read_ours(path)
            if prior is not None and prior.get("pid") == self._context.facts.pid:
                lockfile.remove(path)
                places.remove_socket(prior)

    def _editor_info(self) -> dict[str, str]:
        facts = self._context.facts
        return {
            "version": facts.version,
            "appName": "Neovim",
            "appRoot": facts.runtime,
            "language": facts.language,
            "machineId": places.machine_id(Path(facts.state_dir) / "machine-id"),
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
            if peer.present
        ]

    async def mention(self, mention: Mention, pid: int | None) -> bool:
        ready = [peer for peer in self._peers.values() if peer.pushed.open]
        if not ready:
            return False
        of_pid = [peer for peer in ready if pid is not None and peer.session.opening.pid == pid]
        peer = of_pid[0] if of_pid else max(ready, key=lambda peer: peer.last_heard_s)
        peer.pushed.post(messages.reference(mention.path, *self._lines_of(mention)))
        return True

    def _lines_of(self, mention: Mention) -> tuple[Range | None, str | None]:
        """What the mention covers; with columns and text where it is what is selected."""
        if mention.start_line is None or mention.end_line is None:
            return None, None
        selected = self._context.state.latest
        if selected is not None and selected.path == mention.path and not selected.range.empty:
            lines = (selected.range.start.line, selected.range.end.line)
            if lines == (mention.start_line, mention.end_line):
                return selected.range, selected.text
        return Range(Position(mention.start_line, 0), Position(mention.end_line, 1)), None

    def restore(self) -> bool:
        if self._server is not None and self._server.path and not self._server.path.is_socket():
            return False  # nobody new can come in through it
        if not os.path.lexists(self._lock):
            self._write_lock()
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
        for peer in self._peers.surplus():
            self.close(peer)
        return self._begin(opening)

    def _begin(self, opening: Opening) -> CopilotPeer:
        client = ClientId(f"{AGENT}-{next(self._numbers)}")
        session = CopilotSession(client, opening, TOOLS)
        peer = CopilotPeer(session, self._tools, self._peer_changed)
        self._peers[peer.id] = peer
        peer.refresh("selection", self._render_selection)
        logger.info("= %s begins a session", client)
        return peer

    def close(self, session: Session) -> None:
        peer = self._peers.pop(session.id, None)
        if peer is not None:
            logger.info("= %s ends its session", peer.session.client)
            peer.end()
            self._context.reviews.client_gone(peer.session.client)
            self._context.on_change()

    def _peer_changed(self, peer: CopilotPeer) -> None:
        if not peer.present:
            self._context.reviews.client_gone(peer.session.client)
        self._context.on_change()

    # -- pushes ---------------------------------------------------------------------------------

    def _selection_changed(self) -> None:
        selection = self._context.state.selection
        if selection is not None:
            self._last_path = selection.path
        for peer in self._peers.values():
            peer.refresh("selection", self._render_selection)

    def _render_selection(self) -> bytes | None:
        selection = self._context.state.selection
        if selection is None and not self._last_path:
            return None
        return messages.selection_changed(selection, self._last_path)

    def _diagnostics_changed(self, path: str) -> None:
        for peer in self._peers.values():
            peer.changed_files[path] = None
            peer.pushed.refresh("diagnostics", partial(self._render_diagnostics, peer))

    def _render_diagnostics(self, peer: CopilotPeer) -> bytes | None:
        files = peer.take_changed(self._context.state.diagnostics)
        if peer.changed_files:
            peer.pushed.refresh("diagnostics", partial(self._render_diagnostics, peer))
        return messages.diagnostics_changed(files)

    # -- the lock file ----------------------------------------------------------------------------

    def _write_lock(self) -> None:
        if self._server is None:
            return
        state = self._context.state
        folders = state.real_folders()
        trusted = state.trusted.get(AGENT)
        if trusted is None:
            trusted = is_trusted(folders, self._config.trust)
        content = discovery.lock_content(
            address=self.address,
            authorization=self._authorization,
            pid=self._context.facts.pid,
            timestamp_ms=time.time_ns() // 1_000_000,
            folders=folders,
            trusted=trusted,
        )
        # a rename over it means "connection lost" to a CLI
        watched = any(peer.present for peer in self._peers.values())
        self._file.write(self._lock, content, in_place=watched)


async def _serve(context: Context) -> Served:
    server = CopilotServer(context)
    try:
        await server.start()
    except ServeError:
        await server.stop()  # another attempt is made with another one
        raise
    return {AGENT: server}


PROTOCOL = ProtocolSpec((Agent(AGENT, TITLE),), _serve)
