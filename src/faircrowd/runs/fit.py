"""From options to a run: read, aggregate, make fair."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from faircrowd.aggregate.base import Aggregator
from faircrowd.aggregate.calibration.calibrate import CalibratedCrowd
from faircrowd.aggregate.checkpoint import Checkpoint, fingerprint
from faircrowd.aggregate.em import Iterative
from faircrowd.engines import votes_in_memory
from faircrowd.errors import OptionError
from faircrowd.fair.constraints.listed import about_columns
from faircrowd.fair.estimator import check_believed
from faircrowd.fair.tasks.from_votes import fit_constrained
from faircrowd.fair.tasks.group_columns import GroupColumns
from faircrowd.fair.tasks.read_posterior import check_groups
from faircrowd.runs.options import EngineOptions, RunOptions
from faircrowd.runs.progress import QUIET, Progress
from faircrowd.runs.read_inputs import clear_leftovers, read_columns, read_inputs, settle_engine
from faircrowd.runs.run import Run
from faircrowd.storage.content_hash import content_hash
from faircrowd.votes import VoteTable
from faircrowd.votes.groups import truth_codes

__all__ = ["fit"]


def fit(options: RunOptions, progress: Progress = QUIET, places: Mapping[str, Path] | None = None) -> Run:
    """Read the votes that the options name, aggregate them, and make the labels fair if the options ask for it.

    Parameters
    ----------
    options : RunOptions
        Of votes in files; those in memory are for :class:`faircrowd.FairCrowd`.
    progress : Progress
        What to report to while the run is under way.
    places : mapping, optional
        Where votes and tasks are now, by role, if not where the options say.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from faircrowd import simulate_crowd
    >>> from faircrowd.runs.options import ModelOptions, ReadOptions
    >>> with tempfile.TemporaryDirectory() as place:
    ...     votes = Path(place, "votes.csv")
    ...     simulate_crowd(200, 20, random_state=0).votes.to_csv(votes, index=False)
    ...     run = fit(RunOptions(ReadOptions(votes), ModelOptions("majority")))
    >>> run.summary.tasks
    200
    """
    options.check()
    if options.read.votes is None:
        raise OptionError("A run reads its votes from a file; give votes=...")
    here = options.at(places or {})
    engine = settle_engine(options.engine, here.files["votes"], progress, options.read.format)
    clear_leftovers(engine, progress)
    with progress.waiting(f"reading {options.read.votes}"):
        found = read_inputs(here, engine, options)
    model, fair = options.model.make(), None
    columns: GroupColumns = {}
    gold = [] if found.gold is None else [found.gold]
    checkpoint = _checkpoint(model, found.votes, here, engine)
    if engine.resume and checkpoint is not None and not checkpoint.path.exists():
        progress.tell(f"there is nothing to resume ({checkpoint.path} is not there); starting from the first round")
    with progress.rounds(options.model.method) as on_round:
        more: dict[str, Any] = {"on_round": on_round} if isinstance(model, Iterative | CalibratedCrowd) else {}
        if isinstance(model, Iterative):
            more["checkpoint"] = checkpoint
        if options.frontier is not None and options.frontier.require:
            constraints = about_columns(options.frontier.constraints, options.read.group)
            check_believed(constraints, model, believed=options.frontier.believed)
            columns = read_columns(constraints, found.votes, here.read)
            more |= {"constraints": constraints, "sensitive_features": columns, "min_group": options.read.min_group}
            fit_constrained(model, found.votes, *gold, **more)
        elif options.fair is None:
            model.fit(found.votes, *gold, **more)
        else:
            estimator = options.fair.estimator(model, options.read)
            if options.fair.constraints:
                more["sensitive_features"] = read_columns(estimator.constraints, found.votes, here.read)
            fair = estimator.fit(found.votes, *gold, **more)
            model = fair.estimator_
    if options.audit is not None and model.votes_.groups is not None:
        check_groups(model.votes_.groups)
    # What a model learns from may add to its classes, so the truth is coded by them only now.
    truth = None if found.truth is None else truth_codes(votes_in_memory(model.votes_), found.truth)[0]
    in_sample = options.learned is not None and options.learned == options.read.truth
    return Run(options, model, fair, truth, in_sample, found.notes, places=here.files, columns=columns)


def _checkpoint(model: Aggregator, votes: VoteTable, options: RunOptions, engine: EngineOptions) -> Checkpoint | None:
    """Return where the rounds of a model are kept: those of a stream, and those of a run with ``resume``."""
    is_iterative = isinstance(model, Iterative)
    if engine.resume and not is_iterative:
        raise OptionError(
            f"resume is for methods that run in rounds; {options.model.method} does not.", parameter="resume"
        )
    if engine.checkpoint is None or not is_iterative or not (engine.resume or engine.name == "stream"):
        return None
    facts = options.read.tasks or options.read.votes
    known = content_hash(facts) if options.learned and facts is not None else ""
    run = fingerprint(votes, options.model.method, sorted(model.get_params().items()), options.learned, known)
    return Checkpoint(engine.checkpoint, run, resume=engine.resume)
