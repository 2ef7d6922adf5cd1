"""What JSON-RPC 2.0 says is answered to a text, as another reader of JSON than the host's sees it.

Owns:     the expected answers of a message, and their comparison.
Not here: texts (texts.py), servers (messages.py).
"""

from __future__ import annotations

from typing import Any

from tests.torture.messages import NoJson, Number, read

__all__ = ["check", "expected"]

Expected = tuple[Any, set[int] | None]
"""Of an answer: its id, and the codes of its error; None: a result, or any error."""

NO_JSON: Expected = (None, {-32700})


def expected(text: bytes) -> list[Expected]:
    """What JSON-RPC 2.0 says is answered to a text, in a session whose revision has no batches."""
    try:
        value = read(text)
    except NoJson:
        return [NO_JSON]
    if not isinstance(value, dict):
        return [(None, {-32600})]
    absent = object()
    request_id = value.get("id", absent)
    if isinstance(request_id, bool | list | dict) and not isinstance(request_id, Number):
        return [(None, {-32600})]
    known_id = None if request_id is absent else request_id
    method, params = value.get("method", absent), value.get("params")
    if value.get("jsonrpc") != "2.0":
        return [(known_id, {-32600})]
    if isinstance(method, str):
        if params is not None and type(params) not in (dict, list):
            return [(known_id, {-32600})]
        return [] if request_id is absent else [(known_id, None)]
    if method is absent and request_id is not absent and ("result" in value) != ("error" in value):
        return []
    return [(known_id, {-32600})]


def check(text: bytes, answers: list[Any]) -> None:
    wanted = expected(text)
    assert len(answers) == len(wanted), (text[:2000], answers)
    for answer, (request_id, codes) in zip(answers, wanted, strict=True):
        assert answer["jsonrpc"] == "2.0"
        assert answer["id"] == request_id
        assert ("result" in answer) != ("error" in answer)
        if codes is not None:
            assert int(answer["error"]["code"].text) in codes
        elif "error" in answer:
            # a fault of ours would be -32603
            assert int(answer["error"]["code"].text) in (-32600, -32601, -32602, -32000)
