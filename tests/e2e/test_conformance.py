"""The official MCP conformance suite against the product's Streamable HTTP transport.

The server under test has tools only, as every server of the plugin. What needs more of a server is
named below with its reason; a failure that is not named fails the test, and so does a pass that is.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conformance import run_suite

pytestmark = [pytest.mark.e2e, pytest.mark.cli("conformance")]

PASS = (
    "dns-rebinding-protection",
    "elicitation-sep1034-defaults",
    "elicitation-sep1330-enums",
    "json-schema-2020-12",
    "ping",
    "server-initialize",
    "server-sse-multiple-streams",
    "tools-call-audio",
    "tools-call-elicitation",
    "tools-call-embedded-resource",
    "tools-call-error",
    "tools-call-image",
    "tools-call-mixed-content",
    "tools-call-sampling",
    "tools-call-simple-text",
    "tools-call-with-progress",
    "tools-list",
)

NO_LOGGING = "the server has no `logging`: its log is a file"
NO_PROMPTS = "the server has no prompts"
NO_RESOURCES = "the server has no resources"

FAIL = {
    "completion-complete": "without prompts and resources there is nothing to complete",
    "logging-set-level": NO_LOGGING,
    "prompts-get-embedded-resource": NO_PROMPTS,
    "prompts-get-simple": NO_PROMPTS,
    "prompts-get-with-args": NO_PROMPTS,
    "prompts-get-with-image": NO_PROMPTS,
    "prompts-list": NO_PROMPTS,
    "resources-list": NO_RESOURCES,
    "resources-read-binary": NO_RESOURCES,
    "resources-read-text": NO_RESOURCES,
    "resources-subscribe": NO_RESOURCES,
    "resources-templates-read": NO_RESOURCES,
    "resources-unsubscribe": NO_RESOURCES,
    "server-sse-polling": "the server keeps no events for later: a lost connection ends its calls",
    "tools-call-with-logging": NO_LOGGING,
}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    """The checks of every scenario."""
    folder: Path = tmp_path_factory.mktemp("conformance")
    return asyncio.run(run_suite(folder))


def faults(checks: list[dict[str, Any]]) -> list[str]:
    """What is wrong, a line each; a warning counts, since the suite means a SHOULD by it."""
    return [
        f"{check['id']}: {check.get('errorMessage')}"
        for check in checks
        if check["status"] in ("FAILURE", "WARNING")
    ]


def test_every_scenario_is_judged_here(results: dict[str, list[dict[str, Any]]]) -> None:
    assert sorted(results) == sorted([*PASS, *FAIL])


@pytest.mark.parametrize("name", PASS)
def test_a_server_with_tools_passes(results: dict[str, list[dict[str, Any]]], name: str) -> None:
    assert any(check["status"] == "SUCCESS" for check in results[name])
    assert faults(results[name]) == []


@pytest.mark.parametrize("name", FAIL)
def test_what_needs_more_than_tools_fails(
    results: dict[str, list[dict[str, Any]]], name: str
) -> None:
    assert faults(results[name]), f"it passes now: move it, no longer true: {FAIL[name]}"
