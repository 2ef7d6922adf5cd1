"""The grammar of JSON-RPC: what is echoed, and which error a bad message gets."""

from __future__ import annotations

import json
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ide.wire.jsonrpc import (
    MAX_BATCH,
    Batch,
    Malformed,
    Notification,
    Request,
    Response,
    encode_result,
    parse,
)


def assert_malformed(data: str | bytes, code: int, id: bytes = b"null") -> None:
    message = parse(data)
    assert isinstance(message, Malformed)
    assert (message.error.code, message.id) == (code, id)


@pytest.mark.parametrize(
    "id",
    [
        "0",
        "-1",
        "1.5",
        "1e400",
        "123456789012345678901234567890",
        '"a"',
        '"é\\u0000"',
        '""',
        "null",
    ],
)
def test_id_is_echoed_as_it_stood(id: str) -> None:
    message = parse(f'{{"jsonrpc":"2.0", "id": {id} ,"method":"m"}}')
    assert isinstance(message, Request)
    assert message.id == id.encode()
    assert encode_result(message.id, {}) == f'{{"jsonrpc":"2.0","id":{id},"result":{{}}}}'.encode()


@pytest.mark.parametrize("id", ["{}", "[]", "true", "false", '{"a":1}'])
def test_id_of_another_type_is_refused(id: str) -> None:
    assert_malformed(f'{{"jsonrpc":"2.0","id":{id},"method":"m"}}', -32600)


@pytest.mark.parametrize(
    "data",
    [
        "",
        "{",
        "nul",
        '1"',
        '"a":1}',
        "0x10",
        '{"a":NaN}',
        '{"jsonrpc":"2.0","id":1,"method":"m",}',
        '["a"',
        b'{"jsonrpc":"2.0","method":"\xff"}',
        b'{"jsonrpc":"2.0","id":"\xff","method":"m"}',
        b'{"jsonrpc":"2.0","id":1,"method":"m","skipped":"\xed\xa0\x80"}',
        '{"jsonrpc":"2.0","method":"\ud800"}',
        '{"jsonrpc":"2.0","method":"\\ud80"}',
        '{"a":' * 100_000,
        "[" * 100_000,
    ],
    ids=lambda data: repr(data[:20]),
)
def test_no_json_is_a_parse_error(data: str | bytes) -> None:
    assert_malformed(data, -32700)


@pytest.mark.parametrize("data", ["1", '"a"', "null", "true", "[]"])
def test_json_but_no_message(data: str) -> None:
    assert_malformed(data, -32600)


@pytest.mark.parametrize(
    "members",
    [
        '"method":"m"',
        '"jsonrpc":"1.0","method":"m"',
        '"jsonrpc":2.0,"method":"m"',
        '"jsonrpc":1e400,"method":"m"',
        '"jsonrpc":"2.0","method":1e400',
        '"jsonrpc":"2.0","result":1,"error":1e400',
        '"jsonrpc":"2.0"',
        '"jsonrpc":"2.0","method":1',
        '"jsonrpc":"2.0","method":null',
        '"jsonrpc":"2.0","method":"m","params":1',
        '"jsonrpc":"2.0","method":"m","params":"a"',
        '"jsonrpc":"2.0","result":1,"error":{}',
    ],
)
def test_bad_members_get_the_senders_id(members: str) -> None:
    assert_malformed(f'{{"id":7,{members}}}', -32600, b"7")


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (r"\ud800", "\ufffd"),
        (r"\uDFFFx", "\ufffdx"),
        (r"\ud83d\ud83d\ude00", "\ufffd\U0001f600"),
        (r"\\ud800\ud800", "\\ud800\ufffd"),
        (r"\ud83d\\ude00", "\ufffd\\ude00"),
        (r"\\ud83d\ude00", "\\ud83d\ufffd"),
        (r"\"\ud800", '"\ufffd'),
    ],
)
def test_half_of_a_surrogate_pair_is_replaced(written: str, read: str) -> None:
    """JavaScript writes it where it has cut a text; the request must not stay unanswered."""
    message = parse(f'{{"jsonrpc":"2.0","id":7,"method":"{written}"}}')
    assert message == Request(b"7", read, b"{}")


def test_a_batch_has_its_limit() -> None:
    member = '{"jsonrpc":"2.0","method":"m"}'
    most = parse(f"[{','.join([member] * MAX_BATCH)}]")
    assert isinstance(most, Batch)
    assert len(most.messages) == MAX_BATCH
    assert_malformed(f"[{','.join([member] * (MAX_BATCH + 1))}]", -32600)


@pytest.mark.parametrize(
    "data",
    [
        b"[" + b"0," * 1_000_000 + b"0]",
        b'{"jsonrpc":[' + b"[]," * 1_000_000 + b'0],"id":1}',
        b'{"jsonrpc":"2.0","method":[' + b"[]," * 1_000_000 + b'0],"id":1}',
        b'{"jsonrpc":"2.0","error":[' + b"[]," * 1_000_000 + b'0],"id":1}',
    ],
    ids=lambda data: repr(data[:26]),
)
def test_no_more_memory_than_the_message_has(data: bytes) -> None:
    tracemalloc.start()
    parse(data)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3 * len(data)


def test_absent_and_null_params_are_empty() -> None:
    for params in ("", ',"params":null', ',"params":{}'):
        message = parse(f'{{"jsonrpc":"2.0","method":"m"{params}}}')
        assert message == Notification("m", b"{}")


def test_last_of_doubled_keys_counts() -> None:
    message = parse('{"jsonrpc":"2.0","id":1,"id":2,"method":"a","method":"b"}')
    assert isinstance(message, Request)
    assert (message.id, message.method) == (b"2", "b")


def test_answers() -> None:
    good = parse('{"jsonrpc":"2.0","id":"x","result":{"a":1}}')
    bad = parse('{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":"m"}}')
    assert good == Response(b'"x"', b'{"a":1}', None)
    assert isinstance(bad, Response)
    assert bad.error == b'{"code":1,"message":"m"}'


def test_batch_keeps_order_and_bad_members() -> None:
    batch = parse(' [{"jsonrpc":"2.0","id":1,"method":"a"}, 1, {"jsonrpc":"2.0","method":"b"}]')
    assert isinstance(batch, Batch)
    kinds = [type(member) for member in batch.messages]
    assert kinds == [Request, Malformed, Notification]


@given(st.binary(max_size=200))
def test_any_bytes_are_taken(data: bytes) -> None:
    parse(data)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=20,
    ),
    st.dictionaries(st.sampled_from(["jsonrpc", "id", "method", "params", "result"]), st.text()),
)
def test_any_json_is_taken(value: object, members: dict[str, str]) -> None:
    parse(json.dumps(value))
    parse(json.dumps({**members, "id": value}))
    parse(json.dumps({"jsonrpc": "2.0", "method": "m", "params": value}))
