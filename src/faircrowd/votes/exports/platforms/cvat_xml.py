"""CVAT's XML for images: the tags of each image in a job."""

import xml.parsers.expat
from collections.abc import Iterator
from typing import Any, NoReturn

from faircrowd.errors import FileError
from faircrowd.votes.exports.answers import Answer

__all__ = ["is_cvat_xml", "xml_answers"]

_DEEPEST = 100


def is_cvat_xml(head: bytes) -> bool:
    """Return whether the beginning of a file is that of CVAT's XML.

    Examples
    --------
    >>> is_cvat_xml(b'<?xml version="1.0"?><annotations><version>1.1</version>'), is_cvat_xml(b"<annotations/>")
    (True, False)
    """
    return b"<annotations>" in head and (b"<version>" in head or b"<image " in head)


def xml_answers(content: bytes, where: str, name: str) -> Iterator[Answer]:
    """Yield the tags of each image; the worker is whom the job is assigned to, else the job, else the file.

    Parameters
    ----------
    content : bytes
        The file.
    where : str
        What messages call it.
    name : str
        The worker, if the file names neither a job nor who did it.

    Raises
    ------
    FileError
        If it is not XML, or defines entities, which CVAT does not.
    """
    images = _Images(where)
    parser = xml.parsers.expat.ParserCreate()
    parser.StartElementHandler = images.start
    parser.EndElementHandler = images.end
    parser.CharacterDataHandler = images.text
    parser.StartDoctypeDeclHandler = images.refuse
    parser.EntityDeclHandler = images.refuse
    try:
        parser.Parse(content, True)
    except xml.parsers.expat.ExpatError as error:
        raise FileError(f"{where} is not XML: {error}; was it cut? Export it again.") from None
    worker = images.assignee or (f"job-{images.job}" if images.job else name)
    for image, answers in images.found:
        yield Answer(image, worker, answers, left_out=None if answers else "not answered")


class _Images:
    """The images of a file, as they are parsed."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.found: list[tuple[str, dict[str, list[str]]]] = []
        self.job = self.assignee = ""
        self.path: list[str] = []
        self.words: list[str] = []
        self.answers: dict[str, list[str]] | None = None
        self.label = self.attribute = ""

    def refuse(self, *given: Any) -> NoReturn:
        raise FileError(f"{self.where} defines a document type or entities, which no export of CVAT does.")

    def start(self, element: str, attributes: dict[str, str]) -> None:
        self.path.append(element)
        self.words = []
        if len(self.path) > _DEEPEST:
            raise FileError(f"{self.where}: its elements are nested too deeply to be an export.")
        if element == "image":
            self.answers = {}
            self.found.append((attributes.get("name") or attributes.get("id", ""), self.answers))
        elif element == "tag" and self.answers is not None:
            self.label = attributes.get("label", "")
            self.answers.setdefault("tag", []).append(self.label)
        elif element == "attribute":
            self.attribute = attributes.get("name", "")

    def text(self, words: str) -> None:
        self.words.append(words)

    def end(self, element: str) -> None:
        text = "".join(self.words).strip()
        inside = self.path[:-1]
        if inside[-2:] == ["meta", "job"] and element == "id":
            self.job = text
        elif inside[-1:] == ["assignee"] and element == "username":
            self.assignee = text
        elif element == "attribute" and inside[-1:] == ["tag"] and self.answers is not None and text:
            self.answers.setdefault(f"{self.label}.{self.attribute}", []).append(text)
        elif element == "image":
            self.answers = None
        self.path.pop()
        self.words = []
