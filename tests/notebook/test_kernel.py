"""executeCode on a real ipykernel."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from agent_ide.errors import ToolError
from agent_ide.notebook.kernel import Image, Kernels, Output, Text

pytest.importorskip("ipykernel", reason="the extra `notebook` is not installed")

BOUND_S = 30.0
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(40)).decode()


class User:
    """Says yes or no to the start of a kernel, and remembers the questions."""

    def __init__(self, answer: bool = True) -> None:
        self.answer = answer
        self.questions: list[str] = []

    async def approve(self, question: str) -> bool:
        self.questions.append(question)
        return self.answer


@pytest.fixture
def jupyter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Jupyter's folders, away from the user's; gives the runtime folder."""
    for name in ("JUPYTER_RUNTIME_DIR", "JUPYTER_DATA_DIR", "JUPYTER_CONFIG_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX", "JUPYTER_PATH"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "jupyter_runtime_dir"


@pytest.fixture
async def kernels(jupyter: Path) -> AsyncIterator[Kernels]:
    kernels = Kernels()
    yield kernels
    await kernels.close()
    assert kernels.running == []


@pytest.fixture
def user() -> User:
    return User()


@pytest.fixture
def notebook(tmp_path: Path) -> str:
    folder = tmp_path / "project"
    folder.mkdir()
    return str(folder / "demo.ipynb")


Run = Callable[[str], "asyncio.Future[list[Output]]"]


@pytest.fixture
def run(kernels: Kernels, notebook: str, user: User) -> Run:
    """Run code for the notebook as a tool call does."""

    def call(code: str) -> asyncio.Future[list[Output]]:
        return asyncio.ensure_future(kernels.execute(notebook, None, code, user.approve))

    return call


async def text_of(outputs: asyncio.Future[list[Output]]) -> str:
    found = await asyncio.wait_for(outputs, BOUND_S)
    return "".join(output.text for output in found if isinstance(output, Text))


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(BOUND_S):
        while not condition():  # noqa: ASYNC110 - a process or a file gives no event
            await asyncio.sleep(0.01)


def is_alive(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
        threads = os.listdir(f"/proc/{pid}/task")
    except FileNotFoundError:
        return False
    # killed, but its other threads are still dying: its parent cannot collect it yet
    return status.rpartition(")")[2].split()[0] != "Z" or len(threads) > 1


def files_in(folder: Path) -> list[Path]:
    return list(folder.iterdir())


async def test_one_kernel_asked_for_once_keeps_its_variables(run: Run, user: User) -> None:
    assert await text_of(run("x = 20\nprint('hello')")) == "hello\n"
    assert await text_of(run("x + 22")) == "42"
    assert len(user.questions) == 1
    assert "demo.ipynb" in user.questions[0]
    assert "Python 3" in user.questions[0]


async def test_streams_results_images_and_errors_come_in_order(run: Run) -> None:
    code = f"""
import sys
from IPython.display import display
print("out")
print("err", file=sys.stderr)
display({{"image/png": {PNG!r}, "text/plain": "<Figure>"}}, raw=True)
1 / 0
"""
    out, err, image, error = await run(code)
    assert (out, err) == (Text("out\n"), Text("err\n"))
    assert image == Image("image/png", PNG)
    assert isinstance(error, Text)
    assert "ZeroDivisionError: division by zero" in error.text
    assert "\x1b" not in error.text
    assert await text_of(run("'still there'")) == "'still there'"


async def test_it_works_in_the_folder_of_the_notebook(run: Run, notebook: str) -> None:
    assert await text_of(run("import os; print(os.getcwd())")) == os.path.dirname(notebook) + "\n"


async def test_a_notebook_in_a_folder_that_is_not_there_yet(kernels: Kernels, user: User) -> None:
    outputs = kernels.execute("/nowhere/a.ipynb", None, "1", user.approve)
    assert await text_of(asyncio.ensure_future(outputs)) == "1"


async def test_the_user_declines_and_is_asked_again(run: Run, user: User) -> None:
    user.answer = False
    with pytest.raises(ToolError, match="declined"):
        await run("1")
    user.answer = True
    assert await text_of(run("1")) == "1"
    assert len(user.questions) == 2


async def test_two_notebooks_have_two_kernels(kernels: Kernels, notebook: str, user: User) -> None:
    other = notebook.replace("demo", "other")
    code = "import os; print(os.getpid())"
    one, two = await asyncio.gather(
        *(kernels.execute(path, None, code, user.approve) for path in (notebook, other))
    )
    assert one != two
    assert len(user.questions) == 2
    assert kernels.running == ["python3", "python3"]


async def test_calls_to_one_kernel_run_one_after_the_other(run: Run, user: User) -> None:
    slow = "import time\nfor i in range(3): print(i, flush=True); time.sleep(0.05)"
    outputs = [run(slow), run("print('b')"), run("print('c')")]
    assert [await text_of(output) for output in outputs] == ["0\n1\n2\n", "b\n", "c\n"]
    assert len(user.questions) == 1


async def test_input_is_refused(run: Run) -> None:
    assert "StdinNotImplementedError" in await text_of(run("input('name? ')"))


async def test_much_output_is_bounded_and_the_traceback_survives(run: Run) -> None:
    outputs = await run("for _ in range(40): print('x' * 100_000)\nraise ValueError('at the end')")
    texts = [output.text for output in outputs if isinstance(output, Text)]
    assert 1_000_000 < len(texts[0]) <= 1024 * 1024
    assert "ValueError: at the end" in texts[1]
    assert "bytes of text" in texts[2]


async def test_a_flood_of_messages_leaves_the_loop_alive(run: Run) -> None:
    flood = run("from IPython.display import display\nfor i in range(2000): display(i)")
    turns = 0
    while not flood.done():
        await asyncio.sleep(0.001)
        turns += 1
    outputs = await flood
    assert turns > 50
    # the kernel's publisher may drop some under load; the end is noticed all the same
    assert outputs


async def test_the_end_is_noticed_when_its_message_is_lost(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    await run("kernel = get_ipython().kernel")
    monkeypatch.setattr("agent_ide.notebook.jupyter.LOST_S", 1.0)
    await run("kernel._publish_status = lambda *args, **more: None")
    assert await text_of(run("print('ends')")) == "ends\n"


async def test_cancelling_interrupts_and_the_kernel_stays(
    run: Run, user: User, tmp_path: Path
) -> None:
    began = tmp_path / "began"
    call = run(f"import time\nkept = 7\nopen({str(began)!r}, 'w')\nwhile True: time.sleep(0.01)")
    await until(began.exists)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert await text_of(run("kept")) == "7"
    assert len(user.questions) == 1


async def test_cancelled_before_the_kernel_took_it_up(run: Run, tmp_path: Path) -> None:
    await run("import time")
    for delay in (0, 0.001, 0.002, 0.005, 0.01):
        call = run("while True: time.sleep(0.01)")
        await asyncio.sleep(delay)
        call.cancel()
        assert await text_of(run("'usable'")) == "'usable'"


async def test_cancelled_while_the_kernel_starts(run: Run, kernels: Kernels, user: User) -> None:
    call = run("open('must-not-be', 'w')")
    await until(lambda: bool(kernels.running))
    call.cancel()
    assert await text_of(run("import os; os.listdir()")) == "[]"
    assert len(user.questions) == 1


async def test_cancelled_while_the_user_is_asked(kernels: Kernels, notebook: str) -> None:
    asked = asyncio.Event()

    async def never(question: str) -> bool:
        asked.set()
        await asyncio.Event().wait()
        return True

    call = asyncio.ensure_future(kernels.execute(notebook, None, "1", never))
    await asyncio.wait_for(asked.wait(), BOUND_S)
    call.cancel()
    outputs = kernels.execute(notebook, None, "2", User().approve)
    assert await text_of(asyncio.ensure_future(outputs)) == "2"


async def test_code_that_ignores_its_interrupt_makes_the_next_call_fail_with_the_cure(
    run: Run, kernels: Kernels, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent_ide.notebook.kernel.INTERRUPTED_S", 0.3)
    began = tmp_path / "began"
    call = run(
        "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        f"open({str(began)!r}, 'w')\nwhile True: time.sleep(0.01)"
    )
    await until(began.exists)
    call.cancel()
    with pytest.raises(ToolError, match="AgentIde kernel restart"):
        await run("1")
    await kernels.restart()
    assert await text_of(run("1")) == "1"


async def test_a_kernel_that_dies_is_told_and_replaced(
    run: Run, kernels: Kernels, user: User
) -> None:
    await run("x = 1")
    with pytest.raises(ToolError, match="died"):
        await run("import os; os._exit(3)")
    assert kernels.running == []
    assert "NameError" in await text_of(run("x"))
    assert len(user.questions) == 2


async def test_a_kernel_that_died_between_two_calls_is_replaced(run: Run, user: User) -> None:
    pid = int(await text_of(run("import os; os.getpid()")))
    os.kill(pid, signal.SIGKILL)
    await until(lambda: not is_alive(pid))
    assert await text_of(run("2")) == "2"
    assert len(user.questions) == 2


async def test_restart_forgets_variables_and_asks_nobody(
    run: Run, kernels: Kernels, user: User
) -> None:
    await run("x = 1")
    await kernels.restart()
    assert "NameError" in await text_of(run("x"))
    assert len(user.questions) == 1


async def test_stop_ends_the_process_and_the_code_that_runs(
    run: Run, kernels: Kernels, user: User, tmp_path: Path
) -> None:
    pid = int(await text_of(run("import os; os.getpid()")))
    began = tmp_path / "began"
    call, queued = run(f"open({str(began)!r}, 'w')\nwhile True: pass"), run("'queued'")
    await until(began.exists)
    await kernels.stop()
    assert not is_alive(pid)
    with pytest.raises(ToolError, match="stopped the Jupyter kernel"):
        await call
    assert await text_of(queued) == "'queued'"
    assert len(user.questions) == 2


async def test_stop_while_the_kernel_starts(run: Run, kernels: Kernels) -> None:
    call = run("1")
    await until(lambda: bool(kernels.running))
    await kernels.stop()
    with pytest.raises(ToolError, match="stopped the Jupyter kernel"):
        await call
    assert kernels.running == []
    assert await text_of(run("1")) == "1"


async def test_close_is_quick_final_and_leaves_no_file(
    run: Run, kernels: Kernels, jupyter: Path
) -> None:
    pid = int(await text_of(run("import os; os.getpid()")))
    assert len(files_in(jupyter)) == 1
    await kernels.close()
    assert not is_alive(pid)
    assert files_in(jupyter) == []
    with pytest.raises(ToolError, match="closes"):
        await run("1")


async def test_kill_needs_no_loop(run: Run, kernels: Kernels, jupyter: Path) -> None:
    code = "import os, subprocess; print(os.getpid(), subprocess.Popen(['sleep', '600']).pid)"
    pids = [int(word) for word in (await text_of(run(code))).split()]
    kernels.kill()
    await until(lambda: not any(is_alive(pid) for pid in pids))
    assert files_in(jupyter) == []


async def test_the_key_is_readable_by_this_user_only(run: Run, jupyter: Path) -> None:
    await run("1")
    (connection,) = files_in(jupyter)
    assert stat.S_IMODE(connection.stat().st_mode) & 0o077 == 0
    facts = json.loads(connection.read_text())
    assert facts["ip"] == "127.0.0.1"
    assert facts["key"]


async def test_changes_are_announced(notebook: str, user: User, jupyter: Path) -> None:
    seen: list[list[str]] = []
    kernels = Kernels(lambda: seen.append(kernels.running))
    await kernels.execute(notebook, "python3", "1", user.approve)
    await kernels.execute(notebook, "python3", "1", user.approve)
    await kernels.stop()
    assert seen == [["python3"], []]


async def test_an_unknown_kernel_is_named_with_those_that_exist(
    kernels: Kernels, notebook: str, user: User
) -> None:
    with pytest.raises(ToolError, match=r'No Jupyter kernel "julia-9" here. Known: .*python3'):
        await kernels.execute(notebook, "julia-9", "1", user.approve)
    assert user.questions == []


def install_spec(folder: Path, argv: list[str], title: str = "Project") -> None:
    folder.mkdir(parents=True)
    spec = {"argv": argv, "display_name": title, "language": "python"}
    (folder / "kernel.json").write_text(json.dumps(spec))


async def test_a_kernel_whose_interpreter_is_gone(
    kernels: Kernels, notebook: str, user: User, tmp_path: Path
) -> None:
    install_spec(tmp_path / "jupyter_data_dir" / "kernels" / "old", ["/nowhere/python", "-m", "x"])
    with pytest.raises(ToolError, match=r'^The Jupyter kernel "old" does not start\.$'):
        await kernels.execute(notebook, "old", "1", user.approve)
    assert kernels.running == []


async def test_a_kernel_that_ends_while_it_starts(
    kernels: Kernels, notebook: str, user: User, tmp_path: Path
) -> None:
    argv = [sys.executable, "-c", "raise SystemExit(1)"]
    install_spec(tmp_path / "jupyter_data_dir" / "kernels" / "broken", argv)
    with pytest.raises(ToolError, match="does not start"):
        await kernels.execute(notebook, "broken", "1", user.approve)
    (tmp_path / "jupyter_data_dir" / "kernels" / "broken" / "kernel.json").write_text("{")
    with pytest.raises(ToolError, match=r'spec of the Jupyter kernel "broken" is broken'):
        await kernels.execute(notebook, "broken", "1", user.approve)


async def test_the_activated_environment_comes_first(
    run: Run, user: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    venv = tmp_path / "venv"
    (venv / "bin").mkdir(parents=True)
    python = venv / "bin" / "python"
    python.write_text(f'#!/bin/sh\nexport PROJECT=yes\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    argv = ["python", "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    install_spec(venv / "share" / "jupyter" / "kernels" / "python3", argv)
    monkeypatch.setenv("VIRTUAL_ENV", str(venv))
    assert await text_of(run("import os; os.environ['PROJECT']")) == "'yes'"
    assert str(python) in user.questions[0]


async def test_another_kernel_for_the_same_notebook_replaces_the_first(
    kernels: Kernels, notebook: str, user: User, tmp_path: Path
) -> None:
    argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    install_spec(tmp_path / "jupyter_data_dir" / "kernels" / "second", argv)
    await kernels.execute(notebook, None, "1", user.approve)
    await kernels.execute(notebook, "second", "1", user.approve)
    assert kernels.running == ["second"]
    assert len(user.questions) == 2


async def test_without_the_extra_the_error_names_the_cure(
    kernels: Kernels, notebook: str, user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "agent_ide.notebook.jupyter", raising=False)
    monkeypatch.setitem(sys.modules, "jupyter_client.kernelspec", None)
    with pytest.raises(ToolError, match=":AgentIde install notebook"):
        await kernels.execute(notebook, None, "1", user.approve)


HOST = """
import asyncio, os, sys
from agent_ide.notebook.kernel import Kernels

async def yes(question):
    return True

async def main():
    assert "jupyter_client" not in sys.modules and "zmq" not in sys.modules
    code = "import os; os.write(1, b'into the channel'); print(os.getpid())"
    outputs = await Kernels().execute("/demo.ipynb", None, code, yes)
    print(outputs[0].text, flush=True)
    {end}

asyncio.run(main())
"""


@pytest.mark.parametrize("end", ["await asyncio.Event().wait()", "os._exit(0)", "pass"])
async def test_no_kernel_outlives_its_host(end: str, jupyter: Path, repo: Path) -> None:
    """Killed, ended at once, or gone without a call to close."""
    env = os.environ | {"PYTHONPATH": str(repo / "python")}
    host = await asyncio.create_subprocess_exec(
        sys.executable, "-c", HOST.replace("{end}", end), stdout=subprocess.PIPE, env=env
    )
    assert host.stdout is not None
    first = await asyncio.wait_for(host.stdout.readline(), BOUND_S)
    pid = int(first)  # and nothing of what the kernel wrote to its own descriptor
    if "wait" in end:
        host.kill()
    await asyncio.wait_for(host.wait(), BOUND_S)
    await until(lambda: not is_alive(pid))
