"""Suggestions to a dataset of Argilla.

A record has one suggestion per question: sending one replaces the one that was there, also that of another agent, so
this is counted and told beforehand. Responses of people stay as they are.
"""

import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from faircrowd._checks import few
from faircrowd.errors import InputError, OptionError, PushError
from faircrowd.publish.push.http_client import Client
from faircrowd.publish.push.push_plan import Pushed, PushPlan

if TYPE_CHECKING:
    from faircrowd.publish.platform_form import Form, Item

__all__ = ["argilla_headers", "plan_suggestions"]

_BATCH = 200
_PAGE = 500
_UUID = r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"


def argilla_headers(client: Client) -> Mapping[str, str]:
    """Return the header for an API key."""
    return {"X-Argilla-Api-Key": client.token.secret}


def plan_suggestions(client: Client, place: str, form: "Form", version: str) -> PushPlan:
    """Compare suggestions with those of a dataset, and return what is to be sent.

    Parameters
    ----------
    place : str
        The id of the dataset, as in its address.
    """
    if not re.fullmatch(_UUID, place):
        raise OptionError(
            f"project={place!r} must be the id of a dataset of Argilla, as in its address: "
            "00000000-0000-0000-0000-000000000000."
        )
    question = _question(client, place, str(form.question))
    wanted = [_wanted(item, str(form.question)) for item in form.items]
    there = _listed(client, place, question)
    lacking = [item["id"] for item in wanted if item["id"] not in there]
    if lacking:
        raise InputError(
            f"{len(lacking):,} of {len(wanted):,} records are not in dataset {place}, such as {few(lacking)}."
        )
    new = [item for item in wanted if there[item["id"]][1] is None]
    rest = [item for item in wanted if not _is_same(item, there[item["id"]][1])]
    others = {
        str(found.get("agent"))
        for item in wanted
        if (found := there[item["id"]][1]) is not None and found.get("agent") != item["agent"]
    }
    notes = (f"suggestions of other agents are replaced: {few(sorted(others))}",) if others else ()

    def send() -> Pushed:
        created = 0
        for start in range(0, len(rest), _BATCH):
            batch = rest[start : start + _BATCH]
            body = {"items": [_upsert(item, there[item["id"]][0], question) for item in batch]}
            answer = client.put(f"/api/v1/datasets/{place}/records/bulk", body)
            items = answer.get("items") if isinstance(answer, dict) else None
            created += len(items) if isinstance(items, list) else 0
        after = _listed(client, place, question)
        confirmed = sum(item["id"] in after and _is_same(item, after[item["id"]][1]) for item in wanted)
        return Pushed(len(rest), created, confirmed, len(wanted))

    same, changed = len(wanted) - len(rest), len(rest) - len(new)
    return PushPlan(f"dataset {place}", len(wanted), same, changed, len(new), send, notes)


def _wanted(item: "Item", question: str) -> "Item":
    """Return what is suggested for a record, from either form of the file."""
    if "suggestions" in item:
        return {"id": str(item["id"]), **item["suggestions"][question]}
    named = {"score": f"{question}.score", "agent": f"{question}.agent"}
    return {"id": str(item["id"]), "value": item[question], **{part: item[name] for part, name in named.items()}}


def _question(client: Client, place: str, name: str) -> str:
    """Return the id of a question."""
    answer = client.get(f"/api/v1/datasets/{place}/questions")
    items = answer.get("items") if isinstance(answer, dict) else None
    if not isinstance(items, list):
        raise PushError(f"{client.url} answered with no questions; is it Argilla 2?")
    known = {str(one.get("name")): str(one.get("id")) for one in items if isinstance(one, dict)}
    if name not in known:
        raise InputError(f"Dataset {place} has no question {name!r}; it has {few(sorted(known))}.")
    return known[name]


def _listed(client: Client, place: str, question: str) -> dict[str, tuple[str, "Item | None"]]:
    """Return the id on the server and the suggestion of each record, by its own id."""
    found: dict[str, tuple[str, Item | None]] = {}
    offset, total = 0, 1
    while offset < total:
        answer = client.get(f"/api/v1/datasets/{place}/records", include="suggestions", limit=_PAGE, offset=offset)
        items = answer.get("items") if isinstance(answer, dict) else None
        if not isinstance(items, list):
            raise PushError(f"{client.url} answered with no records; is it Argilla 2?")
        total = int(answer.get("total") or 0)
        for one in items:
            given = next((s for s in one.get("suggestions") or () if s.get("question_id") == question), None)
            found[str(one.get("external_id") or one.get("id"))] = (str(one.get("id")), given)
        offset += len(items) or total
    return found


def _is_same(item: "Item", other: "Item | None") -> bool:
    if other is None or any(other.get(name) != item[name] for name in ("value", "agent")):
        return False
    score = other.get("score")
    return isinstance(score, int | float) and math.isclose(score, item["score"], rel_tol=1e-6, abs_tol=1e-9)


def _upsert(item: "Item", record: str, question: str) -> "Item":
    suggestion = {
        "question_id": question,
        "type": "model",
        **{name: item[name] for name in ("value", "score", "agent")},
    }
    return {"id": record, "suggestions": [suggestion]}
