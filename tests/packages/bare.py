"""faircrowd alone: votes to fair labels and their files, and messages for all that needs more."""

import os
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

os.environ["NUMBA_DISABLE_JIT"] = "1"  # compiling all that is used here would take a minute
import faircrowd as fc
from faircrowd.errors import FaircrowdError
from faircrowd.report.charts.vega_lite import images

crowd = fc.simulate_crowd(n_tasks=200, n_workers=20, votes_per_task=5, random_state=0)
fair = fc.FairCrowd(fc.MajorityVote(), epsilon=0.05)
fair.fit(crowd.votes, sensitive_features=crowd.sensitive_features)
assert fair.certificate_.gap <= 0.05 < fair.certificate_.gap_before
assert "epsilon" in fair.summary()
assert len(repr(fair)) < 2000
if hasattr(fair, "plot"):
    assert repr(fair.plot())  # to draw it takes more, to have it does not
fair.write("labels", report=False)
assert {"labels.csv", "rule.json", "evidence.json"} <= {path.name for path in Path("labels").iterdir()}
assert Path(fc.__file__).with_name("py.typed").exists()
assert Path(fc.__file__).parent.joinpath("report", "templates", "report.html").exists()

with ZipFile("votes.xlsx", "w") as book:
    book.writestr("xl/workbook.xml", "<workbook/>")
Path("votes.csv").write_text("task,worker,label\n1,a,x\n1,b,y\n", encoding="utf-8")


def stream() -> None:
    from faircrowd.engines import read_votes_on_disk

    read_votes_on_disk("votes.csv")


def spark() -> None:
    from faircrowd.engines import spark_session

    spark_session("local[1]")


for extra, use in {
    "app": lambda: fair.report("report.html"),
    "app ": lambda: fair.write("more"),
    "app  ": lambda: images("chart", {}),
    "stream": stream,
    "exports": lambda: fc.read_votes("votes.xlsx"),
    "spark": spark,
    "mlflow": lambda: fc.log_mlflow(fair),
}.items():
    said = "nothing"
    try:
        use()
    except FaircrowdError as error:
        said = str(error)
    assert f"pip install 'faircrowd[{extra.strip()}]'" in said, (extra, said)
assert not Path("more").exists()

compiled = {**os.environ, "NUMBA_DISABLE_JIT": "0"}
code = "import faircrowd as fc; print(fc.MajorityVote().fit('votes.csv').posterior_.label_codes)"
done = subprocess.run([sys.executable, "-c", code], env=compiled, capture_output=True, text=True, check=False)
assert done.stdout == "[0]\n", done

for arguments in ([], ["check", "labels/labels.csv"]):
    done = subprocess.run(["faircrowd", *arguments], capture_output=True, text=True, check=False)
    message = "faircrowd: the command line needs more packages: pip install 'faircrowd[app]'\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", message), done
