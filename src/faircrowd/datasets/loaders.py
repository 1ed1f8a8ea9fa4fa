"""Load the paper's data sets, or prepared tables: votes, groups and truth, with licence and citation."""

from collections.abc import Callable
from pathlib import Path

from faircrowd._checks import check_choice, check_count
from faircrowd._types import PathOrText
from faircrowd.datasets.catalogue import ABOUT, About
from faircrowd.datasets.crowd import Crowd, make_crowd, vote_table
from faircrowd.datasets.download import find_home, get_files
from faircrowd.datasets.published_files import read_hate_speech, read_jigsaw, read_judgement, read_tables
from faircrowd.votes.facts import Facts, find_facts
from faircrowd.votes.frames import column_of, frame_of
from faircrowd.votes.simulate import simulate_crowd

__all__ = [
    "LOADERS",
    "TARGETS",
    "Crowd",
    "load_crowd_judgement",
    "load_jigsaw_toxicity",
    "load_measuring_hate_speech",
    "load_synthetic",
    "load_tables",
]

TARGETS = ("age", "disability", "gender", "origin", "race", "religion", "sexuality")
"""What a comment of Measuring Hate Speech may target people for."""


def load_crowd_judgement(data_home: PathOrText | None = None, *, download: bool = True) -> Crowd:
    """Load Crowd Judgement (Dressel and Farid, 2018), the arm in which workers were shown the race.

    A task is a defendant; the label is whether he or she will be charged again within two years. The file records
    whether an answer was right, so the label is the truth or its opposite.

    Parameters
    ----------
    data_home : path, optional
        PathOrText with the files, or with a folder ``crowd-judgement`` that has them. By default the folder in the
        environment variable FAIRCROWD_DATA, or one in the user's cache.
    download : bool
        Whether to download missing files into that folder; their checksums are verified.

    Returns
    -------
    Crowd
        Groups are named ``black``: 1 if the defendant is Black, 0 otherwise.

    Raises
    ------
    FileError
        If a file is missing and cannot be downloaded; the message says which file to put where.
    """
    about = ABOUT["crowd-judgement"]
    return make_crowd(about, *read_judgement(get_files(about, find_home(data_home), download=download)))


def load_jigsaw_toxicity(data_home: PathOrText | None = None, *, min_votes: int = 3, download: bool = True) -> Crowd:
    """Load 5,000 Civil Comments with the answers of individual raters (Jigsaw).

    Parameters
    ----------
    data_home : path, optional
    download : bool
        As in :func:`load_crowd_judgement`; the folder is ``jigsaw-toxicity``.
    min_votes : int
        The votes of workers with fewer votes are set aside; the paper's 3 leave 96,704 votes.

    Returns
    -------
    Crowd
        Groups are named ``identity``: 1 if some rater saw one of 18 identities mentioned, 0 if none did.
    """
    min_votes = check_count("min_votes", min_votes, least=1)
    about = ABOUT["jigsaw-toxicity"]
    return make_crowd(about, *read_jigsaw(get_files(about, find_home(data_home), download=download), min_votes))


def load_measuring_hate_speech(
    data_home: PathOrText | None = None, *, target: str = "gender", download: bool = True
) -> Crowd:
    """Load the Measuring Hate Speech corpus of Berkeley's D-Lab.

    A rater's answer (0 no, 1 unsure, 2 yes) above 0.5 is label 1; a comment's score above 0.5 is truth 1.

    Parameters
    ----------
    data_home : path, optional
    download : bool
        As in :func:`load_crowd_judgement`; the folder is ``measuring-hate-speech``.
    target : str
        What the groups are based on: age, disability, gender (the paper's), origin, race, religion or sexuality.

    Returns
    -------
    Crowd
        Groups are named ``target_gender`` (or another target): 1 if at least half of a comment's raters say that
        it targets people for that, 0 otherwise.
    """
    check_choice("target", target, TARGETS)
    about = ABOUT["measuring-hate-speech"]
    (path,) = get_files(about, find_home(data_home), download=download).values()
    return make_crowd(about, *read_hate_speech(path, target))


def load_synthetic(*, random_state: int = 0) -> Crowd:
    """Draw the synthetic crowd of the paper's comparison, by the distribution in its text.

    The paper's code has the rates of label 1 the other way round: P(Y = 1 | A = a) is 0.6, 0.4 there and 0.4, 0.6
    here, as printed. Other crowds: :func:`faircrowd.simulate_crowd`.

    Parameters
    ----------
    random_state : int
        The seed.

    Examples
    --------
    >>> load_synthetic(random_state=1)
    Crowd('synthetic', 10,000 votes)
    """
    drawn = simulate_crowd(random_state=random_state)
    (task, (group,)), (same, (truth,)) = (
        find_facts(facts, None, None, None) for facts in (drawn.sensitive_features, drawn.truth)
    )
    table = vote_table(*(column_of(frame_of(drawn.votes), role) for role in ("task", "worker", "label")))
    return make_crowd(ABOUT["synthetic"], table, {"group": Facts(task, group)}, Facts(same, truth), {})


def load_tables(folder: PathOrText) -> Crowd:
    """Load prepared tables: ``votes.csv`` (task, worker, label) and ``tasks.csv`` (task, groups, truth) of a folder.

    Every column of ``tasks.csv`` but ``task`` and ``truth`` is a group column; there may be none.

    Parameters
    ----------
    folder : path

    Returns
    -------
    Crowd
        ``groups`` is None without group columns, a Series with one, a frame with several; ``truth`` is None
        without a column of this name.
    """
    folder = Path(folder)
    about = About(folder.name, f"Prepared tables in {folder}.", "not known", "not known", str(folder))
    return make_crowd(about, *read_tables(folder / "votes.csv", folder / "tasks.csv"))


LOADERS: dict[str, Callable[[PathOrText | None], Crowd]] = {
    "crowd-judgement": load_crowd_judgement,
    "jigsaw-toxicity": load_jigsaw_toxicity,
    "measuring-hate-speech": load_measuring_hate_speech,
    "synthetic": lambda _: load_synthetic(),
}
"""The loaders, by name of the data set, each to be called with the folder of data sets."""
