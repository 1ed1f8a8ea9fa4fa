"""A small file of each format, in the form that the tool's own source or documentation shows."""

import io
import json
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from votes.exports.reading import write

PRODIGY: list[dict[str, Any]] = [
    {
        "text": "t1",
        "meta": {"race": "a"},
        "options": [{"id": "yes", "text": "Yes"}, {"id": "no", "text": "No"}],
        "config": {"choice_style": "single"},
        "_input_hash": -101,
        "_task_hash": 1,
        "_view_id": "choice",
        "accept": ["yes"],
        "answer": "accept",
        "_timestamp": 1000,
        "_annotator_id": "news-ann",
        "_session_id": "news-ann",
    },
    {"text": "t1", "_input_hash": -101, "accept": ["no"], "answer": "accept", "_annotator_id": "news-bob"},
    {"text": "t2", "_input_hash": 102, "accept": ["no"], "answer": "accept", "_session_id": "news-ann"},
    {"text": "t2", "_input_hash": 102, "accept": [], "answer": "ignore", "_annotator_id": "news-bob"},
    {"text": "t2", "_input_hash": 102, "accept": [], "answer": "reject", "_annotator_id": "news-cem"},
    {"text": "t2", "_input_hash": 102, "accept": ["no"], "answer": "accept", "_session_id": "faircrowd"},
    {"text": "t1", "_input_hash": -101, "accept": ["yes"], "answer": "accept", "versions": [{}], "_session_id": "boss"},
]
"""What ``db-out`` writes for the interface *choice*."""

POTATO_JSONL: list[dict[str, Any]] = [
    {
        "instance_id": "i1",
        "user_id": "ann",
        "labels": {"sentiment": {"positive": "true"}, "why": {"text_box": "good"}},
        "spans": {},
        "links": {},
    },
    {"instance_id": "i1", "user_id": "bob", "labels": {"sentiment": {"negative": "true"}}, "spans": {}, "links": {}},
    {"instance_id": "i2", "user_id": "ann", "labels": {"sentiment": {"negative": "true"}}, "spans": {}, "links": {}},
    {"instance_id": "i2", "user_id": "bob", "labels": {}, "spans": {}, "links": {}},
]

LABELBOX: list[dict[str, Any]] = [
    {
        "data_row": {
            "id": "row1",
            "global_key": "key1",
            "row_data": "https://storage.example.com/a.jpg?Signature=abc&Expires=1",
            "details": {"dataset_id": "d", "created_by": "owner@example.com"},
        },
        "metadata_fields": [{"schema_id": "m", "schema_name": "gender", "value": ["f"]}],
        "projects": {
            "p1": {
                "name": "Project",
                "labels": [
                    {
                        "label_kind": "Default",
                        "version": "1.0.0",
                        "id": label,
                        "label_details": {
                            "created_at": "2024-04-08T16:21:26.000+00:00",
                            "updated_at": "2024-04-08T16:34:02.000+00:00",
                            "created_by": f"{user}@example.com",
                        },
                        "performance_details": performance,
                        "annotations": {
                            "objects": [],
                            "classifications": []
                            if answer is None
                            else [
                                {
                                    "name": "Toxic?",
                                    "value": "toxic",
                                    "radio_answer": {"name": answer.title(), "value": answer, "classifications": []},
                                },
                                {"name": "Why", "value": "why", "text_answer": {"content": "because"}},
                            ],
                        },
                    }
                    for label, user, answer, performance in [
                        ("l1", "ann", "yes", {"skipped": False, "benchmark_reference_label": "l3"}),
                        ("l2", "bob", "no", {"skipped": False}),
                        ("l3", "boss", "yes", {"skipped": False}),
                        ("l4", "cem", None, {"skipped": True}),
                        ("l5", "dot", None, {"skipped": False}),
                    ]
                ],
                "project_details": {"workflow_status": "DONE"},
            }
        },
    }
]

