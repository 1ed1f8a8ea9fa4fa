"""Bad input by name. To add a case, add a line: the content of the file, and words of the message."""

# ruff: noqa: E501 - one case per line

import bz2
import gzip
import io
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

import faircrowd as fc
from bad_input.case import Case, asked, refused, works
from faircrowd.errors import FileError, InputError, MissingColumnError, OptionError

__all__ = ["CASES", "GOOD", "TASKS", "crowd"]

HEAD = "task,worker,label\n"
GOOD = HEAD + "1,a,x\n1,b,y\n2,a,x\n2,b,x\n3,b,y\n"
TASKS = "task,group,truth\n1,g,x\n2,h,x\n3,g,y\n"
LABELS = {"1": "x", "2": "x", "3": "y"}
TYPED = {1: "x", 2: "x", 3: "y"}


def votes(*labels: str, ending: str = "\n") -> str:
    """Two equal votes on each task: the label of the task, as in the file."""
    rows = (f"{task},{worker},{label}" for task, label in enumerate(labels, 1) for worker in "ab")
    return ending.join((HEAD.strip(), *rows, ""))


def jsonl(*labels: Any) -> str:
    """Two votes on each task as JSON lines."""
    return "".join(
        json.dumps({"task": task, "worker": worker, "label": label}) + "\n"
        for task, label in enumerate(labels, 1)
        for worker in "ab"
    )


def parquet(*labels: Any, kind: pa.DataType | None = None) -> bytes:
    """Two votes on each task as Parquet."""
    n_tasks = len(labels)
    columns = {
        "task": [task for task in range(1, n_tasks + 1) for _ in "ab"],
        "worker": ["a", "b"] * n_tasks,
        "label": pa.array([label for label in labels for _ in "ab"], type=kind),
    }
    stream = io.BytesIO()
    pq.write_table(pa.table(columns), stream)
    return stream.getvalue()


def crowd(n_tasks: int, n_workers: int, n_classes: int) -> str:
    """Three votes on each task, workers and classes in turn; the first two agree."""
    rows = [
        f"{task},{(3 * task + place) % n_workers},c{(task + place // 2) % n_classes}"
        for task in range(n_tasks)
        for place in range(3)
    ]
    return HEAD + "\n".join(rows) + "\n"


def wide(n_tasks: int, n_classes: int) -> str:
    """One vote for every class, on the tasks in turn; a second for the first class of each task."""
    rows = [f"{k % n_tasks},w{k // n_tasks},c{k}" for k in range(n_classes)]
    rows += [f"{task},again,c{task}" for task in range(n_tasks)]
    return HEAD + "\n".join(rows) + "\n"


def folder(path: Path) -> None:
    path.mkdir()


def loop(path: Path) -> None:
    path.symlink_to(path)


def pipe(path: Path) -> None:
    os.mkfifo(path)


def fair(**options: Any) -> Any:
    """Ask for fair labels of a small posterior."""
    values = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.3, 0.7]])
    return lambda _: fc.make_fair(values, ["g", "g", "h", "h"], **{"epsilon": 0.1, **options})


