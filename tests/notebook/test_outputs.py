"""The outputs of one execution: pure, message by message."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from agent_ide.notebook.outputs import (
    ENTRY_BYTES,
    ERROR_BYTES,
    IMAGE_BYTES,
    TEXT_BYTES,
    Collector,
    Image,
    Output,
    Text,
)

Message = tuple[str, Mapping[str, object]]


def stream(text: str, name: str = "stdout") -> Message:
    return "stream", {"name": name, "text": text}


def display(
    data: Mapping[str, object], display_id: str | None = None, kind: str = "display_data"
) -> Message:
    return kind, {"data": data, "transient": {"display_id": display_id} if display_id else {}}


def outputs(*messages: Message) -> list[Output]:
    collector = Collector()
    for kind, content in messages:
        collector.receive(kind, content)
    return collector.outputs()


def texts(*messages: Message) -> list[str]:
    return [output.text for output in outputs(*messages) if isinstance(output, Text)]


def test_chunks_of_one_stream_are_one_text() -> None:
    assert texts(stream("a\n"), stream("b\n"), stream("w", "stderr"), stream("c")) == [
        "a\nb\n",
        "w",
        "c",
    ]


def test_a_picture_is_an_image_and_not_its_text_as_well() -> None:
    data = {"image/png": "aGk=\n", "text/plain": "<Figure>"}
    assert outputs(display(data)) == [Image("image/png", "aGk=")]


def test_text_plain_wins_over_html_and_html_over_nothing() -> None:
    assert texts(display({"text/html": "<b>", "text/plain": "b"})) == ["b"]
    assert texts(display({"text/html": "<b>"})) == ["<b>"]
    assert outputs(display({"application/json": {"a": 1}})) == []


def test_a_traceback_loses_its_colours() -> None:
    error = {"ename": "E", "evalue": "v", "traceback": ["\x1b[0;31mE\x1b[0m", "line"]}
    assert texts(("error", error)) == ["E\nline"]
    assert texts(("error", {"ename": "E", "evalue": "v", "traceback": []})) == ["E: v"]


@pytest.mark.parametrize(
    ("raw", "seen"),
    [
        ("\x1b[1;32mgreen\x1b[0m \x1b[38;5;214mx\x1b[K", "green x"),
        ("\x1b]8;;http://a\x1b\\link\x1b]8;;\x07", "link"),
        ("10%\r50%\r100%\ndone", "100%\ndone"),
        ("a\r\nb\r\n", "a\nb\n"),
        ("100%\r", "100%"),
        ("é\ud800ü", "é?ü"),
    ],
)
def test_text_is_what_a_terminal_would_show(raw: str, seen: str) -> None:
    assert texts(stream(raw)) == [seen]


def test_clear_output_at_once_and_before_the_next() -> None:
    assert texts(stream("a"), ("clear_output", {"wait": False})) == []
    waiting = stream("a"), ("clear_output", {"wait": True})
    assert texts(*waiting) == ["a"]
    assert texts(*waiting, stream("b")) == ["b"]


def test_a_display_is_replaced_by_its_id() -> None:
    first, other = display({"text/plain": "0%"}, "p"), display({"text/plain": "x"}, "q")
    update = display({"text/plain": "100%"}, "p", "update_display_data")
    assert texts(first, other, update) == ["100%", "x"]
    assert texts(other, update) == ["x"]


def test_text_is_bounded_at_a_character_and_says_so() -> None:
    kept, note = texts(*[stream("é" * 300_000 + "x")] * 4)
    assert len(kept.encode()) <= TEXT_BYTES
    assert set(kept) == {"é", "x"}
    left_out = 4 * 600_001 - len(kept.encode())
    assert note == f"[left out, too large: {left_out} bytes of text]"


def test_a_traceback_has_room_after_too_much_text() -> None:
    error = {"ename": "E", "evalue": "v", "traceback": ["E" * (ERROR_BYTES + 5)]}
    _, traceback, note = texts(stream("x" * TEXT_BYTES), ("error", error))
    assert traceback == "E" * ERROR_BYTES
    assert f"{ENTRY_BYTES + 5} bytes of text" in note


def test_very_many_small_outputs_are_bounded_as_well() -> None:
    collector = Collector()
    for _ in range(100_000):
        collector.receive(*display({"text/plain": "1"}))
    assert len(collector.outputs()) <= TEXT_BYTES / ENTRY_BYTES + 1


def test_a_long_progress_costs_one_line() -> None:
    collector = Collector()
    collector.receive(*display({"text/plain": "0"}, "p"))
    for step in range(5000):
        collector.receive(*display({"text/plain": "=" * 500}, "p", "update_display_data"))
        collector.receive(*display({"image/png": "A" * step}, "p", "update_display_data"))
    collector.receive(*display({"text/plain": "end"}, "p", "update_display_data"))
    assert collector.outputs() == [Text("end")]


def test_images_are_bounded_and_counted() -> None:
    picture = display({"image/png": "A" * (IMAGE_BYTES // 2 - ENTRY_BYTES)})
    found = outputs(picture, picture, picture)
    assert [type(output) for output in found] == [Image, Image, Text]
    assert found[-1] == Text("[left out, too large: 1 image(s)]")


def test_what_a_strange_kernel_sends_is_survived() -> None:
    nonsense: list[Message] = [
        ("stream", {"text": 5}),
        ("error", {}),
        ("display_data", {"data": None}),
        ("display_data", {"data": {"image/png": ["a"], "text/plain": None}, "transient": 1}),
        ("comm_open", {}),
        ("status", {"execution_state": "busy"}),
    ]
    assert texts(*nonsense) == [": "]