LEWIDI: dict[str, Any] = {
    "1": {
        "text": "hello",
        "annotation task": "irony detection",
        "number of annotations": 3,
        "annotations": "0,1,1",
        "annotators": "Ann1,Ann2,Ann3",
        "lang": "en",
        "hard_label": "1",
        "soft_label": {"0": 0.33, "1": 0.67},
        "split": "train",
        "other_info": {"group": "a"},
    },
    "2": {"text": "you", "annotations": "1,0", "annotators": "Ann2,Ann3", "lang": "en", "other_info": {"group": "b"}},
}

MT_BENCH: list[dict[str, Any]] = [
    {
        "question_id": 81,
        "model_1": "vicuna",
        "model_2": "alpaca",
        "g1_winner": first,
        "g2_winner": second,
        "judge": judge,
        "g1_user_prompt": "p",
        "g1_judgment": "[[A]]",
        "g2_user_prompt": "p",
        "g2_judgment": "[[B]]",
        "turn": 1,
        "tstamp": 1687250000.5,
    }
    for first, second, judge in [
        ("model_1", "model_1", ["gpt-4", "pair-v2"]),
        ("model_1", "model_2", ["claude-v1", "pair-v2"]),
        ("tie", "tie", ["gpt-3.5-turbo", "pair-v2"]),
        ("error", "model_2", ["llama", "pair-v2"]),
    ]
]

REWARD_BENCH: dict[str, Any] = {
    "text_chosen": ["a", "b", "c", "d"],
    "text_rejected": ["w", "x", "y", "z"],
    "results": [1, 0, 0.5, None],
    "subset": ["alpacaeval-easy", "alpacaeval-easy", "refusals", "refusals"],
    "id": [30, 31, 32, 33],
    "model": "openai/gpt-4",
    "model_type": "Generative RM",
}

ALPACA_EVAL: list[dict[str, Any]] = [
    {
        "instruction": instruction,
        "output_1": "one",
        "generator_1": generators[0],
        "output_2": "two",
        "generator_2": generators[1],
        "dataset": "helpful_base",
        "annotator": annotator,
        "preference": preference,
        "price_per_example": 0.01,
        "time_per_example": 1.0,
    }
    for instruction, generators, annotator, preference in [
        ("Who?", ("davinci", "gpt4"), "claude", 1.0),
        ("Who?", ("davinci", "gpt4"), "gpt-4", 1.98),
        ("Who?", ("gpt4", "davinci"), "llama", 1.0),
        ("Why?", ("davinci", "gpt4"), "claude", 1.5),
        ("Why?", ("davinci", "gpt4"), "gpt-4", None),
    ]
]

LM_EVAL: list[dict[str, Any]] = [
    {
        "doc_id": doc_id,
        "doc": {"question": "q", "subject": "law"},
        "target": "4",
        "arguments": {"gen_args_0": {"arg_0": "q"}},
        "resps": [["It is 4"]],
        "filtered_resps": [answer],
        "filter": one,
        "metrics": ["exact_match"],
        "exact_match": score,
        "doc_hash": "d",
        "prompt_hash": "p",
        "target_hash": "t",
    }
    for doc_id, one, answer, score in [
        (0, "strict-match", "4", 1.0),
        (1, "strict-match", "[invalid]", 0.0),
        (0, "flexible-extract", "4", 1.0),
        (1, "flexible-extract", "4", 1.0),
    ]
]

GROUND_TRUTH: dict[str, Any] = {
    "job/annotations/worker-response/iteration-1/0/2024-01-01_00:00:00.json": {
        "answers": [
            {
                "acceptanceTime": "2024-01-01T00:00:00Z",
                "answerContent": {"crowd-classifier": {"label": "cat"}},
                "submissionTime": "2024-01-01T00:01:00Z",
                "workerId": "private.1",
                "workerMetadata": {"identityData": {"sub": "secret-token"}},
            },
            {
                "answerContent": {"crowd-classifier": {"label": "dog"}},
                "submissionTime": "2024-01-01T00:02:00Z",
                "workerId": "private.2",
            },
            {"answerContent": {}, "submissionTime": "2024-01-01T00:03:00Z", "workerId": "private.3"},
        ]
    },
    "job/manifests/output/output.manifest": "\n".join(
        json.dumps({"source": text, "gender": group, "job": 0, "job-metadata": {"human-annotated": human}})
        for text, group, human in [("a", "f", "yes"), ("b", "m", "no"), ("c", "m", "yes")]
    ),
}