FILES = {
    "no file": refused(None, "There is no file vots.csv. Did you mean 'votes.csv'?", FileError, file="vots.csv"),
    "no folder": refused(None, "There is no file no/votes.csv.", FileError, file="no/votes.csv"),
    "a folder": refused(folder, "v.csv is a folder; name a file in it.", FileError, file="v.csv"),
    "a link to itself": refused(loop, "'v.csv' cannot be read: Too many levels", FileError, file="v.csv"),
    "a pipe": refused(pipe, "v.csv is a pipe or a device", FileError, file="v.csv"),
    "0 bytes of CSV": refused("", "votes.csv is empty (0 bytes)", FileError),
    "0 bytes of JSON": refused("", "v.jsonl is empty (0 bytes)", FileError, file="v.jsonl"),
    "0 bytes of Parquet": refused("", "v.parquet is empty (0 bytes)", FileError, file="v.parquet"),
    "0 bytes in gzip": refused(gzip.compress(b""), "v.csv.gz cannot be read: it has no rows", FileError, file="v.csv.gz"),
    "newlines only": refused("\n\n\n", "votes.csv cannot be read: it has no rows", FileError),
    "newlines in JSON": refused("\n \n", "v.jsonl has no rows", FileError, file="v.jsonl"),
    "header only": refused(HEAD, "votes.csv has no vote to use", None, answer={}),
    "header without newline": refused(HEAD.strip(), "votes.csv cannot be read: it has no rows", FileError),
    "no header": refused(GOOD.partition("\n")[2], "No columns 'task' (or item, question), 'worker' (or annotator", MissingColumnError),
    "no label column": refused("task,worker\n1,a\n", "No column 'label' (or answer)", MissingColumnError),
    "mistyped header": refused(GOOD.replace("label", "lable"), "Did you mean 'lable'? Name it with", MissingColumnError),
    "header in capitals": works(GOOD.replace("task", "Task").replace("worker", "WORKER"), LABELS, answer=TYPED),
    "header in two kinds of capitals": refused("Task,TASK,worker,label\n1,2,a,x\n", "Both 'Task' and 'TASK'", InputError),
    "mistyped column": refused(None, "No column 'lable' in votes.csv; its columns are 'task', 'worker', 'label'. Did you mean 'label'?", MissingColumnError, label="lable"),
    "column twice": refused("task,worker,label,label\n1,a,x,y\n", "Column 'label' occurs 2 times", InputError),
    "two columns for a role": refused("item,question,worker,label\n1,2,a,x\n", "Both 'item' and 'question'", InputError),
    "one column for two roles": refused(None, "was named as task and as worker", InputError, worker="task"),
    "semicolons": refused(GOOD.replace(",", ";"), "Is the delimiter right?", MissingColumnError),
    "tabs in CSV": refused(GOOD.replace(",", "\t"), "Is the delimiter right?", MissingColumnError),
    "semicolons, said": works(GOOD.replace(",", ";"), LABELS, answer=TYPED, delimiter=";"),
    "long delimiter": refused(None, "delimiter='||' must be one plain character", OptionError, delimiter="||"),
    "byte order mark": works("\ufeff" + GOOD, LABELS, answer=TYPED),
    "byte order mark in JSON": works("\ufeff" + jsonl("x", "y"), {"1": "x", "2": "y"}, answer={1: "x", 2: "y"}, file="v.jsonl"),
    "UTF-16": refused(GOOD.encode("utf-16"), "votes.csv holds NUL bytes; it is not text, or it is UTF-16", FileError),
    "UTF-16 in JSON": refused(jsonl("x", "y").encode("utf-16"), "holds NUL bytes", FileError, file="v.jsonl"),
    "UTF-32": refused(GOOD.encode("utf-32"), "votes.csv holds NUL bytes", FileError),
    "Latin-1": refused(votes("é", "x").encode("latin-1"), "votes.csv is not UTF-8 text", FileError),
    "Latin-1 in the header": refused("task,worker,label,é\n1,a,x,z\n".encode("latin-1"), "is not UTF-8 text", FileError),
    "Latin-1 in JSON": refused(b'{"task": 1, "worker": 2, "label": "\xe9"}\n', "is not UTF-8 text", FileError, file="v.jsonl"),
    "NUL bytes": refused(votes("x\0", "y"), "votes.csv holds NUL bytes", FileError),
    "late NUL bytes": refused(votes(*["x"] * 9, "y" * 99) + f"9,c,{'z' * (1 << 24)}\n10,c,\0\n", "NUL bytes", FileError),
    "CRLF": works(votes("x", "y", ending="\r\n"), {"1": "x", "2": "y"}, answer={1: "x", 2: "y"}),
    "CR": works(votes("x", "y", ending="\r"), {"1": "x", "2": "y"}, answer={1: "x", 2: "y"}),
    "no newline at the end": works(GOOD.rstrip(), LABELS, answer=TYPED),
    "blank lines": works(GOOD.replace("\n2", "\n\n2"), LABELS, answer=TYPED),
    "quoted newlines": works(votes('"x\ny"', "z"), {"1": "x\ny", "2": "z"}, answer={1: "x\ny", 2: "z"}),
    "quotes in quotes": works(votes('"say ""yes"""', '"a,b"'), {"1": 'say "yes"', "2": "a,b"}, answer={1: 'say "yes"', 2: "a,b"}),
    "a quote left open": refused(GOOD + '4,"a,x\n5,b,y\n', "ends inside a quote: the one that opens in row 6", FileError),
    "a short row": refused(GOOD + "4,a\n", "Row #7: Expected 3 columns, got 2: 4,a", FileError),
    "a long row": refused(GOOD + "4,a,x,y\n", "Row #7: Expected 3 columns, got 4: 4,a,x,y", FileError),
    "truncated gzip": refused(gzip.compress(GOOD.encode() * 1000)[:-20], "Truncated compressed stream", FileError, file="v.csv.gz"),
    "gzip of 3 bytes": refused(gzip.compress(GOOD.encode())[:3], "v.csv.gz cannot be read", FileError, file="v.csv.gz"),
    "no gzip": refused(GOOD, "v.csv.gz cannot be read: zlib inflate failed", FileError, file="v.csv.gz"),
    "truncated bzip2": refused(bz2.compress(GOOD.encode())[:-9], "v.csv.bz2 cannot be read", FileError, file="v.csv.bz2"),
    "gzip that is not called so": refused(gzip.compress(GOOD.encode()), "votes.csv holds NUL bytes", FileError),
    "truncated Parquet": refused(parquet("x", "y")[:-10], "Parquet magic bytes not found", FileError, file="v.parquet"),
    "3 bytes of Parquet": refused(b"PAR", "Parquet file size is 3 bytes", FileError, file="v.parquet"),
    "CSV called Parquet": refused(GOOD, "v.parquet cannot be read: Parquet magic bytes", FileError, file="v.parquet"),
    "Parquet called CSV": refused(parquet("x", "y"), "votes.csv holds NUL bytes", FileError),
    "Parquet without rows": refused(parquet(), "v.parquet has no vote to use", None, answer={}, file="v.parquet"),
    "nested Parquet": refused(parquet([1], [2]), "holds nested values", InputError, file="v.parquet"),
    "broken JSON": refused('{"task": 1}\n{"task\n', "v.jsonl, line 2: not JSON", FileError, file="v.jsonl"),
    "JSON of lists": refused("[1, 2, 3]\n", "v.jsonl, line 1: not a JSON object", FileError, file="v.jsonl"),
    "one JSON array": refused(json.dumps([{"task": 1}]), "v.jsonl, line 1: not a JSON object", FileError, file="v.jsonl"),
    "nested JSON": refused(jsonl({"a": 1}, {"a": 2}), "holds nested values", InputError, file="v.jsonl"),
    "lists in JSON": refused(jsonl([1], "x"), "must be hashable", InputError, file="v.jsonl"),
    "a deep nest of JSON": refused("[" * 10**5 + "\n", "v.jsonl, line 1: not JSON", FileError, file="v.jsonl"),
    "a field in no line": refused('{"task": 1, "worker": 2}\n', "No column 'label'", MissingColumnError, file="v.jsonl"),
    "half a character in JSON": refused('{"task": 1, "worker": 2, "label": "\\ud800"}\n', "half a character", InputError, file="v.jsonl"),
    "an unknown ending": refused(GOOD, "the ending '.xlsx' is not known; use .csv", FileError, file="v.xlsx"),
    "no ending": refused(GOOD, "the ending '(none)' is not known", FileError, file="votes"),
}  # fmt: skip

