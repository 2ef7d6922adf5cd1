"""How a tool call ends, in whatever protocol: a result, a failed result, an error, never silence.

Owns:     the one place that turns an exception into an answer.
Not here: tools, transports, cancellation (protocols/*/serve.py).
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable

from agent_ide.errors import EditorError, RpcError, ToolError
from agent_ide.wire.mcp import ToolCall, ToolResult

__all__ = ["outcome"]

logger = logging.getLogger(__name__)


async def outcome(call: ToolCall, result: Awaitable[ToolResult]) -> bytes | None:
    """Wait for a call's result; what to send once its exchange is complete."""
    try:
        return call.exchange.answer(call, await result)
    except (ToolError, EditorError) as error:
        return call.exchange.answer(call, ToolResult.of_error(str(error)))
    except RpcError as error:
        return call.exchange.fail(call, error)
    except Exception:  # the root of a call: the agent gets an answer, the log the reason
        logger.exception("! %s failed", call.spec.name)
        return call.exchange.fail(call, RpcError.internal())