XML = """<?xml version="1.0" encoding="utf-8"?>
<annotations>
  <version>1.1</version>
  <meta><job><id>{job}</id><size>2</size><owner></owner>
    <assignee><username>{user}</username><email>{user}@example.com</email></assignee></job></meta>
  <image id="0" name="a.png" width="10" height="10"><tag label="{label}" source="manual">
    <attribute name="sure">yes</attribute></tag>
    <box label="cat" source="manual" occluded="0" xtl="0" ytl="0" xbr="1" ybr="1" z_order="0"></box></image>
  <image id="1" name="b.png" width="10" height="10"></image>
</annotations>
"""

INSPECT: dict[str, Any] = {
    f"samples/{sample}_epoch_{epoch}.json": {
        "id": sample,
        "epoch": epoch,
        "input": "q",
        "target": "yes",
        "scores": scores,
        "metadata": {"gender": "f"},
    }
    for sample, epoch, scores in [
        (1, 1, {"judge_a": {"value": "C"}, "judge_b": {"value": "I"}, "judge_c": {"value": float("nan")}}),
        (1, 2, {"judge_a": {"value": "C"}}),
        (2, 1, {}),
    ]
}

MTURK = (
    "HITId,AssignmentId,WorkerId,AssignmentStatus,SubmitTime,Input.id,Input.gender,Answer.category.label,Approve,Reject\n"
    "h1,a1,W1,Submitted,Tue Mar 05 10:10:00 PST 2019,1,f,cat,,\n"
    "h1,a2,W2,Rejected,Tue Mar 05 10:11:00 PST 2019,1,f,dog,,\n"
    "h2,a3,W1,Approved,Tue Mar 05 10:12:00 PST 2019,2,m,cat|dog,,\n"
    "h2,a4,W2,Approved,Tue Mar 05 10:13:00 PST 2019,2,m,{},,\n"
    "h3,a5,W3,Approved,Tue Mar 05 10:14:00 PST 2019,1,f,dog,,\n"
)

APPEN = (
    "_unit_id,_created_at,_golden,_tainted,_worker_id,_city,_ip,toxic,toxic_gold,toxic_gold_reason,gender,text\n"
    "1,7/12/2014 01:00:00,false,false,11,Exeter,81.2.69.142,yes,,,f,a\n"
    "1,7/12/2014 01:00:01,false,false,12,Berlin,81.2.69.143,no,,,f,a\n"
    "2,7/12/2014 01:00:02,false,true,11,Exeter,81.2.69.142,no,,,m,b\n"
    "2,7/12/2014 01:00:03,false,false,12,Berlin,81.2.69.143,yes,,,m,b\n"
    "3,7/12/2014 01:00:04,true,false,11,Exeter,81.2.69.142,yes,no,obvious,m,c\n"
    '4,7/12/2014 01:00:05,true,false,12,Berlin,81.2.69.143,yes,"yes\nno",,m,d\n'
    "2,7/12/2014 01:00:06,false,false,13,Oslo,81.2.69.144,,,,m,b\n"
)

LISTS: list[dict[str, Any]] = [
    {"id": "a", "text": "x y", "tokens": ["x", "y"], "annotators": ["u1", "u2"], "labels": [1, 0], "group": "f"},
    {"id": "b", "text": "z", "tokens": ["z"], "annotators": ["u1", "u3", "u2"], "labels": [1, 1, 0], "group": "m"},
]


