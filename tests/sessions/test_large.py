"""Large objects are decoded in pieces: the same values, the same errors."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ide.wire import large


class Arguments(msgspec.Struct, frozen=True, rename="camel"):
    file_path: str
    new_text: str
    times: int = 1
    note: str | None = None


def outcome(decode: Any) -> Any:
    try:
        return decode()
    except msgspec.DecodeError as error:
        return type(error), str(error)


def same(data: bytes) -> Any:
    """What both ways of decoding give."""
    whole = outcome(lambda: msgspec.json.decode(data, type=Arguments))
    assert outcome(lambda: large.decode(memoryview(data), Arguments)) == whole
    return whole


# what a cut must not go through: escapes, pairs of them, characters of two to four bytes
SPELLINGS = [
    "a",
    "plain text",
    "\\n",
    "\\\\",
    '\\"',
    "\\u00e9",
    "\\ud83e\\udd8a",
    "é",
    "€",
    "🦊",
    "\\/",
]


@given(st.lists(st.sampled_from(SPELLINGS), min_size=1, max_size=60))
def test_a_string_is_the_same_in_pieces(unit: list[str]) -> None:
    spelled = "".join(unit)
    times = 3 * large.PIECE_BYTES // len(spelled.encode()) + 1
    data = f'{{"filePath":"/p","newText":"{spelled * times}"}}'.encode()
    assert isinstance(same(data), Arguments)


@pytest.mark.parametrize(
    "spelled",
    [
        '"' + "\\ud83e" * large.PIECE_BYTES + '"',
        '"' + "x" * 2 * large.PIECE_BYTES + "\x01" + '"',
        '"' + "x" * 2 * large.PIECE_BYTES + "\\q" + '"',
        '"' + "x" * 2 * large.PIECE_BYTES,
        "[" + "1," * large.PIECE_BYTES + "1]",
        "1" * 2 * large.PIECE_BYTES,
        "null",
        "1",
    ],
)
def test_a_bad_one_gets_the_same_error(spelled: str) -> None:
    assert isinstance(same(f'{{"filePath":"/p","newText":{spelled}}}'.encode()), tuple)


@pytest.mark.parametrize(
    "members",
    [
        "",
        '"filePath":"/p"',
        '"newText":"a","filePath":2',
        '"filePath":"/p","newText":"a","times":[]',
    ],
)
def test_what_is_missing_or_wrong_is_named_alike(members: str) -> None:
    assert isinstance(same(b"{" + members.encode() + b"}"), tuple)


def test_other_members_are_passed_over_and_the_last_of_two_counts() -> None:
    long = "y" * 2 * large.PIECE_BYTES
    found = same(
        f'{{"more":[1],"newText":"{long}","filePath":"/p","newText":"z","times":2,"note":null}}'.encode()
    )
    assert found == Arguments("/p", "z", 2, None)