VALUES = {
    "empty labels": works(GOOD + "3,c,\n", LABELS, answer=TYPED, note="1 of 6 rows set aside: no label"),
    "NaN labels": works(GOOD + "3,c,NaN\n3,d,nan\n", LABELS, answer=TYPED, note="2 of 7 rows set aside: no label"),
    "null in JSON": works(jsonl("x", "y") + '{"task": 1, "worker": "c", "label": null}\n', {"1": "x", "2": "y"}, answer={1: "x", 2: "y"}, note="no label", file="v.jsonl"),
    "NaN in JSON": works('{"task": 1, "worker": "c", "label": NaN}\n' + jsonl("x", "y"), {"1": "x", "2": "y"}, answer={1: "x", 2: "y"}, note="no label", file="v.jsonl"),
    "NaN in Parquet": works(parquet(1.0, float("nan"), 2.0), {"1": "1", "3": "2"}, answer={1: 1.0, 3: 2.0}, note="task left with no vote: 2", file="v.parquet"),
    "no label at all": refused(votes("", ""), "votes.csv has no vote to use", None, answer={}),
    "missing, as an error": refused(GOOD + "4,a,\n", "1 of 6 rows have no label (the first is row 6)", InputError, on_missing="error"),
    "empty tasks": works(GOOD + ",c,x\n", LABELS, answer=TYPED, note="1 of 6 rows set aside: no task"),
    "empty workers": works(GOOD + "3,,x\n", LABELS, answer=TYPED, note="1 of 6 rows set aside: no worker"),
    "infinity": works(votes("inf", "-inf"), {"1": "inf", "2": "'-inf"}, answer={1: "inf", 2: "-inf"}),
    "infinity in Parquet": works(parquet(float("inf"), 1.0), {"1": "inf", "2": "1"}, answer={1: float("inf"), 2: 1.0}, file="v.parquet"),
    "1e999 in JSON": works('{"task": 1, "worker": 1, "label": 1e999}\n{"task": 2, "worker": 2, "label": 1}\n', {"1": "inf", "2": "1"}, answer={1: float("inf"), 2: 1}, file="v.jsonl"),
    "words for nothing": works(votes("None", "NULL", "N/A"), {"1": "None", "2": "NULL", "3": "N/A"}, answer={1: "None", 2: "NULL", 3: "N/A"}),
    "labels of spaces": works(votes("   ", "x"), {"1": "   ", "2": "x"}, answer={1: "   ", 2: "x"}),
    "spaces around labels": works(votes("yes", "yes ", "no"), {"1": "yes", "2": "yes ", "3": "no"}, answer={1: "yes", 2: "yes ", 3: "no"}, note="labels 'yes' and 'yes ' differ only by spaces; they count as two"),
    "labels in capitals": works(votes("yes", "Yes"), {"1": "yes", "2": "Yes"}, answer={1: "yes", 2: "Yes"}, note="labels 'Yes' and 'yes' differ only by case"),
    "Cyrillic look-alikes": works(votes("yes", "yеs"), {"1": "yes", "2": "yеs"}, answer={1: "yes", 2: "yеs"}, note="labels 'yes' and 'y\\u0435s' differ only by letters that look alike"),
    "composed and not": works(votes("é", "e\u0301"), {"1": "é", "2": "e\u0301"}, answer={1: "é", 2: "e\u0301"}, note="letters that look alike"),
    "a space of no width": works(votes("x", "x\u200b"), {"1": "x", "2": "x\u200b"}, answer={1: "x", 2: "x\u200b"}, note="letters that look alike"),
    "1 and 1.0": works(votes("1", "1.0", "2"), {"1": "1", "2": "1.0", "3": "2"}, answer={1: "1", 2: "1.0", 3: "2"}, note="differ only by the way a number is written"),
    "1 and '1' in JSON": works(jsonl(1, "1"), {"1": "1", "2": "'1'"}, answer={1: 1, 2: "1"}, note="differ only by type", file="v.jsonl"),
    "mixed types in JSON": works(jsonl(1, "x", True, 2.5), {"1": "1", "2": "x", "3": "True", "4": "2.5"}, answer={1: 1, 2: "x", 3: True, 4: 2.5}, file="v.jsonl"),
    "truth values": works(votes("True", "False"), {"1": "True", "2": "False"}, answer={1: "True", 2: "False"}),
    "truth values in JSON": works(jsonl(True, False), {"1": "true", "2": "false"}, answer={1: True, 2: False}, file="v.jsonl"),
    "huge integers": works(votes("9" * 30, "9" * 29 + "8"), {"1": "9" * 30, "2": "9" * 29 + "8"}, answer={1: "9" * 30, 2: "9" * 29 + "8"}),
    "huge integers in JSON": works(jsonl(2**70, 2**70 + 1), {"1": str(2**70), "2": str(2**70 + 1)}, answer={1: 2**70, 2: 2**70 + 1}, file="v.jsonl"),
    "a number of 5,000 digits": refused(f'{{"task": 1, "worker": 2, "label": {"9" * 5000}}}\n', "v.jsonl, line 1: not JSON", FileError, file="v.jsonl"),
    "zeros in front": works(GOOD.replace("\n1", "\n001"), {"001": "x", "2": "x", "3": "y"}, answer={"001": "x", "2": "x", "3": "y"}),
    "dates": works(votes("2024-02-30", "2024-01-01"), {"1": "2024-02-30", "2": "2024-01-01"}, answer={1: "2024-02-30", 2: "2024-01-01"}),
    "dates in Parquet": works(parquet(pd.Timestamp("2024-01-01"), pd.Timestamp("2024-01-02"), kind=pa.timestamp("ms")), {"1": "2024-01-01 00:00:00.000", "2": "2024-01-02 00:00:00.000"}, answer={1: pd.Timestamp("2024-01-01"), 2: pd.Timestamp("2024-01-02")}, file="v.parquet"),
    "bytes in Parquet": works(parquet(b"\xff", b"x"), {"1": "\\xff", "2": "x"}, answer={1: b"\xff", 2: b"x"}, file="v.parquet"),
    "a label of 1 MB": refused(GOOD + f"4,a,{'x' * 10**6}\n", "A label in votes.csv is 1,000,000 characters long", InputError),
    "a label of 20 MB": refused(GOOD + f"4,a,{'x' * (20 << 20)}\n", "is 20,971,520 characters long", InputError),
    "a worker of 1 MB": works(GOOD + f"3,{'w' * 10**6},y\n", LABELS, answer=TYPED),
    "a task of 1 MB": works(GOOD + f"{'t' * 10**6},a,x\n", {**LABELS, "t" * 10**6: "x"}),
    "emoji and right-to-left": works(votes("🙂", "שלום", "中文"), {"1": "🙂", "2": "שלום", "3": "中文"}, answer={1: "🙂", 2: "שלום", 3: "中文"}),
    "formulas": works(votes("=1+1", "@x"), {"1": "'=1+1", "2": "'@x"}, answer={1: "=1+1", 2: "@x"}),
    "control characters": works(votes("\x1b[2J", "\x07"), {"1": "\x1b[2J", "2": "\x07"}, answer={1: "\x1b[2J", 2: "\x07"}),
}  # fmt: skip

