"""The pages of the studio, and what their forms do."""

import secrets
import tempfile
from collections.abc import Callable
from contextlib import asynccontextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import parse_qs, quote

from jinja2 import DictLoader, Environment, StrictUndefined
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from faircrowd.aggregate.registry import AGGREGATORS
from faircrowd.errors import FaircrowdError, InputError
from faircrowd.report.opening.terms import TERMS
from faircrowd.report.safe_names import short
from faircrowd.storage.untrusted import parse_json, read_json
from faircrowd.studio.access import Access
from faircrowd.studio.constraint_builder import kinds_offered
from faircrowd.studio.hand_labels import KNOWN, draw_tasks, read_known, write_known
from faircrowd.studio.job_queue import JobQueue
from faircrowd.studio.run_comparison import compare_runs
from faircrowd.studio.run_exports import publish_text, python_text, repeat_text, zip_folder
from faircrowd.studio.studio_form import READING, asked_run, chosen_limits, read_options, run_options
from faircrowd.studio.task_story import SHOWN, load_tables
from faircrowd.studio.trust_check import RELIABILITY_CHART
from faircrowd.studio.workspace import DONE, FINAL, RUNNING, Job, Workspace, guess_files

__all__ = ["MAX_UPLOAD", "make_app"]

MAX_UPLOAD = 4 << 30
"""How many bytes a file may have by default."""
_MAX_FORM = 1 << 20
_PAGES = (
    *("base", "start", "progress", "data", "prices", "run", "tasks", "task", "workers", "compare", "export", "hand"),
    *("problem", "read_again", "run_base", "terms"),
)
_SANDBOX = (
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"
)
"""The page of a run brings its own script; in a frame of the studio it may do nothing but draw."""
_HAND_LABELS = 50
_FIRST_LIMIT = 0.05
"""The gap at which the slider starts."""
_Handler: TypeAlias = Callable[[Request], Any]


def make_app(workspace: Workspace, token: str, *, max_upload: int = MAX_UPLOAD) -> ASGIApp:
    """Return the studio as an ASGI application.

    Parameters
    ----------
    workspace : Workspace
    token : str
        What a browser must send.
    max_upload : int
        How many bytes a file may have.
    """
    studio = _Studio(workspace, max_upload)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> Any:
        yield
        await run_in_threadpool(studio.queue.close)

    routes = [
        Route("/", studio.start),
        Route("/studio.css", studio.static("studio.css", "text/css")),
        Route("/studio.js", studio.static("studio.js", "text/javascript")),
        Route("/files/{name}", studio.upload, methods=["PUT"]),
        Route("/example", studio.example, methods=["POST"]),
        Route("/read", studio.read, methods=["POST"]),
        Route("/jobs/{job}", studio.progress),
        Route("/jobs/{job}/state", studio.state),
        Route("/jobs/{job}/cancel", studio.cancel, methods=["POST"]),
        Route("/data/{job}", studio.data),
        Route("/data/{job}/run", studio.new_run, methods=["POST"]),
        Route("/data/{job}/hand", studio.hand),
        Route("/data/{job}/known", studio.known, methods=["POST"]),
        Route("/data/{job}/gold", studio.gold, methods=["POST"]),
        Route("/prices/{job}", studio.prices),
        Route("/prices/{job}/reliability.svg", studio.reliability),
        Route("/prices/{job}/next", studio.next_of_prices, methods=["POST"]),
        Route("/runs/{job}", studio.run),
        Route("/runs/{job}/tasks", studio.tasks),
        Route("/runs/{job}/tasks/{row:int}", studio.task),
        Route("/runs/{job}/workers", studio.workers),
        Route("/runs/{job}/export", studio.export),
        Route("/runs/{job}/files/{name}", studio.file),
        Route("/runs/{job}/folder.zip", studio.folder),
        Route("/runs/{job}/publish/{platform}", studio.publish),
        Route("/compare", studio.compare),
    ]
    told = {404: studio.missing, FaircrowdError: studio.problem}
    app = Starlette(routes=routes, lifespan=lifespan, exception_handlers=told)
    return Access(app, token)


