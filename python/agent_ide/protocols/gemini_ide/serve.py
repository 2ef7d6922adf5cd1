"""Serves Gemini CLI and Qwen Code: one server, a discovery file for each, the sessions, the pushes.

Owns:     the server, its files, every session.
Not here: messages (session.py, messages.py), tools (tools.py), HTTP and the pushes' pace
          (transports/).
Above:    host.py starts and stops it through `PROTOCOL`.
"""

from __future__ import annotations

import itertools
import logging
import os
import secrets
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Literal

import msgspec

from agent_ide import version
from agent_ide.errors import AgentIdeError, EditorError, RpcError, ServeError
from agent_ide.model import ClientId
from agent_ide.protocols.base import Agent, ClientStatus, Context, Mention, ProtocolSpec, Served
from agent_ide.protocols.gemini_ide import messages, places
from agent_ide.protocols.gemini_ide.discovery import CLIS, Cli, Server
from agent_ide.protocols.gemini_ide.peer import CompanionPeer
from agent_ide.protocols.gemini_ide.session import CompanionSession
from agent_ide.protocols.gemini_ide.tools import TOOLS, CompanionTools
from agent_ide.protocols.peers import Peers
from agent_ide.transports import lockfile
from agent_ide.transports.discovery_file import DiscoveryFile
from agent_ide.transports.streamable_http import Admission, HttpServer, Session, listen_tcp
from agent_ide.trust import is_trusted
from agent_ide.wire.mcp import refuse_opening

__all__ = ["PROTOCOL", "CompanionServer"]

logger = logging.getLogger(__name__)

MAX_BODY_BYTES = 32 * 1024 * 1024
"""A proposal is a whole file; the CLIs' own IDE takes 10 MB."""


class CliConfig(msgspec.Struct, frozen=True):
    """Options of one of the CLIs.

    env:   of the CLI when Neovim starts it; it may say where that CLI looks.
    trust: patterns of folders for which the CLI need not ask whether it may trust them.
    """

    env: dict[str, str] = msgspec.field(default_factory=dict)
    trust: list[str] = msgspec.field(default_factory=list)
    on_close: Literal["reject", "terminal"] = "reject"