STRUCTURE = {
    "one vote": refused(HEAD + "1,a,x\n", "votes.csv has only one vote to use", None, answer={1: "x"}),
    "one worker": refused(HEAD + "1,a,x\n2,a,y\n", "votes.csv has only one worker ('a') to use", None, answer={1: "x", 2: "y"}),
    "one class": refused(HEAD + "1,a,x\n1,b,x\n", "votes.csv has only one class ('x') to use", None, answer={1: "x"}),
    "one task": works(HEAD + "1,a,x\n1,b,y\n1,c,y\n", {"1": "y"}, answer={1: "y"}),
    "all ties": works(HEAD + "1,a,x\n1,b,y\n2,a,y\n2,b,x\n", {"1": "x", "2": "x"}, answer={1: "x", 2: "x"}),
    "repeated votes": works(GOOD + "3,b,x\n", {**LABELS, "3": "x"}, answer={**TYPED, 3: "x"}, note="same task and worker, the last vote counts"),
    "repeated, the first": works(GOOD + "3,b,x\n", LABELS, answer=TYPED, note="the first vote counts", on_duplicate="first"),
    "repeated, all": works(GOOD + "3,b,x\n3,b,x\n", {**LABELS, "3": "x"}, answer={**TYPED, 3: "x"}, note="were kept", on_duplicate="all"),
    "repeated, as an error": refused(GOOD + "1,b,x\n", "such as task 1 and worker 'b'", InputError, on_duplicate="error"),
    "the same row 1,000 times": works(GOOD + "3,b,y\n" * 1000, LABELS, answer=TYPED, note="1,000 of 1,005 rows"),
    "10,000 classes": works(wide(20, 10_000), {str(i): f"c{i}" for i in range(20)}, answer={i: f"c{i}" for i in range(20)}),
    "a worker for each vote": works(crowd(7_000, 21_000, 2), {str(i): f"c{i % 2}" for i in range(7_000)}, answer={i: f"c{i % 2}" for i in range(7_000)}),
}  # fmt: skip

