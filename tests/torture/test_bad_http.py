"""Bad HTTP from an admitted client, at the real Copilot and Gemini servers.

What framing is refused at its first look, and who is let in: tests/transports. Here: nothing is
smuggled past a request, and everything odd gets its own status. Too much: test_too_much_http.py.
"""

from __future__ import annotations

import pytest

from tests.torture.requests import Site, at, encode

__all__ = ["at"]

PING = encode({"id": 1, "method": "ping"})
LENGTH = f"Content-Length: {len(PING)}"
CHUNKED = "Transfer-Encoding: chunked"
CHUNKS = b"%x\r\n%s\r\n0\r\n\r\n" % (len(PING), PING)
SIZE = b"%x" % len(PING)


# -- two lengths, no length, another's length ------------------------------------------------------

HIDDEN = (
    "Transfer-Encoding : chunked",
    "Transfer-Encoding: \x0bchunked",
    'Transfer-Encoding: "chunked"',
    "Transfer-Encoding: chunked;q=1",
    "Transfer-Encoding: chunked, chunked",
    "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
    "Transfer-Encoding: ",
    "Transfer-Encoding: identity",
    "Transfer-Encod\0ing: chunked",
    "X: a\r\n Transfer-Encoding: chunked",
    "X: a\r\n\tTransfer-Encoding: chunked",
    "X: a\nTransfer-Encoding: chunked",
    "X: a\rTransfer-Encoding: chunked",
    "X: a\0b\r\nTransfer-Encoding: chunked",
    ": empty\r\nTransfer-Encoding: chunked",
    "\x80: name\r\nTransfer-Encoding: chunked",
)
"""A chunked body that one reader of HTTP sees and another does not."""


@pytest.mark.parametrize("hidden", HIDDEN, ids=lambda text: repr(text)[1:-1])
async def test_hidden_chunks(at: Site, hidden: str) -> None:
    smuggled = at.head("DELETE")
    for headers, body in (
        ([hidden], CHUNKS + smuggled),
        ([hidden, "Content-Length: 4"], CHUNKS + smuggled),
        (["Content-Length: 4", hidden], CHUNKS + smuggled),
        ([hidden, f"Content-Length: {5 + len(smuggled)}"], b"0\r\n\r\n" + smuggled),
    ):
        answers, ended = await at.answers(at.head("POST", *headers) + body)
        assert [item.status in (400, 501) and not item.body for item in answers] == [True]
        assert ended


@pytest.mark.parametrize("spelled", ["chunked", "Chunked", "CHUNKED", "\tchunked "])
@pytest.mark.parametrize("first", [True, False])
async def test_length_and_chunks_at_once(at: Site, spelled: str, first: bool) -> None:
    both = [f"Transfer-Encoding: {spelled}", "Content-Length: 4"]
    data = at.head("POST", *(both if first else both[::-1])) + CHUNKS + at.head("DELETE")
    answers, ended = await at.answers(data)
    assert [item.status for item in answers] == [400]
    assert ended


@pytest.mark.parametrize(
    "length", ["0x2d", "45, 45", "45,46", "1_0", "²", "", "1e2", "4.0", "-0", "9" * 31, "4 5"]
)
async def test_no_length(at: Site, length: str) -> None:
    data = at.head("POST", f"Content-Length: {length}") + PING + at.head("DELETE")
    answers, ended = await at.answers(data)
    assert [item.status for item in answers] == [400]
    assert ended


async def test_two_lengths_that_agree(at: Site) -> None:
    answers, _ = await at.answers(at.head("POST", LENGTH, LENGTH) + PING)
    assert [item.status for item in answers] == [400]


async def test_body_longer_than_it_says(at: Site) -> None:
    """The rest is the next request, and none: at most the first is answered, once."""
    answers, ended = await at.answers(at.ping() + b"x" * 100)
    assert [item.status for item in answers] in ([400], [200, 400])
    assert ended


# -- chunks ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        SIZE + b";name=value\r\n" + PING + b"\r\n0\r\n\r\n",
        SIZE + b';name="a value"\r\n' + PING + b"\r\n0;last\r\n\r\n",
        SIZE + b"\r\n" + PING + b"\r\n0\r\nX-Trailer: 1\r\n\r\n",
        SIZE.upper() + b"\r\n" + PING + b"\r\n00000\r\n\r\n",
    ],
    ids=["extension", "quoted extension", "trailer", "upper case"],
)
async def test_chunks_that_are_allowed(at: Site, body: bytes) -> None:
    answers, _ = await at.answers(at.head("POST", CHUNKED) + body)
    assert [item.status for item in answers] == [200]


@pytest.mark.parametrize(
    "body",
    [
        *(
            size + b"\r\nhello\r\n0\r\n\r\n"
            for size in (b"0x5", b"5 ", b" 5", b"5_0", b"F" * 18, b"+5", b"5;a=\nb", b"", b"\xb2")
        ),
        SIZE + b"\r\n" + PING + b"X\r\n0\r\n\r\n",
        SIZE + b"\r\n" + PING + b"\n0\r\n\r\n",
        SIZE + b"\r\n" + PING + b"\r\n0\r\nno trailer\r\n\r\n",
        SIZE + b"\r\n" + PING + b"\r\n0\r\n folded: trailer\r\n\r\n",
    ],
    ids=repr,
)
async def test_bad_chunks(at: Site, body: bytes) -> None:
    answers, ended = await at.answers(at.head("POST", CHUNKED) + body + at.head("DELETE"))
    assert [item.status for item in answers] == [400]
    assert ended


