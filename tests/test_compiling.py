"""Who waits for kernels to be compiled is told, and nobody else."""

import sys
from types import SimpleNamespace

import pytest

from faircrowd import _compiling


@pytest.fixture
def compiling(monkeypatch: pytest.MonkeyPatch) -> _compiling._Compiling:
    monkeypatch.delenv("FAIRCROWD_QUIET", raising=False)
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr(_compiling, "_is_told", None)
    return _compiling._Compiling(iter(range(0, 1000, 2)).__next__)


def compile_kernels(compiling: _compiling._Compiling, ours: bool = True) -> None:
    for _ in range(4):
        compiling.begin(ours)
        compiling.end(ours)


def test_the_command_line_tells_once(
    compiling: _compiling._Compiling, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(_compiling, "_is_told", lambda: True)
    compile_kernels(compiling)
    compile_kernels(compiling)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("compiling for this machine") == 1


@pytest.mark.parametrize("case", ["a program", "as json", "CI", "FAIRCROWD_QUIET", "a kernel of the user's"])
def test_nobody_else_is_told(
    case: str,
    compiling: _compiling._Compiling,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delattr(sys, "ps1", raising=False)
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    if case != "a program":
        monkeypatch.setattr(_compiling, "_is_told", lambda: case != "as json")
    if case.isupper():
        monkeypatch.setenv(case, "1")
    compile_kernels(compiling, ours=not case.startswith("a kernel"))
    assert capsys.readouterr().err == ""


def test_people_at_a_prompt_are_told(
    compiling: _compiling._Compiling, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    compile_kernels(compiling)
    assert "10 seconds or more" in capsys.readouterr().err


def test_kernels_are_ours_by_their_module() -> None:
    def kernel(module: str) -> dict[str, object]:
        return {"dispatcher": SimpleNamespace(py_func=SimpleNamespace(__module__=module))}

    assert _compiling.is_ours(kernel("faircrowd.aggregate.kernels.vote_counts"))
    assert not _compiling.is_ours(kernel("faircrowds.mine"))
    assert not _compiling.is_ours({})