GROUP = "--tasks tasks.csv --group group"
MAJORITY = "aggregate votes.csv --out out --method majority --no-report"


def with_groups(path: Path) -> Any:
    return fc.read_votes(path / "votes.csv", tasks=path / "tasks.csv", sensitive_features="group")


def fair_crowd(path: Path) -> Any:
    return fc.FairCrowd(fc.MajorityVote(), epsilon=0.1, min_group=1).fit(with_groups(path))


GROUPS = {
    "tasks without a group": asked(GROUP, "2 of 3 tasks have no group: 2, 3", with_groups, InputError, tasks=TASKS.replace("2,h", "2,").replace("3,g", "9,g")),
    "groups without tasks": asked(GROUP, "", with_groups, None, command=MAJORITY, code=0, tasks=TASKS + "8,k,x\n9,k,x\n"),
    "two groups for a task": asked(GROUP, "1 tasks have more than one group: 1", with_groups, InputError, tasks=TASKS + "1,h,x\n"),
    "no task of the votes": asked(GROUP, "3 of 3 tasks have no group", with_groups, InputError, tasks="task,group\na,g\nb,h\n"),
    "one group": asked(f"{GROUP} --min-group 1 --epsilon 0.1", "all tasks are of group 'g'", fair_crowd, InputError, tasks=TASKS.replace("h", "g")),
    "one group, no epsilon": asked(GROUP, "", with_groups, None, command=MAJORITY, code=0, tasks=TASKS.replace("h", "g")),
    "a group with one task": asked(f"{GROUP} --min-group 1 --epsilon 0", "", fair_crowd, None, command=MAJORITY, code=0),
    "infinite labels, made fair": Case({"v.jsonl": jsonl(1.5, float("inf"), 1.5)}, "aggregate v.jsonl --out out --no-report --tasks tasks.csv --group group --min-group 1 --epsilon 1", code=0, labels={"1": "1.5", "2": "inf", "3": "1.5"}, file="v.jsonl", answer={1: 1.5, 2: float("inf"), 3: 1.5}),
    "a group for each task": asked(f"{GROUP} --min-group 1 --epsilon 0", "", fair_crowd, None, command=MAJORITY, code=0, tasks="task,group\n1,a\n2,b\n3,c\n"),
    "groups that look alike": asked(GROUP, "groups 'G' and 'g' differ only by case", with_groups, None, command=MAJORITY, code=0, tasks=TASKS.replace("h", "G")),
    "an empty tasks table": asked(GROUP, "tasks.csv is empty (0 bytes)", with_groups, FileError, tasks=""),
    "a tasks table of a header": asked(GROUP, "3 of 3 tasks have no group", with_groups, InputError, tasks="task,group\n"),
    "tasks without a task column": asked(GROUP, "No column 'task'", with_groups, MissingColumnError, tasks="nr,group\n1,g\n"),
    "a mistyped group": asked("--tasks tasks.csv --group grup", "No column 'grup' in tasks.csv; its columns are 'task', 'group', 'truth'. Did you mean 'group'?", lambda path: fc.read_votes(path / "votes.csv", tasks=path / "tasks.csv", sensitive_features="grup"), MissingColumnError),
    "a mistyped truth": asked("--tasks tasks.csv --truth turth", "Did you mean 'truth'?"),
    "truth in other words": asked("--tasks tasks.csv --truth truth", "No value in column 'truth' of tasks.csv is a label of the votes", tasks=TASKS.replace(",x", ",u").replace(",y", ",v")),
    "truth partly in other words": asked("--tasks tasks.csv --truth truth", "has labels that nobody voted for: 'u'", command=MAJORITY, code=0, tasks=TASKS.replace(",x", ",u")),
    "truth in other capitals": asked("--tasks tasks.csv --truth truth", "The known label 'X' is no label of the votes; did you mean 'x'?", command=MAJORITY, tasks=TASKS.replace(",x", ",X")),
    "gold with a space": asked("--tasks tasks.csv --gold truth", "The known label 'x ' is no label of the votes; did you mean 'x'?", tasks=TASKS.replace(",x", ",x ")),
    "votes and tasks swapped": asked("--tasks votes.csv --group group", "tasks.csv lacks a column that votes have, and votes.csv has all of them; were votes and tasks swapped?", command="aggregate tasks.csv --out out"),
    "columns with a comma": asked("--tasks tasks.csv --group group,truth", "Give several columns one by one: --group group --group truth."),
    "epsilon in percent": asked(f"{GROUP} --epsilon 5", "--epsilon must be a number from 0 to 1; got 5.0. Did you mean 0.05?"),
    "the votes as tasks": asked("--tasks votes.csv --group label", "tasks have more than one group: 1"),
    "votes that agree, and groups": asked(f"{GROUP} --min-group 1 --epsilon 0.1", "only one class ('x') to use", votes=votes("x", "x", "x")),
}  # fmt: skip

