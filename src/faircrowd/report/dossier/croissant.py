"""croissant.json: the labels as a Croissant 1.1 data set, with the fields of its vocabulary for responsible AI (RAI).

Croissant asks for name, description, licence, address, makers and date of every data set. Of these only name and
description are known to a run; the others are there if the dossier was told.
"""

from typing import Any
from urllib.parse import quote

from faircrowd.report.dossier.datasheet import agreement_texts, left_out_texts, making_texts, votes_per_task
from faircrowd.report.dossier.dossier_page import NO_CLAIM, lead
from faircrowd.report.dossier.fact_book import Name, Prose, Text, as_plain, clean
from faircrowd.report.dossier.fairness_account import accuracy_texts, gap_texts
from faircrowd.report.dossier.run_facts import WORKERS, GivenFile, RunFacts

__all__ = ["REQUIRED", "croissant"]

REQUIRED = {"license": "license", "creator": "creator", "url": "url", "published": "datePublished"}
"""Options of a dossier that Croissant requires, with its names for them."""

_CONFORMS = ["http://mlcommons.org/croissant/1.1", "http://mlcommons.org/croissant/RAI/1.0"]
_OWN = (
    *("arrayShape", "citeAs", "column", "containedIn", "equivalentProperty", "extract", "field", "fileProperty"),
    *("fileObject", "fileSet", "format", "includes", "isArray", "isLiveDataset", "jsonPath", "key", "md5"),
    *("parentField", "path", "recordSet", "references", "regex", "repeated", "replace", "samplingRate", "separator"),
    *("source", "subField", "transform"),
)
"""Names of Croissant's own vocabulary, which the context of version 1.1 declares."""
_FORMATS = {".csv": "text/csv", ".json": "application/json", ".html": "text/html", ".npz": "application/octet-stream"}


def croissant(facts: RunFacts) -> dict[str, Any]:
    """Return the data set as JSON-LD."""
    options = facts.options
    told = {
        "license": options.license,
        "url": options.url,
        "datePublished": options.published,
        "creator": None
        if options.creator is None
        else {"@type": "sc:Organization", "name": clean(Prose(options.creator))},
    }
    return {
        "@context": _context(),
        "@type": "sc:Dataset",
        "conformsTo": _CONFORMS,
        "name": clean(Prose(facts.title)),
        "description": f"{as_plain(lead(facts))} {NO_CLAIM}",
        **{
            name: clean(Prose(value)) if isinstance(value, str) else value
            for name, value in told.items()
            if value is not None
        },
        "distribution": [_file(facts, given) for given in facts.files],
        "recordSet": _record_sets(facts),
        **_rai(facts),
    }


def _context() -> dict[str, Any]:
    found: dict[str, Any] = {
        "@language": "en",
        "@vocab": "https://schema.org/",
        "conformsTo": "dct:conformsTo",
        "cr": "http://mlcommons.org/croissant/",
        "rai": "http://mlcommons.org/croissant/RAI/",
        "dct": "http://purl.org/dc/terms/",
        "sc": "https://schema.org/",
        "data": {"@id": "cr:data", "@type": "@json"},
        "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
        "examples": {"@id": "cr:examples", "@type": "@json"},
        "description": {"@container": "@language"},
        "name": {"@container": "@language"},
    }
    return dict(sorted({**found, **{name: f"cr:{name}" for name in _OWN}}.items()))


def _file(facts: RunFacts, given: GivenFile) -> dict[str, Any]:
    if given.sha256 is None:
        return {
            "@type": "cr:FileSet",
            "@id": quote(given.name),
            "encodingFormat": "application/x-parquet",
            "includes": f"{facts.up}/{given.name}/*.parquet".removeprefix("./"),
        }
    ending = given.name[given.name.rindex(".") :]
    return {
        "@type": "cr:FileObject",
        "@id": quote(given.name),
        "name": given.name,
        "contentUrl": f"{facts.up}/{given.name}".removeprefix("./"),
        "contentSize": f"{given.size} B",
        "encodingFormat": _FORMATS.get(ending, "application/octet-stream"),
        "sha256": given.sha256,
    }


def _record_sets(facts: RunFacts) -> list[dict[str, Any]]:
    found = [_record_set("labels", "One row per task: its label.", facts.labels.file, facts.labels.header, facts)]
    if facts.workers is not None:
        found.append(_record_set("workers", "One row per worker.", WORKERS, facts.workers.header, facts))
    return found


def _record_set(name: str, about: str, file: str, header: Any, facts: RunFacts) -> dict[str, Any]:
    is_folder = any(given.name == file and given.sha256 is None for given in facts.files)
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "description": about,
        "field": [
            {
                "@type": "cr:Field",
                "@id": f"{name}/{quote(column, safe='')}",
                "name": f"{name}/{clean(column)}",
                "dataType": kind,
                "source": {
                    "fileSet" if is_folder else "fileObject": {"@id": quote(file)},
                    "extract": {"column": column},
                },
            }
            for column, kind in header.items()
        ],
    }


def _rai(facts: RunFacts) -> dict[str, Any]:
    """Return what is known of the fields for responsible AI; those of which nothing is known are left out."""
    accuracy = [(f"{row.heading}: ", *text) for row in accuracy_texts(facts) for text in row.texts]
    sensitive = [(Name(column),) for column in facts.group_columns]
    found: dict[str, list[Text]] = {
        "dataPreprocessingProtocol": left_out_texts(facts),
        "dataAnnotationProtocol": making_texts(facts),
        "dataAnnotationAnalysis": agreement_texts(facts),
        "machineAnnotationTools": [("faircrowd ", facts.of_evidence("version", form=str))],
        "dataBiases": gap_texts(facts),
        "dataLimitations": accuracy,
        "personalSensitiveInformation": [("Groups of tasks by ", *text) for text in sensitive],
    }
    listed = {f"rai:{name}": [as_plain(text) for text in texts] for name, texts in found.items() if texts}
    per_task = {"rai:annotationsPerItem": as_plain(votes_per_task(facts))} if facts.labels.votes else {}
    return {**per_task, **listed}