PROMPTFOO: dict[str, Any] = {
    "evalId": "eval-1",
    "results": {
        "version": 3,
        "results": [
            {
                "testIdx": 0,
                "promptIdx": 1,
                "provider": {"id": "openai:gpt-5-mini", "label": ""},
                "vars": {"riddle": "r", "gender": "f"},
                "testCase": {"vars": {"riddle": "r"}, "metadata": {"race": "a"}},
                "gradingResult": {
                    "pass": False,
                    "componentResults": [
                        {"pass": True, "score": 1, "assertion": {"type": "contains", "value": "echo"}},
                        {"pass": True, "score": 1, "assertion": {"type": "llm-rubric", "value": "v", "provider": "a"}},
                        {"pass": False, "score": 0, "assertion": {"type": "llm-rubric", "value": "v", "provider": "b"}},
                        {"pass": True, "score": 1, "assertion": {"type": "llm-rubric", "value": "w", "provider": "b"}},
                        {"pass": True, "score": 1, "assertion": {"type": "not-llm-rubric", "value": "w"}},
                        {"pass": True, "score": 1, "assertion": {"type": "g-eval", "value": "w", "metric": "tone"}},
                    ],
                },
            },
            {"testIdx": 1, "promptIdx": 0, "vars": {}, "gradingResult": {"pass": True, "reason": "No assertions"}},
        ],
    },
    "config": {"providers": [{"id": "x", "config": {"apiKey": "secret"}}]},
}

ARGILLA_FLAT: list[dict[str, Any]] = [
    {
        "id": "r1",
        "status": "completed",
        "_server_id": "s",
        "text": "t",
        "gender": "f",
        "better.responses": ["1", "2", "1"],
        "better.responses.users": ["u1", "u2", "u3"],
        "better.responses.status": ["submitted", "draft", "submitted"],
        "flags.responses": [["insult"]],
        "flags.responses.users": ["u3"],
        "flags.responses.status": ["submitted"],
        "better.suggestion": "2",
        "better.suggestion.agent": "faircrowd",
    }
]

ARGILLA_NESTED: list[dict[str, Any]] = [
    {
        "id": "r1",
        "fields": {"text": "t"},
        "metadata": {"gender": "f"},
        "suggestions": {"better": {"value": "2", "score": 0.5, "agent": "faircrowd"}},
        "responses": {"better": [{"value": "1", "user_id": "u1"}, {"value": "2", "user_id": "u2"}]},
        "vectors": {},
        "status": "completed",
        "_server_id": "s",
    }
]

CVAT_JOBS: dict[str, Any] = {
    "jobs.json": {
        "count": 4,
        "results": [
            {
                "id": number,
                "type": kind,
                "parent_job_id": 1 if kind == "consensus_replica" else None,
                "consensus_replicas": 2 if number == 1 else 0,
                "task_id": 9,
                "task_name": "birds",
                "state": state,
                "start_frame": 0,
                "stop_frame": 1,
                "media_type": "image",
                "assignee": assignee,
            }
            for number, kind, state, assignee in [
                (1, "annotation", "new", None),
                (2, "consensus_replica", "completed", {"id": 5, "username": "ann", "email": "ann@example.com"}),
                (3, "consensus_replica", "completed", None),
                (4, "consensus_replica", "rejected", None),
                (5, "ground_truth", "completed", None),
            ]
        ],
    },
    "annotations.json": {
        "job": {
            str(number): {
                "shapes": [],
                "tracks": [],
                "tags": [{"frame": 0, "label_id": label, "attributes": attributes}],
            }
            for number, label, attributes in [
                (1, 10, []),
                (2, 10, [{"spec_id": 3, "value": "yes"}]),
                (3, 11, [{"spec_id": 3, "value": ""}]),
                (4, 11, []),
                (5, 10, []),
            ]
        }
    },
    "labels.json": {
        "results": [
            {"id": 10, "name": "cat", "attributes": [{"id": 3, "name": "sure"}]},
            {"id": 11, "name": "dog", "attributes": []},
        ]
    },
}