OPTIONS = {
    "epsilon -1": asked(f"{GROUP} --min-group 1 --epsilon -1", "--epsilon must be a number from 0 to 1; got -1.0", fair(epsilon=-1)),
    "epsilon 2": asked(f"{GROUP} --min-group 1 --epsilon 2", "--epsilon must be a number from 0 to 1; got 2.0", fair(epsilon=2)),
    "epsilon nan": asked(f"{GROUP} --min-group 1 --epsilon nan", "must be a number from 0 to 1; got nan", fair(epsilon=float("nan"))),
    "epsilon 5%": asked(f"{GROUP} --min-group 1 --epsilon 5%", "'5%' is not a number; did you mean 0.05?", fair(epsilon="5%")),
    "epsilon 0,05": asked(f"{GROUP} --min-group 1 --epsilon 0,05", "'0,05' is not a number; did you mean 0.05?", fair(epsilon="0,05")),
    "epsilon five": asked(f"{GROUP} --min-group 1 --epsilon five", "'five' is not a number", fair(epsilon="five")),
    "epsilon without groups": asked("--epsilon 0.1", "give --group COLUMN", lambda path: fc.FairCrowd(fc.MajorityVote()).fit(path / "votes.csv"), InputError),
    "confidence without epsilon": asked("--confidence 0.9", "--confidence goes with --epsilon"),
    "positive without epsilon": asked("--positive 1", "--positive goes with --epsilon; give it, or leave it out"),
    "an objective and a decision without epsilon": asked(
        "--objective f1 --decision randomized", "--objective and --decision go with --epsilon"
    ),
    "confidence of 1": asked(f"{GROUP} --min-group 1 --epsilon 0.1 --confidence 1", "must be below 1", fair(confidence=1)),
    "confidence 95%": asked(f"{GROUP} --min-group 1 --epsilon 0.1 --confidence 95%", "did you mean 0.95?", fair(confidence="95%")),
    "unknown method": asked("--method dawid", " is not known; use one of 'majority'"),
    "method in capitals": asked("--method Majority", "Did you mean 'majority'?"),
    "mistyped method": asked("--method dawid_skene", "Did you mean 'dawid-skene'?"),
    "unknown engine": asked("--engine memry", " is not known; use one of 'auto', 'memory', 'stream', 'spark'. Did you mean 'memory'?"),
    "unknown ties": asked("--ties frist", "--ties frist is not known; use one of 'first', 'last'. Did you mean 'first'?", lambda path: fc.MajorityVote(ties="frist").fit(path / "votes.csv")),
    "unknown objective": asked("--objective acuracy", "Did you mean 'accuracy'?", fair(objective="acuracy")),
    "f1 of three classes": asked(f"{GROUP} --min-group 1 --epsilon 0.1 --objective f1", "is for two classes; there are 3", votes=votes("x", "y", "z")),
    "unknown decision": asked("--decision random", "Did you mean 'randomized'?", fair(decision="random")),
    "unknown policy": asked("--on-duplicate newest", "is not known; use one of 'last', 'first', 'all', 'error'", lambda path: fc.read_votes(path / "votes.csv", on_duplicate="newest")),
    "unknown option": asked("--methd majority", "No such option: --methd (Possible options: --method)"),
    "n_iter of -1": asked("--n-iter -1", "must be a whole number of at least 0; got -1", lambda path: fc.DawidSkene(n_iter=-1).fit(path / "votes.csv")),
    "n_iter of 1.5": asked("--n-iter 1.5", "Invalid value for '--n-iter'", lambda path: fc.DawidSkene(n_iter=1.5).fit(path / "votes.csv")),  # type: ignore[arg-type]
    "tol nan": asked("--tol nan", "--tol must be a number; got nan", lambda path: fc.DawidSkene(tol=float("nan")).fit(path / "votes.csv")),
    "tol of text": asked("--tol small", "'small' is not a number", lambda path: fc.DawidSkene(tol="small").fit(path / "votes.csv")),  # type: ignore[arg-type]
    "seed of -1": asked(f"{GROUP} --min-group 1 --epsilon 0.1 --random-state -1", "must be a whole number of at least 0", fair(random_state=-1)),
    "little memory": asked("--engine stream --memory-limit 5MB", "must be a size of at least 500MB, such as 2GB"),
    "the input as output": asked("", "votes.csv is a file; name a folder", command="aggregate votes.csv --out votes.csv"),
    "an output below a file": asked("", "Not a directory", command="aggregate votes.csv --out votes.csv/out"),
    "mistyped command": asked("", "No such command 'agregate'. Did you mean 'aggregate'?", command="agregate votes.csv --out out"),
}  # fmt: skip

