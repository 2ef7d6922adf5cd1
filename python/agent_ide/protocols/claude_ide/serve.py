"""Serves Claude Code: the lock file, the connections, the pushes.

Owns:     the server, its lock file, every connected session.
Not here: messages (session.py, messages.py), tools (tools.py), bytes (transports/websocket.py).
Above:    host.py starts and stops it through `PROTOCOL`.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import secrets
from collections.abc import Awaitable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import msgspec

from agent_ide import version
from agent_ide.errors import RpcError, ServeError
from agent_ide.model import ClientId
from agent_ide.protocols.base import Agent, ClientStatus, Context, Mention, ProtocolSpec, Served
from agent_ide.protocols.calls import begin
from agent_ide.protocols.claude_ide import discovery, messages
from agent_ide.protocols.claude_ide.session import ClaudeSession, Identity
from agent_ide.protocols.claude_ide.tools import AGENT, TITLE, TOOLS, ClaudeTools
from agent_ide.tasks import Tasks
from agent_ide.transports import lockfile
from agent_ide.transports.discovery_file import DiscoveryFile
from agent_ide.transports.reading import read
from agent_ide.transports.websocket import Admission, Connection, WebSocketServer, listen
from agent_ide.wire import jsonrpc
from agent_ide.wire.mcp import ToolCall

__all__ = ["PROTOCOL", "ClaudeServer"]

logger = logging.getLogger(__name__)

TOKEN_HEADER = "x-claude-code-ide-authorization"

FIRST_PUSH_S = 0.5
"""After `ide_connected`: the CLI attaches its handlers a moment later, earlier pushes are lost."""

READY_S = 1.0
"""After `ide_connected`: from then on a mention is taken for sure; one lost is not seen again."""


class ClaudeConfig(msgspec.Struct, frozen=True):
    """Options of this protocol.

    env: of the CLI when Neovim starts it; it may say where that CLI looks.
    """

    env: dict[str, str] = msgspec.field(default_factory=dict)
    port_min: int = 10000
    port_max: int = 65535


MAX_CALLS = 16
"""Of one client, in work or not taken by it yet, before it is heard again; without what the user
may leave open for ever. An answer is 16 MiB at most."""

PATIENT = frozenset({"openDiff", "executeCode"})

EVERY_PROMPT = "closeAllDiffTabs"
"""The CLI calls it as the user sends a prompt (doc/decisions/001)."""


@dataclass(eq=False, slots=True)
class Peer:
    """One connected CLI.

    Attributes:
        calls:    the task of each tool call in flight.
        slots:    for calls that end by themselves.
        wakeup:   set when the selection has changed since the last push.
        pushed_to: it has said `ide_connected`, however often.
        ready:    it has said so, and time enough has passed.
        prompts:  how many the user has sent to it.
        known:    who it is, as was told last.
    """

    session: ClaudeSession
    connection: Connection
    tasks: Tasks = field(default_factory=Tasks)
    calls: dict[ToolCall, asyncio.Task[None]] = field(default_factory=dict)
    slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MAX_CALLS))
    wakeup: asyncio.Event = field(default_factory=asyncio.Event)
    pushed_to: bool = False
    ready: bool = False
    prompts: int = 0
    last_heard_s: float = 0.0
    known: Identity | None = None


class ClaudeServer:
    """A listening server and its clients."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._tools = ClaudeTools(
            context.editor,
            context.state,
            context.reviews,
            context.kernels,
            context.config.track_selection,
        )
        self._peers: dict[ClientId, Peer] = {}
        self._numbers = itertools.count(1)
        self._config = context.config.section(AGENT, ClaudeConfig)
        self._folder = discovery.lock_folder({**context.environ, **self._config.env})
        self._file = DiscoveryFile("Claude", partial(context.editor.notify, level="error"))
        self._token = ""
        self._server: WebSocketServer | None = None
        self._unlisten = [
            context.state.on_selection(self._selection_changed),
            context.state.on_folders(self._write_lock),
        ]

    async def start(self) -> None:
        """Listen first, write the lock second: the CLI tries once.

        Raises:
            ServeError: no port, or no folder for the lock.
        """
        lockfile.ensure_private_folder(self._folder)
        lockfile.sweep(self._folder, discovery.LOCK_PATTERN, _refuses)
        if not await self._listen_again():
            await self._listen_anew()
        self._write_lock()
        logger.info("= serving Claude Code on port %d", self._port)

    async def _listen_again(self) -> bool:
        """On the port and with the token of this Neovim's host before; its CLIs know no other."""
        for path in sorted(self._folder.glob(discovery.LOCK_PATTERN)):
            port, prior = discovery.port_of(path.name), lockfile.read_ours(path)
            if port is None or prior is None or prior.get("pid") != self._context.facts.pid:
                continue
            token = prior.get("authToken")
            if isinstance(token, str):
                try:
                    await self._listen(token, port)
                except ServeError as error:
                    logger.warning("! port %d is not to be had again: %s", port, error)
                else:
                    return True
            # somebody else may sit on that port by now: the old token must not be used again
            lockfile.remove(path)
        return False

    async def _listen_anew(self) -> None:
        ports = range(self._config.port_min, self._config.port_max + 1)
        await self._listen(secrets.token_hex(16), ports)

    async def _listen(self, token: str, ports: range | int) -> None:
        admission = Admission(TOKEN_HEADER, token, subprotocol="mcp")
        self._server = await listen(self._connected, admission, ports)
        self._token = token

    # -- what the host asks (protocols.base.Running) -------------------------------------------

    @property
    def _port(self) -> int:
        assert self._server is not None, "start() comes first"
        return self._server.port

    @property
    def _lock(self) -> Path:
        return self._folder / discovery.lock_name(self._port)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._port}"

    def files(self) -> list[Path]:
        return [self._lock]

    def launch_env(self) -> dict[str, str]:
        return discovery.launch_env(self._port)

    def clients(self) -> list[ClientStatus]:
        return [
            ClientStatus(
                id=peer.session.client,
                name=peer.session.identity.name,
                version=peer.session.identity.version,
                pid=peer.session.identity.pid,
                cwd=peer.session.identity.cwd,
                ready=peer.ready,
                prompts=peer.prompts,
            )
            for peer in self._peers.values()
        ]

    async def mention(self, mention: Mention, pid: int | None) -> bool:
        ready = [peer for peer in self._peers.values() if peer.ready]
        if not ready:
            return False
        of_pid = [peer for peer in ready if pid is not None and peer.session.identity.pid == pid]
        peer = of_pid[0] if of_pid else max(ready, key=lambda peer: peer.last_heard_s)
        if mention.path == peer.session.identity.cwd:
            # the CLI would type a bare "@"
            self._context.editor.notify("Claude Code works in that folder already")
            return True
        await peer.connection.send(
            messages.at_mentioned(mention.path, mention.start_line, mention.end_line)
        )
        return True

    def restore(self) -> bool:
        if not os.path.lexists(self._lock):
            self._write_lock()
        return True

    async def stop(self) -> None:
        while self._unlisten:
            self._unlisten.pop()()
        if self._server is None:
            return
        lockfile.remove(self._lock)
        for client in list(self._peers):
            self._context.reviews.client_gone(client)
        await self._server.close()

    # -- connections ----------------------------------------------------------------------------

    async def _connected(self, connection: Connection) -> None:
        client = ClientId(f"{AGENT}-{next(self._numbers)}")
        peer = Peer(ClaudeSession(client, TOOLS, version.read()), connection)
        self._peers[client] = peer
        logger.info("= %s connected", client)
        self._context.on_change()
        try:
            async for message in connection.receive():
                await self._received(peer, message)
                # a large one would stay until the next one comes
                del message
        finally:
            del self._peers[client]
            self._context.reviews.client_gone(client)
            self._tools.forget(client)
            logger.info("= %s is gone", client)
            self._context.on_change()
            await peer.tasks.close()

    async def _received(self, peer: Peer, message: bytes) -> None:
        peer.last_heard_s = asyncio.get_running_loop().time()
        received = peer.session.receive(await read(peer.session.read, message))
        exchange = received.exchange
        for call in exchange.cancelled:
            task = peer.calls.get(call)
            if task is not None:
                task.cancel()
        for call in exchange.calls:
            if call.spec.name == EVERY_PROMPT:
                peer.prompts += 1
                self._context.on_change()
            await self._begin(peer, call)
        reply = exchange.ready()
        for outgoing in [*([reply] if reply else []), *received.requests]:
            await peer.connection.send(outgoing)
        if received.connected and peer.pushed_to:
            peer.wakeup.set()
        elif received.connected:
            peer.pushed_to = True
            peer.tasks.spawn(self._push_selection(peer), "push selection")
        if not exchange.calls and peer.session.identity != peer.known:
            peer.known = peer.session.identity
            self._context.on_change()

    async def _begin(self, peer: Peer, call: ToolCall) -> None:
        ends_by_itself = call.spec.name not in PATIENT
        if ends_by_itself:
            await peer.slots.acquire()
        answer = begin(call, partial(self._tools.run, peer.session.client))
        if answer is None or isinstance(answer, bytes):
            if ends_by_itself:
                peer.slots.release()
            await self._send(peer, call, answer)
            return
        task = peer.tasks.spawn(self._run(peer, call, answer), f"call {call.spec.name}")
        peer.calls[call] = task
        if ends_by_itself:
            task.add_done_callback(lambda _: peer.slots.release())
        # a call that is cancelled before it has begun could not tell its exchange
        await asyncio.sleep(0)

    async def _run(self, peer: Peer, call: ToolCall, answer: Awaitable[bytes | None]) -> None:
        try:
            reply = await answer
        except asyncio.CancelledError:
            reply = call.exchange.drop(call)
        finally:
            peer.calls.pop(call, None)
        await self._send(peer, call, reply)

    async def _send(self, peer: Peer, call: ToolCall, reply: bytes | None) -> None:
        """The reply that a call has completed; None: the call was not the last of its batch."""
        if reply is None:
            return
        if len(reply) > messages.MAX_MESSAGE_BYTES:
            error = RpcError(RpcError.SERVER_ERROR, "the answer is over 16 MiB")
            reply = jsonrpc.encode_error(call.id, error)
        await peer.connection.send(reply)

    # -- pushes ---------------------------------------------------------------------------------

    async def _push_selection(self, peer: Peer) -> None:
        """The newest selection whenever it changed; one that is not read in time is skipped."""
        await asyncio.sleep(FIRST_PUSH_S)
        await self._push(peer)
        await asyncio.sleep(READY_S - FIRST_PUSH_S)
        peer.ready = True
        self._context.on_change()
        # once more: the first may have come before the CLI listened
        await self._push(peer)
        while True:
            await peer.wakeup.wait()
            await self._push(peer)

    async def _push(self, peer: Peer) -> None:
        peer.wakeup.clear()
        selection = self._context.state.selection
        await peer.connection.send(messages.selection_changed(selection))

    def _selection_changed(self) -> None:
        for peer in self._peers.values():
            peer.wakeup.set()

    # -- the lock file ----------------------------------------------------------------------------

    def _write_lock(self) -> None:
        if self._server is None:
            return
        folders = self._context.state.folders_with_real_paths()
        content = discovery.lock_content(self._context.facts.pid, folders, self._token)
        self._file.write(self._lock, content)


def _refuses(path: Path, _lock: lockfile.Lock) -> bool:
    port = discovery.port_of(path.name)
    return port is not None and lockfile.port_refuses(port)


async def _serve(context: Context) -> Served:
    server = ClaudeServer(context)
    try:
        await server.start()
    except ServeError:
        await server.stop()  # another attempt is made with another one
        raise
    return {AGENT: server}


PROTOCOL = ProtocolSpec((Agent(AGENT, TITLE),), _serve)