class CompanionServer:
    """A listening server and its sessions (transports.streamable_http.Service)."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._configs = {cli: context.config.section(cli.agent, CliConfig) for cli in CLIS}
        self._folders: dict[Cli, Path] = {}
        tell = partial(context.editor.notify, level="error")
        self._files = {cli: DiscoveryFile(cli.title, tell) for cli in CLIS}
        self._tokens: Mapping[str, str] = {}
        self._tools = CompanionTools(
            context.editor,
            context.reviews,
            context.tasks,
            {
                cli.agent: "hides" if config.on_close == "terminal" else "rejects"
                for cli, config in self._configs.items()
            },
        )
        self._peers: Peers[CompanionPeer] = Peers()
        self._numbers = {cli: itertools.count(1) for cli in CLIS}
        self._server: HttpServer | None = None
        self._stopped = False
        self._unlisten = [
            context.state.on_selection(self._context_changed),
            context.state.on_buffers(self._context_changed),
            context.state.on_folders(self._write_files),
        ]

    async def start(self) -> dict[str, Side | AgentIdeError]:
        """Listen first, write the files second: a CLI looks once, when it starts.

        Returns:
            By agent, for each that is enabled, its side of the server or why it has none.
        """
        sides: dict[str, Side | AgentIdeError] = {}
        for cli in CLIS:
            if not self._context.config.enabled(cli.agent):
                continue
            folder = cli.folder({**self._context.environ, **self._configs[cli].env})
            try:
                lockfile.ensure_private_folder(folder)
            except ServeError as error:
                sides[cli.agent] = error
            else:
                self._folders[cli] = folder
                sides[cli.agent] = Side(self, cli)
        if self._folders:
            await self._listen()
            self._write_files()
            logger.info("= serving %s on %s", ", ".join(sides), self.address)
        return sides

    async def _listen(self) -> None:
        prior = places.take_over(self._folders, self._context.facts.pid)
        try:
            await self._listen_on(prior.port, prior.tokens)
        except ServeError as error:
            # somebody else may sit on that port by now: the old tokens must not be used again
            logger.warning("! port %d is not to be had again: %s", prior.port, error)
            fresh = {agent: secrets.token_hex(32) for agent in prior.tokens}
            await self._listen_on(0, fresh)

    async def _listen_on(self, port: int, tokens: Mapping[str, str]) -> None:
        self._tokens = tokens
        bearers = tuple(map(_bearer, tokens.values()))
        self._server = await listen_tcp(
            self,
            lambda bound: Admission(
                bearers, frozenset({f"127.0.0.1:{bound}", f"localhost:{bound}"})
            ),
            MAX_BODY_BYTES,
            port,
        )

    # -- what its sides ask ---------------------------------------------------------------------

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def port(self) -> int:
        assert self._server is not None, "start() comes first"
        return self._server.port

    def file(self, cli: Cli) -> Path:
        """Its discovery file."""
        return self._folders[cli] / cli.file_name(self._context.facts.pid, self.port)

    def peers(self, cli: Cli) -> list[CompanionPeer]:
        """Those that are there."""
        peers = self._peers.values()
        return [peer for peer in peers if peer.session.cli is cli and peer.present]

    async def paste(self, cli: Cli, text: str) -> None:
        """Into the prompt of a CLI in a terminal of Neovim's; it takes no such message."""
        try:
            await self._context.editor.paste(cli.agent, text)
        except EditorError as error:
            logger.warning("! nothing was typed for %s: %s", cli.agent, error)

    def restore(self, cli: Cli) -> None:
        if not os.path.lexists(self.file(cli)):
            self._write_file(cli)

    async def stop(self) -> None:
        while self._unlisten:
            self._unlisten.pop()()
        if self._server is None or self._stopped:
            return
        self._stopped = True
        for cli in self._folders:
            lockfile.remove(self.file(cli))
        for peer in list(self._peers.values()):
            self.close(peer)
        await self._server.close()

    # -- sessions (transports.streamable_http.Service) -----------------------------------------

    def find(self, session_id: str) -> Session | None:
        return self._peers.get(session_id)

    def open(self, headers: Mapping[str, str], body: bytes) -> Session | RpcError:
        refusal = refuse_opening(body)
        if refusal is not None:
            return refusal
        for peer in self._peers.surplus():
            self.close(peer)
        return self._begin(self._cli_of(headers))

    def _cli_of(self, headers: Mapping[str, str]) -> Cli:
        """Both introduce themselves alike: the token tells whose file was read."""
        bearers = {_bearer(self._tokens[cli.agent]): cli for cli in self._folders}
        return bearers[headers["Authorization"]]

    def _begin(self, cli: Cli) -> CompanionPeer:
        client = ClientId(f"{cli.agent}-{next(self._numbers[cli])}")
        session = CompanionSession(client, cli, TOOLS, version.read(), self._trusted(cli))
        peer = CompanionPeer(session, self._tools, self._peer_changed)
        self._peers[peer.id] = peer
        peer.refresh("context", partial(self._render_context, session))
        logger.info("= %s begins a session", client)
        return peer

    def _trusted(self, cli: Cli) -> bool | None:
        """Never a no: a CLI would take that for the user's own word against a folder."""
        state = self._context.state
        said = state.trusted.get(cli.agent)
        if said is None:
            said = is_trusted(state.real_folders(), self._configs[cli].trust)
        return True if said else None

    def close(self, session: Session) -> None:
        peer = self._peers.pop(session.id, None)
        if peer is not None:
            logger.info("= %s ends its session", peer.session.client)
            peer.present = False
            self._peer_changed(peer)
            peer.end()

    def _peer_changed(self, peer: CompanionPeer) -> None:
        if not peer.present:
            self._tools.abandon(peer.session)
            self._context.reviews.client_gone(peer.session.client)
        self._context.on_change()

    # -- pushes ---------------------------------------------------------------------------------

    def _context_changed(self) -> None:
        for peer in self._peers.values():
            peer.refresh("context", partial(self._render_context, peer.session))

    def _render_context(self, session: CompanionSession) -> bytes:
        state = self._context.state
        return messages.context_update(state.buffers, state.selection, session.trusted)

    # -- the discovery files ----------------------------------------------------------------------

    def _write_files(self) -> None:
        for cli in self._folders if self._server is not None else ():
            self._write_file(cli)

    def _write_file(self, cli: Cli) -> None:
        folders = self._context.state.real_folders()
        pid, token = self._context.facts.pid, self._tokens[cli.agent]
        self._files[cli].write(self.file(cli), cli.content(Server(self.port, token, pid, folders)))


class Side:
    """What one of the CLIs has of the server (protocols.base.Running)."""

    def __init__(self, server: CompanionServer, cli: Cli) -> None:
        self._server = server
        self._cli = cli

    @property
    def address(self) -> str:
        return self._server.address

    def files(self) -> list[Path]:
        return [self._server.file(self._cli)]

    def launch_env(self) -> dict[str, str]:
        return {self._cli.port_variable: str(self._server.port)}

    def clients(self) -> list[ClientStatus]:
        return [
            ClientStatus(
                id=peer.session.client,
                name=self._cli.client_name,
                version=peer.mcp.client.version if self._cli.tells_version else "",
                pid=None,
                cwd=None,
                ready=peer.pushed.open,
            )
            for peer in self._server.peers(self._cli)
        ]

    async def mention(self, mention: Mention, pid: int | None) -> bool:
        if not any(peer.pushed.open for peer in self._server.peers(self._cli)):
            return False
        lines = None
        if mention.start_line is not None and mention.end_line is not None:
            lines = (mention.start_line, mention.end_line)
        await self._server.paste(self._cli, messages.reference(mention.path, lines))
        return True

    def restore(self) -> bool:
        self._server.restore(self._cli)
        return True

    async def stop(self) -> None:
        await self._server.stop()


def _bearer(token: str) -> str:
    return f"Bearer {token}"


async def _serve(context: Context) -> Served:
    server = CompanionServer(context)
    try:
        sides = await server.start()
    except ServeError:
        await server.stop()  # another attempt is made with another one
        raise
    if not any(isinstance(side, Side) for side in sides.values()):
        await server.stop()
    return sides


PROTOCOL = ProtocolSpec(tuple(Agent(cli.agent, cli.title) for cli in CLIS), _serve)
