"""How a tool call ends, in whatever protocol: a result, a failed result, an error, never silence.

Owns:     the one place that turns an exception into an answer.
Not here: tools, transports, cancellation (protocols/*/serve.py).
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

from agent_ide.errors import EditorError, RpcError, ToolError
from agent_ide.wire.mcp import ToolAnswer, ToolCall, ToolResult

__all__ = ["begin"]

logger = logging.getLogger(__name__)


def begin(
    call: ToolCall, run: Callable[[ToolCall], ToolAnswer]
) -> bytes | Awaitable[bytes | None] | None:
    """Start a call; what to send once its exchange is complete.

    What is answered from state is answered here and now: a task, a deadline and two turns of the
    loop would take longer than the answer (doc/decisions/010).
    """
    try:
        result = run(call)
    except Exception as error:
        return _failed(call, error)
    if isinstance(result, ToolResult):
        return call.exchange.answer(call, result)
    return _outcome(call, result)


async def _outcome(call: ToolCall, result: Awaitable[ToolResult]) -> bytes | None:
    try:
        return call.exchange.answer(call, await result)
    except Exception as error:
        return _failed(call, error)


def _failed(call: ToolCall, error: Exception) -> bytes | None:
    match error:
        case ToolError() | EditorError():
            return call.exchange.answer(call, ToolResult.of_error(str(error)))
        case RpcError():
            return call.exchange.fail(call, error)
    # the root of a call: the agent gets an answer, the log the reason
    logger.error("! %s failed", call.spec.name, exc_info=error)
    return call.exchange.fail(call, RpcError.internal())
