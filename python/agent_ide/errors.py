"""Every error of the host, each saying who is to blame.

    AgentIdeError
    |-- ConfigError        the user: an option that Lua's schema let through and the host cannot use
    |-- EditorError        Neovim refused a call, or did not answer in time
    |-- ServeError         this machine: no port, no folder, no socket
    |   `-- LockFolderError    the folder for lock files is not safe to use
    |-- ToolError          the agent asked for something that cannot be done: a failed tool result
    `-- RpcError           the agent's message was wrong: a JSON-RPC error

The message of a ToolError or RpcError is sent to the agent: no path of ours, no traceback.
"""

from __future__ import annotations

__all__ = [
    "AgentIdeError",
    "ConfigError",
    "EditorError",
    "LockFolderError",
    "RpcError",
    "ServeError",
    "ToolError",
]


class AgentIdeError(Exception):
    """Base of all."""


class ConfigError(AgentIdeError):
    """An option has a value that cannot be used."""


class EditorError(AgentIdeError):
    """Neovim refused a call or did not answer in time; the message is for people."""


class ServeError(AgentIdeError):
    """A server cannot be started; the message names the cause and the cure."""


class LockFolderError(ServeError):
    """The folder for lock files is a symlink, another user's, or cannot be made."""


class ToolError(AgentIdeError):
    """A tool call failed; the message is the text of its failed result."""


class RpcError(AgentIdeError):
    """A JSON-RPC error for the peer.

    Attributes:
        code: JSON-RPC error code.
    """

    PARSE_ERROR = -32700
    INVALID_REQUEST = -32600
    METHOD_NOT_FOUND = -32601
    INVALID_PARAMS = -32602
    INTERNAL_ERROR = -32603
    SERVER_ERROR = -32000

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code

    @classmethod
    def parse_error(cls) -> RpcError:
        return cls(cls.PARSE_ERROR, "Parse error")

    @classmethod
    def invalid_request(cls, why: str) -> RpcError:
        return cls(cls.INVALID_REQUEST, f"Invalid Request: {why}")

    @classmethod
    def method_not_found(cls, method: str) -> RpcError:
        return cls(cls.METHOD_NOT_FOUND, f"Method not found: {method[:200]}")

    @classmethod
    def invalid_params(cls, why: str) -> RpcError:
        return cls(cls.INVALID_PARAMS, f"Invalid params: {why}")

    @classmethod
    def internal(cls) -> RpcError:
        return cls(cls.INTERNAL_ERROR, "Internal error")
