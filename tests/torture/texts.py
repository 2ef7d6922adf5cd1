"""JSON that nobody would write, for hypothesis: texts, so that no value is lost on the way.

Owns:     strategies for numbers, strings, trees, messages; the bound of a run and its seed.
Not here: servers (messages.py), what a server should answer (the tests).
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st

from tests.support.figures import Figure

__all__ = [
    "VARIANTS",
    "any_json",
    "envelopes",
    "ids",
    "many",
    "strings",
    "variant_numbers",
    "variants",
]

WRONG_NUMBERS = ("NaN", "Infinity", "-Infinity", "01", "1.", ".5", "+1", "0x10", "1e", "--1")

numbers = st.one_of(
    st.integers().map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(json.dumps),
    st.sampled_from(["-0", "1e400", "-1E+999", "1e-999", "0.0", "1E0", "9" * 30, "-" + "9" * 700]),
)

strings = st.one_of(
    st.text(max_size=20).map(json.dumps),
    st.text(max_size=20).map(lambda text: json.dumps(text, ensure_ascii=False)),
    st.sampled_from(
        [
            r'"\u0000"',
            r'"\ud800"',
            r'"\udc00\ud83d"',
            r'"\ud83d\ude00"',
            r'"\\ud800"',
            r'"a\/b\u002f"',
            '"\x7f\u2028\ufeff"',
            '"' + "x" * 5_000 + '"',
        ]
    ),
)

scalars = st.one_of(st.sampled_from(["null", "true", "false"]), numbers, strings)


def _object(pairs: list[tuple[str, str]]) -> str:
    return "{" + ",".join(f"{key}:{value}" for key, value in pairs) + "}"


any_json = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4).map(lambda items: "[" + " , ".join(items) + "]")
        | st.lists(st.tuples(strings, inner), max_size=4).map(_object)
    ),
    max_leaves=8,
)
"""JSON, keys doubled now and then."""

ids = st.one_of(numbers, strings, st.just("null"), any_json)

METHODS = ("ping", "tools/list", "tools/call", "initialize", "nothing", "ide_connected", "rpc.x")

_members = {
    '"jsonrpc"': st.just('"2.0"') | st.just('"2.0"') | any_json,
    '"id"': ids,
    '"method"': st.sampled_from([json.dumps(name) for name in METHODS]) | any_json,
    '"params"': any_json,
    '"result"': any_json,
    '"error"': any_json,
}


@st.composite
def envelopes(draw: st.DrawFn) -> str:
    """An object with the members of a message: some missing, some doubled, in any order."""
    keys = draw(st.lists(st.sampled_from(sorted(_members)), max_size=7))
    if draw(st.booleans()):
        keys += ['"jsonrpc"', '"id"', '"method"']
    pairs = [(key, draw(_members[key])) for key in keys]
    pairs += draw(st.lists(st.tuples(strings, any_json), max_size=1))
    blank = draw(st.sampled_from(["", " ", "\r\n\t"]))
    return blank + _object(draw(st.permutations(pairs))) + blank


VARIANTS = 8
"""Messages of one example: to draw one costs more than to answer eight."""

PIECES = (b'"', b"{", b"]", b",", b":", b"\\", b"\0", b"\n", b"9", b"e", b"\xff", b"\xed\xa0\x80")


def variants(text: str, number: int) -> list[bytes]:
    """The text, and others with some bytes changed, lost, doubled or put in."""
    chance = random.Random(number)
    data = text.encode()
    return [data, *(_bent(bytearray(data), chance) for _ in range(VARIANTS - 1))]


def _bent(data: bytearray, chance: random.Random) -> bytes:
    for _ in range(chance.randint(1, 3)):
        at, size = chance.randint(0, len(data)), chance.randint(0, 2)
        data[at : at + size] = chance.choice([b"", data[at : at + 4] * 2, *PIECES])
    return bytes(data)


variant_numbers = st.integers(0, (1 << 32) - 1)


def many(count: int, figure: Figure) -> Callable[[Any], Any]:
    """Run a property so often, with a seed that is told; AGENT_IDE_SEED repeats a run."""
    number = int(os.environ.get("AGENT_IDE_SEED") or random.SystemRandom().randrange(10**6))
    figure("seed of the examples", number, "", "AGENT_IDE_SEED repeats it")
    how = settings(
        max_examples=count,
        deadline=None,
        database=None,
        print_blob=True,
        phases=[Phase.explicit, Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    return lambda given: seed(number)(how(given))