async def test_bad_chunks_after_a_refusal(at: Site) -> None:
    """What comes after the answer is read for a moment only, and is nobody's error."""
    for method, target in (("POST", "/elsewhere"), ("PUT", "/mcp")):
        wire = await at.dial()
        wire.write(at.head(method, CHUNKED, target=target))
        assert (await wire.answer()).status in (404, 405)
        wire.write(b"x\r\n\r\n")
        assert await wire.ended()
        await wire.close()


@pytest.mark.parametrize(
    "trailer",
    ["Authorization: x", "Host: evil.example", "Content-Length: 3", "Mcp-Session-Id: another"],
)
async def test_trailer_that_would_be_a_header(at: Site, trailer: str) -> None:
    body = SIZE + b"\r\n" + PING + b"\r\n0\r\n" + trailer.encode() + b"\r\n\r\n"
    answers, _ = await at.answers(at.head("POST", CHUNKED) + body)
    # passed over or refused; taken as a header it would be 401, 403 or 404
    assert [item.status for item in answers] in ([200], [400])


# -- what a request asks for -----------------------------------------------------------------------


METHODS = (
    *("HEAD", "OPTIONS", "PUT", "PATCH", "TRACE", "CONNECT", "PROPFIND", "M-SEARCH", "SOURCE"),
    *("DESCRIBE", "QUERY", "PRI", "post", "GETX", "G\xc9T", "GET\0", "(", "*", "1", "", "X" * 1000),
)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: repr(method[:10]))
async def test_method(at: Site, method: str) -> None:
    answers, ended = await at.answers(at.head(method, "Content-Length: 0"))
    assert [item.status in (400, 404, 405) and not item.body for item in answers] == [True]
    assert ended


@pytest.mark.parametrize(
    ("target", "status"),
    [
        ("/mcp?x=1", 200),
        ("/%6dcp", 200),
        ("//mcp", 404),
        ("/mcp/../mcp", 404),
        ("/mcp%00", 404),
        ("*", 400),
        ("evil.example:80", 400),
        ("http://evil.example/mcp", 403),
        ("https://localhost/mcp", 403),
        ("http://localhost@evil.example/mcp", 403),
        ("http://evil.example", 403),
        ("http://localhost:99999/mcp", 400),
        ("http://[::1", 400),
        ("mcp", 400),
        ("", 400),
        ("/m\0cp", 400),
        ("/\xff", 400),
        ("/mcp x", 400),
    ],
)
async def test_target(at: Site, target: str, status: int) -> None:
    data = at.post({"id": 1, "method": "ping"}, target=target)
    answers, ended = await at.answers(data)
    assert [item.status for item in answers] == [status]
    assert ended == (status != 200)


async def test_our_own_address_as_target(at: Site) -> None:
    """Every server has to take it (RFC 9112)."""
    host = "localhost" if at.address.startswith("/") else at.address
    assert await at.status(at.post(PING, target=f"http://{host}/mcp")) == 200


@pytest.mark.parametrize(
    ("version", "statuses"),
    [
        ("HTTP/1.0", {505}),
        ("HTTP/0.9", {505, 400}),
        ("HTTP/1.2", {505, 400}),
        ("HTTP/2.0", {505, 400}),
        ("RTSP/1.0", {505, 400}),
        ("HTTP/3", {400}),
        ("HTTP/11.1", {400}),
        ("HTTP/1.1 ", {400}),
        ("http/1.1", {400}),
        ("HTTP/1.", {400}),
        ("", {400}),
    ],
)
async def test_version(at: Site, version: str, statuses: set[int]) -> None:
    for data in (at.post(PING, version=version), at.head("GET", version=version)):
        answers, ended = await at.answers(data)
        assert len(answers) == 1
        assert answers[0].status in statuses
        assert ended


@pytest.mark.parametrize(
    "data",
    [
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0",
        b"GET /mcp\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"\0" * 1000,
        b"EHLO a\r\n",
    ],
    ids=["HTTP/2", "HTTP/0.9", "TLS", "SSH", "zeros", "SMTP"],
)
async def test_another_protocol(at: Site, data: bytes) -> None:
    answers, ended = await at.answers(data)
    assert [item.status in (400, 401, 505) and not item.body for item in answers] == [True]
    assert ended


@pytest.mark.parametrize("upgrade", ["h2c", "websocket", "TLS/1.3"])
async def test_upgrade_is_passed_over(at: Site, upgrade: str) -> None:
    data = at.post(PING, "Connection: Upgrade, HTTP2-Settings", f"Upgrade: {upgrade}")
    answers, _ = await at.answers(data)
    assert [item.status for item in answers] == [200]
