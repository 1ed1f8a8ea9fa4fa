"""Predictions to a project of Label Studio.

A prediction is known by its task and its ``model_version``. What is there already is not sent twice, and what is there
with another label or score is changed in place; predictions of other versions are left alone. Label Studio drops what
its configuration does not know and answers ``201 {"created": 0}``, so what it stored is counted, and listed afterwards.
"""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from faircrowd.errors import OptionError, PushError
from faircrowd.publish.push.access_token import AccessToken
from faircrowd.publish.push.http_client import Client, UncertainError
from faircrowd.publish.push.push_plan import Pushed, PushPlan

if TYPE_CHECKING:
    from faircrowd.publish.platform_form import Form, Item

__all__ = ["label_studio_headers", "plan_predictions"]

_BATCH = 200
_ROUNDS = 5
"""How often what is missing is sent again after a connection broke."""
_PARTS_OF_JWT = 3


def label_studio_headers(client: Client) -> Mapping[str, str]:
    """Return the header for a token: an old one as it is; a personal access token buys access for some minutes."""
    secret = client.token.secret
    if secret.count(".") != _PARTS_OF_JWT - 1:
        return {"Authorization": f"Token {secret}"}
    found = client.bare_post("/api/token/refresh", {"refresh": secret})
    access = found.get("access") if isinstance(found, dict) else None
    if not isinstance(access, str):
        raise PushError(f"{client.url} gave no access for the personal access token in token_file=...")
    client.more_secrets[:] = [AccessToken(access)]
    return {"Authorization": f"Bearer {access}"}


def plan_predictions(client: Client, place: str, form: "Form", version: str) -> PushPlan:
    """Compare predictions with those of a project, and return what is to be sent.

    Parameters
    ----------
    place : str
        The number of the project, as in its address.
    """
    if not place.isascii() or not place.isdecimal():
        raise OptionError(f"project={place!r} must be the number of a project of Label Studio, as in its address.")
    if form.items and "task" not in form.items[0]:
        raise OptionError("with_data=True is for a file that a new project imports; leave it out to push.")
    project = client.get(f"/api/projects/{place}/")
    title = project.get("title") if isinstance(project, dict) else None
    there = _listed(client, place, version)
    same, changed, new = _compared(form.items, there)
    name = f"project {place}" + (f" ({client.hidden(str(title))[:60]})" if title else "")
    return PushPlan(
        name,
        len(form.items),
        len(same),
        len(changed),
        len(new),
        lambda: _send(client, place, form.items, version),
    )


def _listed(client: Client, place: str, version: str) -> dict[int, list["Item"]]:
    """Return the predictions of one version in a project, by task."""
    listed = client.get("/api/predictions/", project=place)
    if not isinstance(listed, list):
        raise PushError(f"{client.url}/api/predictions/ answered with no list; is it Label Studio?")
    found: dict[int, list[Item]] = {}
    for one in listed:
        if isinstance(one, dict) and one.get("model_version") == version and isinstance(one.get("task"), int):
            found.setdefault(one["task"], []).append(one)
    return found


def _is_same(item: "Item", other: "Item") -> bool:
    score = other.get("score")
    is_close = isinstance(score, int | float) and math.isclose(score, item["score"], rel_tol=1e-9, abs_tol=1e-12)
    return is_close and _plain(item["result"]) == _plain(other.get("result"))


def _plain(results: Any) -> list[tuple[Any, ...]]:
    """Return results by what they say, without ids that a server adds."""
    names = ("from_name", "to_name", "type", "value")
    return [tuple(one.get(name) for name in names) for one in results or () if isinstance(one, dict)]


def _compared(
    items: Sequence["Item"], there: Mapping[int, Sequence["Item"]]
) -> tuple[list["Item"], list[tuple[int, "Item"]], list["Item"]]:
    """Return the predictions that are there, those that are there with other values (with their ids), and the rest."""
    same, changed, new = [], [], []
    for item in items:
        known = there.get(item["task"], ())
        if any(_is_same(item, other) for other in known):
            same.append(item)
        elif known:
            changed.append((int(known[0]["id"]), item))
        else:
            new.append(item)
    return same, changed, new


def _send(client: Client, place: str, items: Sequence["Item"], version: str) -> Pushed:
    created = sent = 0
    for _ in range(_ROUNDS):
        _, changed, new = _compared(items, _listed(client, place, version))
        try:
            for number, item in changed:
                client.put(f"/api/predictions/{number}/", item, method="PATCH")
                sent, created = sent + 1, created + 1
            for start in range(0, len(new), _BATCH):
                batch = new[start : start + _BATCH]
                answer = client.post(f"/api/projects/{place}/import/predictions", batch)
                sent += len(batch)
                created += _count(answer)
            break
        except UncertainError as error:
            last: PushError = error  # look what is there before anything is sent again
        except PushError as error:
            raise PushError(
                f"{error} {created:,} labels were stored before; run the same command again: they are not sent twice."
            ) from None
    else:
        raise PushError(f"{last} {created:,} labels were stored; run the same command again for the rest.")
    same, _, _ = _compared(items, _listed(client, place, version))
    return Pushed(sent, created, len(same), len(items))


def _count(answer: Any) -> int:
    found = answer.get("created") if isinstance(answer, dict) else None
    return found if isinstance(found, int) and not isinstance(found, bool) else 0