AUDIT, FRONTIER = (f"{name} votes.csv --out out --tasks tasks.csv" for name in ("audit", "frontier"))
CHECK, PLAN = "check labels.csv --tasks tasks.csv", "plan votes.csv --tasks tasks.csv"
CHECKED = "task,label\n1,x\n2,x\n3,y\n"

COMMANDS = {
    "audit of strata without a group": asked("--control group", "compare groups; give --group COLUMN.", command=AUDIT),
    "audit of a mistyped group": asked("--group grup", "Did you mean 'group'?", command=AUDIT),
    "audit of one group": asked("--group group", "all tasks are of group 'g'", command=AUDIT, tasks=TASKS.replace("h", "g")),
    "audit of a header": asked("--group group", "votes.csv has no vote to use", command=AUDIT, votes=HEAD),
    "audit of nothing": asked("--group group", "votes.csv is empty (0 bytes)", command=AUDIT, votes=""),
    "audit by a mistyped control": asked("--group group --control trut", "Did you mean 'truth'?", command=AUDIT),
    "audit with confidence 2": asked("--group group --confidence 2", "must be a number from 0.5 to 1; got 2.0", command=AUDIT),
    "audit with -1 replicates": asked("--group group --replicates -1", "must be a whole number of at least 0", command=AUDIT),
    "frontier without a group": asked("", "give --group COLUMN", command=FRONTIER),
    "frontier of one group": asked("--group group", "all tasks are of group 'g'", command=FRONTIER, tasks=TASKS.replace("h", "g")),
    "frontier of a short row": asked("--group group", "Row #7: Expected 3 columns, got 2", command=FRONTIER, votes=GOOD + "4,a\n"),
    "frontier of an unknown objective": asked("--group group --objective f2", "use one of 'accuracy', 'f1'", command=FRONTIER),
    "check without labels": asked("--group group --min-group 1 --epsilon 0.1", "There is no file labels.csv", command=CHECK),
    "check of nothing": asked("--group group --min-group 1 --epsilon 0.1", "labels.csv is empty (0 bytes)", command=CHECK, labels=""),
    "check of a header": asked("--group group --min-group 1 --epsilon 0.1", "There is no label to check", command=CHECK, labels="task,label\n"),
    "check with epsilon 5%": asked("--group group --min-group 1 --epsilon 5%", "did you mean 0.05?", command=CHECK, labels=CHECKED),
    "check with epsilon 2": asked("--group group --min-group 1 --epsilon 2", "--epsilon must be a number from 0 to 1", command=CHECK, labels=CHECKED),
    "check of a mistyped label": asked("--group group --min-group 1 --epsilon 0.1 --label lable", "Did you mean 'label'?", command=CHECK, labels=CHECKED),
    "check of a mistyped group": asked("--group grop --epsilon 0.1", "Did you mean 'group'?", command=CHECK, labels=CHECKED),
    "check of tasks nobody knows": asked("--group group --min-group 1 --epsilon 0.1", "1 of 4 labelled tasks are not in tasks.csv: 9", command=CHECK, labels=CHECKED + "9,x\n"),
    "check of two labels for a task": asked("--group group --min-group 1 --epsilon 0.1", "1 tasks have more than one row of labels: 1", command=CHECK, labels=CHECKED + "1,y\n"),
    "check of a task without a label": asked("--group group --min-group 1 --epsilon 0.1", "no label", command=CHECK, labels=CHECKED.replace("2,x", "2,")),
    "check of one group": asked("--group group --min-group 1 --epsilon 0.1", "all tasks are of group 'g'", command=CHECK, labels=CHECKED, tasks=TASKS.replace("h", "g")),
    "check of three tasks": asked("--group group --min-group 1 --epsilon 0.1", "", command=CHECK, code=3, labels=CHECKED),
    "plan of nothing": asked("--group group --delta 0.1", "votes.csv is empty (0 bytes)", command=PLAN, votes=""),
    "plan of a mistyped group": asked("--group grop --delta 0.1", "Did you mean 'group'?", command=PLAN),
    "plan of three classes": asked("--group group --delta 0.1", "two classes", command=PLAN, votes=votes("x", "y", "z")),
    "plan with delta 5%": asked("--group group --delta 5%", "did you mean 0.05?", command=PLAN),
    "plan with delta nan": asked("--group group --delta nan", "--delta must be a number from 0 to 1; got nan", command=PLAN),
    "plan with a skill of 2": asked("--skill a=2 --delta 0.1", "is not GROUP=NUMBER with a number from 0 to 1", command="plan"),
    "plan with a mistyped prior": asked("--skill men=0.8 --skill women=0.7 --prior man=0.5 --delta 0.1", "priors lack group 'men'", command="plan"),
}  # fmt: skip

