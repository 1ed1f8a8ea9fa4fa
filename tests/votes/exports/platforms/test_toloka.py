"""A real pool of Toloka, and rows that are no votes."""

from pathlib import Path

import pytest

from votes.exports.reading import read, refusal, rows

HEADER = "INPUT:text\tINPUT:group\tOUTPUT:q\tGOLDEN:q\tASSIGNMENT:worker_id\tASSIGNMENT:status\tASSIGNMENT:submitted"


@pytest.fixture
def pool(platforms: Path) -> Path:
    return platforms / "toloka" / "hate-speech-pool.tsv"


def test_the_real_pool(pool: Path) -> None:
    votes = read(pool, sensitive_features="INPUT:target_group")
    assert (votes.n_votes, votes.n_tasks, votes.n_workers, votes.n_classes) == (1325, 265, 53, 2)
    assert votes.report.rows_left_out == {"golden": 663}
    assert votes.report.rows_read == 1988
    assert votes.groups is not None
    assert sorted(votes.tasks_per_group.tolist()) == [7, 17, 35, 37, 61, 108]


def test_golden_tasks_are_kept_on_demand(pool: Path) -> None:
    votes = read(pool, keep_golden=True, sensitive_features="golden", on_missing_group="own")
    assert (votes.n_votes, votes.n_tasks) == (1988, 285)
    assert votes.groups is not None
    counts = dict(zip(votes.groups.names, votes.tasks_per_group.tolist(), strict=True))
    assert counts["missing"] == 265
    assert sum(counts.values()) == 285


def test_rows_that_are_no_votes(tmp_path: Path) -> None:
    lines = [
        "a\tx\tyes\t\tw1\tAPPROVED\t2023-10-30T22:15:29.407",
        "a\tx\tno\t\tw2\tREJECTED\t2023-10-30T22:15:29.407",
        "a\tx\t\t\tw3\tSKIPPED\t",
        "b\ty\tno\tno\tw1\tAPPROVED\t2023-10-30T22:16:29.407",
        "\t\t\t\t\t\t",
        "a\tx\tno\t\tw1\tAPPROVED\t2023-10-30T22:14:29.407",
        "c\ty\tno\t\tw2\tAPPROVED\t2023-10-30T22:17:29.407",
    ]
    path = tmp_path / "pool.tsv"
    path.write_text("\n".join([HEADER, *lines]), encoding="utf-8")
    votes = read(path)
    key = '{"group": "x", "text": "a"}', '{"group": "y", "text": "c"}'
    assert rows(votes) == {(key[0], "w1", "yes"), (key[1], "w2", "no")}  # the earlier no does not count
    assert votes.report.rows_left_out == {"rejected": 1, "skipped": 1, "blank line between assignments": 1, "golden": 1}


def test_aggregated_results_have_no_workers(tmp_path: Path) -> None:
    path = tmp_path / "aggregated.tsv"
    path.write_text("INPUT:text\tOUTPUT:q\tCONFIDENCE:q\na\tyes\t0.9\n", encoding="utf-8")
    assert "without workers; download the assignments" in refusal(path)