def packed(files: dict[str, Any], path: Path) -> Path:
    """Write files into a folder, a zip or a tar, as the name says."""
    contents = {
        name: (value if isinstance(value, str) else json.dumps(value)).encode() for name, value in files.items()
    }
    if path.suffix in (".zip", ".eval"):
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in contents.items():
                archive.writestr(name, content)
    elif path.name.endswith((".tar.gz", ".tgz")):
        with tarfile.open(path, "w:gz") as tar:
            for name, content in contents.items():
                info = tarfile.TarInfo(name)
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
    else:
        for name, content in contents.items():
            write(path / name, content)
    return path


def doccano_files() -> dict[str, Any]:
    rows = {"ann": [["yes"], []], "bob": [["no"], ["yes", "no"]]}
    return {
        f"{user}.jsonl": "\n".join(
            json.dumps({"id": number, "text": "t", "gender": "f", "label": label, "Comments": []})
            for number, label in enumerate(labels, start=1)
        )
        for user, labels in rows.items()
    }


def potato_state(user: str, answer: str, value: Any = True) -> dict[str, Any]:
    return {
        "user_id": user,
        "current_phase_and_page": ["annotation", "annotation"],
        "instance_id_to_label_to_value": {
            "i1": [
                [{"schema": "toxic", "name": answer}, value],
                [{"schema": "why", "name": "text_box"}, "words"],
                [{"schema": "sure", "name": "slider"}, str(len(user))],
            ]
        },
        "instance_id_to_span_to_value": {},
    }


EXAMPLES: dict[str, tuple[str, Callable[[Path], Path]]] = {
    "prodigy.jsonl": ("prodigy", lambda folder: write(folder / "prodigy.jsonl", PRODIGY)),
    "potato.jsonl": ("potato", lambda folder: write(folder / "potato.jsonl", POTATO_JSONL)),
    "potato": (
        "potato",
        lambda folder: packed(
            {
                "ann/user_state.json": potato_state("ann", "yes"),
                "bob2/user_state.json": potato_state("bob2", "no"),
            },
            folder / "potato",
        ),
    ),
    "labelbox.ndjson": ("labelbox", lambda folder: write(folder / "labelbox.ndjson", LABELBOX)),
    "lewidi.json": ("lewidi", lambda folder: write(folder / "lewidi.json", LEWIDI)),
    "mt_bench.jsonl": ("mt-bench", lambda folder: write(folder / "mt_bench.jsonl", MT_BENCH)),
    "reward_bench.json": ("reward-bench", lambda folder: write(folder / "reward_bench.json", REWARD_BENCH)),
    "annotations.json": ("alpaca-eval", lambda folder: write(folder / "annotations.json", ALPACA_EVAL)),
    "samples.jsonl": ("lm-eval", lambda folder: write(folder / "samples.jsonl", LM_EVAL)),
    "job": ("ground-truth", lambda folder: packed(GROUND_TRUTH, folder / "job")),
    "job.tar.gz": ("ground-truth", lambda folder: packed(GROUND_TRUTH, folder / "job.tar.gz")),
    "log.eval": ("inspect", lambda folder: packed(INSPECT, folder / "log.eval")),
    "mturk.csv": ("mturk", lambda folder: write(folder / "mturk.csv", MTURK)),
    "appen.csv": ("appen", lambda folder: write(folder / "appen.csv", APPEN)),
    "doccano.zip": ("doccano", lambda folder: packed(doccano_files(), folder / "doccano.zip")),
    "lists.jsonl": ("lists", lambda folder: write(folder / "lists.jsonl", LISTS)),
    "promptfoo.json": ("promptfoo", lambda folder: write(folder / "promptfoo.json", PROMPTFOO)),
    "argilla.json": ("argilla", lambda folder: write(folder / "argilla.json", ARGILLA_FLAT)),
    "nested.json": ("argilla", lambda folder: write(folder / "nested.json", ARGILLA_NESTED)),
    "cvat_jobs": ("cvat", lambda folder: packed(CVAT_JOBS, folder / "cvat_jobs")),
    "cvat.xml": ("cvat", lambda folder: write(folder / "cvat.xml", XML.format(job=7, user="ann", label="cat"))),
}
"""By the name of a file, its format and how to write it."""