APPLY = "apply run/rule.json votes.csv --out new.csv --tasks tasks.csv"


def edited(**values: Any) -> Any:
    """Change the rule of the earlier run, which is in the folder run."""

    def edit(path: Path) -> None:
        rule = json.loads(path.read_text(encoding="utf-8"))
        path.write_text(json.dumps({**rule, **values}), encoding="utf-8")

    return edit


def rule(content: Any, says: str) -> Case:
    """A rule that cannot be used."""
    return Case(
        files={"run/rule.json": content},
        command=APPLY,
        says=says,
        python=lambda path: fc.FairRule.from_json((path / "run" / "rule.json").read_text(encoding="utf-8")),
        error=InputError,
    )


RULES = {
    "apply a rule that is none": rule("{}", "This is not a rule of faircrowd"),
    "apply an empty rule": rule("", "This is not a rule of faircrowd: it is not JSON"),
    "apply half a rule": rule('{"schema": 1, "kind": "faircrowd.FairRule", "cla', "it is not JSON"),
    "apply a list": rule("[]", "This is not a rule of faircrowd"),
    "apply a rule of tomorrow": rule(edited(schema=99), "schema 99, newer than 3; update faircrowd"),
    "apply a rule with NaN": rule(edited(shares=[float("nan"), 0.5]), "NaN is not a number that it may hold"),
    "apply a rule of epsilon 7": rule(edited(epsilon=7), "do not fit its classes and groups; it was edited or cut"),
    "apply a rule with null for a group": rule(edited(groups=["g", None]), "is not a list of names"),
    "apply a rule with a class twice": rule(edited(classes=["x", "x"]), "it was edited or cut"),
    "apply a rule with huge prices": rule(edited(prices=[[1e308, 0.0], [0.0, 0.0]]), "it was edited or cut"),
    "apply a rule with mixed ties": rule(edited(ties=[{"group": 0, "classes": [0, "x"], "weights": [0.5, 0.5]}]), "it was edited or cut"),
    "apply a rule with heavy ties": rule(edited(ties=[{"group": 0, "classes": [0, 1], "weights": [1, 1]}]), "it was edited or cut"),
    "apply no rule": asked("", "none.json cannot be read: No such file", command="apply none.json votes.csv --out new.csv"),
    "apply to nothing": asked("", "votes.csv is empty (0 bytes)", command=APPLY, votes=""),
    "apply to a header": asked("", "votes.csv has no vote to use", command=APPLY, votes=HEAD),
    "apply to new labels": asked("", "labels that were not seen in fit: 'z'", command=APPLY, votes=GOOD + "3,a,z\n"),
    "apply to new groups": asked("", "the rule does not know: 'k'", command=APPLY, tasks=TASKS.replace("h", "k")),
    "apply to new groups, unknown": asked("--unknown onw", "Did you mean 'own'?", command=APPLY),
    "apply by a mistyped group": asked("--group grup", "Did you mean 'group'?", command=APPLY),
    "apply into a folder": asked("", "run is a folder", command=APPLY.replace("new.csv", "run")),
    "apply over the input": asked("", "would overwrite the input votes.csv", command=APPLY.replace("new.csv", "votes.csv")),
}  # fmt: skip

SLOW = {
    "10,000 tasks and classes": works(wide(10_000, 10_000), {str(i): f"c{i}" for i in range(10_000)}, answer={i: f"c{i}" for i in range(10_000)}),
    "1,000,000 workers": works(crowd(333_334, 1_000_002, 2), {str(i): f"c{i % 2}" for i in range(333_334)}, answer={i: f"c{i % 2}" for i in range(333_334)}),
}  # fmt: skip
"""Only if FAIRCROWD_SLOW is set: these need minutes and gigabytes."""

CASES: dict[str, Case] = {**FILES, **VALUES, **STRUCTURE, **GROUPS, **OPTIONS, **COMMANDS, **RULES}
if os.environ.get("FAIRCROWD_SLOW"):
    CASES.update(SLOW)