class _Studio:
    """The state of a studio: its workspace and its queue."""

    def __init__(self, workspace: Workspace, max_upload: int) -> None:
        self.workspace, self._max_upload = workspace, max_upload
        self.queue = JobQueue(workspace)
        self._environment = Environment(
            loader=DictLoader({f"{name}.html": _part(f"{name}.html") for name in _PAGES}),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.globals["terms"] = TERMS
        self._environment.filters |= {"short": short, "percent": lambda share: f"{share:.1%}", "place": quote}

    def page(self, name: str, status: int = 200, **values: Any) -> HTMLResponse:
        """Return a page made from its template."""
        return HTMLResponse(self._environment.get_template(f"{name}.html").render(**values), status)

    def static(self, name: str, kind: str) -> _Handler:
        """Return what answers with a file of the studio's own."""
        text = _part(name)

        async def answer(request: Request) -> Response:
            return Response(text, media_type=kind, headers={"Cache-Control": "max-age=3600"})

        return answer

    async def missing(self, request: Request, error: Exception) -> Response:
        """Answer for an address without a page."""
        message = "The address may be of another studio."
        return self.page("problem", 404, title="There is no such page", message=message)

    async def problem(self, request: Request, error: Exception) -> Response:
        """Answer for what users cannot do, in words."""
        return self.page("problem", 400, title="That did not work", message=str(error))

    # Files and reading

    async def start(self, request: Request) -> Response:
        """Show files to choose from, and earlier runs."""
        runs = [
            (job, job.asked, job.state["state"]) for job in self.workspace.jobs() if job.kind in ("run", "overview")
        ]
        known = [(path.name, path.stat().st_size) for path in self.workspace.files()]
        votes, tasks = guess_files([name for name, _ in known])
        return self.page("start", files=known, votes=votes, tasks=tasks, runs=runs, folder=str(self.workspace.folder))

    async def upload(self, request: Request) -> Response:
        """Take a file, in pieces as they arrive."""
        length = request.headers.get("content-length", "")
        try:
            if length.isdecimal() and int(length) > self._max_upload:
                raise InputError(f"The file is larger than {self._max_upload:,} bytes, the limit of this studio.")
            with self.workspace.receive(request.path_params["name"], self._max_upload) as receiver:
                async for piece in request.stream():
                    receiver.write(piece)
        except FaircrowdError as error:
            return JSONResponse({"error": str(error)}, 413)
        except OSError as error:
            return JSONResponse({"error": f"The file could not be saved: {error.strerror}."}, 507)
        return JSONResponse({"name": receiver.saved.name if receiver.saved else None})

    async def example(self, request: Request) -> Response:
        """Save a simulated crowd, and read it."""
        votes, tasks = await run_in_threadpool(_simulated, self.workspace)
        return self._begin({"kind": "overview", "read": {"votes": str(votes), "tasks": str(tasks)}})

    async def read(self, request: Request) -> Response:
        """Read the files that were chosen, with the columns that were named."""
        fields = await _fields(request)
        votes, tasks = _one(fields, "votes"), _one(fields, "tasks")
        if not votes:
            raise InputError("Choose the file with the votes.")
        if votes == tasks:
            raise InputError("Votes and tasks are the same file; choose another one for the tasks, or none.")
        read: dict[str, Any] = {role: name for role in READING if (name := _one(fields, role))}
        read |= {"votes": str(self.workspace.file(votes)), "tasks": str(self.workspace.file(tasks)) if tasks else None}
        return self._begin({"kind": "overview", "read": read})

    def _begin(self, asked: dict[str, Any]) -> Response:
        job = self.workspace.new_job(asked)
        self.queue.add(job)
        return RedirectResponse(f"/jobs/{job.name}", 303)

    # Jobs

    async def progress(self, request: Request) -> Response:
        """Show how far a job is; what it made, once it is done."""
        job = self._job(request)
        shown = self._state(job)
        if shown["state"] == DONE:
            return RedirectResponse(_result_page(job), 303)
        known: dict[str, Any] = {"columns": []}
        if job.kind == "overview" and shown["is_final"]:
            path = job.result / "columns.json"
            known = {"columns": _json(path) if path.is_file() else [], **self._names(job)}
        return self.page("progress", job=job, **shown, **known, title="Working")

    def _names(self, job: Job) -> dict[str, Any]:
        """Return the names of the files that a job reads, and of all that there are."""
        read = job.asked["read"]
        return {
            "files": [path.name for path in self.workspace.files()],
            "votes_name": Path(read["votes"]).name,
            "tasks_name": Path(read["tasks"]).name if read.get("tasks") else "",
        }

    async def state(self, request: Request) -> Response:
        """Return how far a job is, for the script of the page."""
        try:
            job = self._job(request)
        except InputError as error:
            return JSONResponse({"error": str(error)}, 404)
        return JSONResponse(self._state(job))

    def _state(self, job: Job) -> dict[str, Any]:
        state = job.state
        shown = {"state": state["state"], "message": state.get("message"), "is_final": state["state"] in FINAL}
        progress = job.progress if state["state"] == RUNNING else {}
        return shown | {"text": progress.get("text"), "share": progress.get("share"), "before": self.queue.place(job)}

    async def cancel(self, request: Request) -> Response:
        """Cancel a job."""
        job = self._job(request)
        await run_in_threadpool(self.queue.cancel, job)
        return RedirectResponse("/", 303)

    def _job(self, request: Request, *, done: bool = False, kind: str | None = None) -> Job:
        job = self.workspace.job(request.path_params["job"])
        if kind is not None and job.kind != kind:
            raise InputError(f"Job {job.name} is of another kind.")
        if done and not job.is_done:
            raise InputError(f"Job {job.name} is not done.")
        return job

    # Data, methods and limits

    async def data(self, request: Request) -> Response:
        """Show what was read, and ask for groups, method and limits."""
        job = self._job(request, done=True, kind="overview")
        return self.page(
            "data",
            job=job,
            read=job.asked["read"],
            found=_json(job.result / "overview.json"),
            **self._names(job),
            methods=[kind for kind in AGGREGATORS.values() if kind.gold != "required"],
            known=KNOWN,
            title="Choose",
        )

    async def new_run(self, request: Request) -> Response:
        """Make labels, or look how far to trust them and what limits cost."""
        job = self._job(request, done=True, kind="overview")
        fields = await _fields(request)
        asked = await run_in_threadpool(asked_run, job.asked["read"], fields)
        if _one(fields, "do") == "prices":
            asked["kind"] = "prices"
            if asked["read"]["group"] and not asked["require"] and asked["epsilon"] is None:
                asked["epsilon"] = _FIRST_LIMIT
        return self._begin(asked | {"data": job.name})

    async def hand(self, request: Request) -> Response:
        """Draw tasks at random for a person to label."""
        job = self._job(request, done=True, kind="overview")
        overview = _json(job.result / "overview.json")
        column = request.query_params.get("text") or next(iter(overview["texts"]), None)
        if column is not None and column not in overview["texts"]:
            raise InputError(f"There is no column {column!r}.")
        seed = int(job.name)
        drawn = await run_in_threadpool(draw_tasks, read_options(job.asked["read"]), _HAND_LABELS, column, seed)
        return self.page("hand", job=job, drawn=drawn, texts=overview["texts"], column=column, title="Known labels")

    async def known(self, request: Request) -> Response:
        """Save labels entered by hand, and read the data anew with them."""
        try:
            job = self._job(request, done=True, kind="overview")
            given = parse_json((await _body(request)).decode(), "The labels cannot be read")
            if not isinstance(given, dict) or not all(isinstance(label, str) for label in given.values()) or not given:
                raise InputError("Label at least one task.")
            new = await run_in_threadpool(self._with_known, job, given)
        except (ValueError, FaircrowdError) as error:
            return JSONResponse({"error": str(error)}, 400)
        return JSONResponse({"page": f"/jobs/{new.name}"})

    async def gold(self, request: Request) -> Response:
        """Take known labels from a file, and read the data anew with them."""
        job = self._job(request, done=True, kind="overview")
        name = _one(await _fields(request), "gold_file")
        if not name:
            raise InputError("Choose the file with the known labels.")
        path = self.workspace.file(name)
        known = await run_in_threadpool(read_known, read_options(job.asked["read"]), path)
        new = await run_in_threadpool(self._with_known, job, known)
        return RedirectResponse(f"/jobs/{new.name}", 303)

    def _with_known(self, job: Job, known: dict[str, str]) -> Job:
        """Save known labels as a table of tasks; return the job that reads the data with them."""
        read = job.asked["read"]
        path = self.workspace.folder / "files" / f"known-labels-{job.name}-{secrets.token_hex(3)}.csv"
        write_known(read_options(read), known, path)
        new = self.workspace.new_job({"kind": "overview", "read": {**read, "tasks": str(path)}})
        self.queue.add(new)
        return new

    async def prices(self, request: Request) -> Response:
        """Show how far the labels can be trusted, and what limits cost."""
        job = self._job(request, done=True, kind="prices")
        read = job.asked["read"]
        overview = _json(self.workspace.job(job.asked["data"]).result / "overview.json")
        return self.page(
            "prices",
            job=job,
            asked=job.asked,
            found=_json(job.result / "prices.json"),
            kinds=kinds_offered(),
            columns=[fact["name"] for fact in overview["facts"] if fact["may_be_group"]],
            group=read.get("group") or [],
            has_known=bool(read.get("calibrate")),
            title="Trust and limits",
        )

    async def reliability(self, request: Request) -> Response:
        """Return the chart of reliability."""
        path = self._job(request, done=True, kind="prices").result / RELIABILITY_CHART
        if not path.is_file():
            raise InputError("This job drew no chart.")
        return FileResponse(path, media_type="image/svg+xml", headers={"Content-Security-Policy": "sandbox"})

    async def next_of_prices(self, request: Request) -> Response:
        """Go on from limits: make labels, or look what other limits cost."""
        job = self._job(request, done=True, kind="prices")
        fields = await _fields(request)
        asked = chosen_limits(job.asked, _json(job.result / "prices.json"), fields)
        await run_in_threadpool(run_options(asked).check)
        return self._begin(asked)

    # Finished runs

    async def run(self, request: Request) -> Response:
        """Show what a run found."""
        job = self._job(request, done=True, kind="run")
        facts = _json(job.folder / "facts.json")
        others = [other for other in self.workspace.jobs("run") if other.name != job.name and other.is_done]
        return self.page("run", job=job, asked=job.asked, facts=facts, others=others, title="Labels")

    async def tasks(self, request: Request) -> Response:
        """Search the tasks of a run."""
        job = self._job(request, done=True, kind="run")
        text, changed = request.query_params.get("q", "").strip(), request.query_params.get("changed") == "1"
        start = max(int(request.query_params.get("start") or 0), 0)
        tables = await run_in_threadpool(load_tables, job)
        rows, total = await run_in_threadpool(tables.search, text, changed=changed, start=start)
        return self.page(
            "tasks", job=job, rows=rows, total=total, text=text, changed=changed, start=start, step=SHOWN, title="Tasks"
        )

    async def task(self, request: Request) -> Response:
        """Show the story of a task."""
        job = self._job(request, done=True, kind="run")
        tables = await run_in_threadpool(load_tables, job)
        story = tables.story(request.path_params["row"])
        return self.page("task", job=job, **story, classes=_json(job.folder / "facts.json")["classes"], title="A task")

    async def workers(self, request: Request) -> Response:
        """Show the workers of a run."""
        job = self._job(request, done=True, kind="run")
        tables = await run_in_threadpool(load_tables, job)
        table = tables.workers
        rows = [] if table is None else table.slice(0, 500).to_pylist()
        names = [] if table is None else table.column_names
        total = 0 if table is None else table.num_rows
        return self.page("workers", job=job, names=names, rows=rows, total=total, title="Workers")

    async def compare(self, request: Request) -> Response:
        """Compare two runs."""
        first, second = (self.workspace.job(request.query_params.get(name, "")) for name in ("a", "b"))
        for job in (first, second):
            if job.kind != "run" or not job.is_done:
                raise InputError("Choose two runs that are done.")
        tables = [await run_in_threadpool(load_tables, job) for job in (first, second)]
        found = await run_in_threadpool(compare_runs, *tables)
        facts = [_json(job.folder / "facts.json") for job in (first, second)]
        return self.page("compare", jobs=(first, second), facts=facts, found=found, title="Two runs")

    async def export(self, request: Request) -> Response:
        """Show what can be taken away, and how to repeat the run elsewhere."""
        from faircrowd.publish import FORMS

        job = self._job(request, done=True, kind="run")
        names = sorted(path.name for path in job.result.iterdir() if path.is_file())
        return self.page(
            "export",
            job=job,
            names=names,
            command=repeat_text(job),
            python=python_text(job),
            platforms=list(FORMS),
            title="Take it away",
        )

    async def file(self, request: Request) -> Response:
        """Return a file that a run wrote."""
        job, name = self._job(request, done=True, kind="run"), request.path_params["name"]
        path = job.result / name
        if name not in {entry.name for entry in job.result.iterdir() if entry.is_file()}:
            raise InputError(f"This run wrote no file {name!r}.")
        if name == "report.html":
            return FileResponse(path, media_type="text/html", headers={"Content-Security-Policy": _SANDBOX})
        return FileResponse(path, filename=name, media_type="application/octet-stream")

    async def folder(self, request: Request) -> Response:
        """Return everything that a run wrote as one file."""
        job = self._job(request, done=True, kind="run")
        path = await run_in_threadpool(zip_folder, job)
        return FileResponse(path, filename=f"faircrowd-{job.name}.zip", media_type="application/zip")

    async def publish(self, request: Request) -> Response:
        """Return the labels in the form of a platform."""
        job = self._job(request, done=True, kind="run")
        name, text = await run_in_threadpool(publish_text, job, request.path_params["platform"])
        return Response(
            text,
            media_type="application/octet-stream",
            headers={"Content-Disposition": f"attachment; filename*=UTF-8''{quote(name)}"},
        )


def _simulated(workspace: Workspace) -> tuple[Path, Path]:
    """Save the votes and tasks of a simulated crowd as files."""
    from faircrowd import simulate_crowd

    crowd = simulate_crowd(n_tasks=1000, n_workers=100, votes_per_task=5, random_state=0)
    with tempfile.TemporaryDirectory() as place:
        votes, tasks = Path(place, "votes.csv"), Path(place, "tasks.csv")
        crowd.votes.to_csv(votes, index=False)
        frame = crowd.sensitive_features.to_frame("group").assign(truth=crowd.truth)
        frame.to_csv(tasks, index_label="task")
        saved = [workspace.save(f"example-{path.name}", [path.read_bytes()], limit=1 << 30) for path in (votes, tasks)]
    return saved[0], saved[1]


def _result_page(job: Job) -> str:
    place = {"overview": "data", "run": "runs", "prices": "prices"}[job.asked["kind"]]
    return f"/{place}/{job.name}"


def _json(path: Path) -> Any:
    try:
        return read_json(path, "job")
    except InputError:
        raise InputError(f"{path.name} of this job cannot be read; start it again.") from None


async def _body(request: Request) -> bytes:
    content = bytearray()
    async for piece in request.stream():
        content += piece
        if len(content) > _MAX_FORM:
            raise InputError("The form is too large.")
    return bytes(content)


async def _fields(request: Request) -> dict[str, list[str]]:
    """Return the fields of a form."""
    body = await _body(request)
    try:
        return parse_qs(body.decode(), keep_blank_values=True, max_num_fields=1000)
    except ValueError:
        raise InputError("The form cannot be read.") from None


def _one(fields: dict[str, list[str]], name: str) -> str:
    return (fields.get(name) or [""])[-1].strip()


def _part(name: str) -> str:
    return files("faircrowd.studio").joinpath("templates", name).read_text(encoding="utf-8")
