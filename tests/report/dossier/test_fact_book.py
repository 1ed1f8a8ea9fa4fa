"""No name from the data becomes markup, in whatever form a text is written."""

from html.parser import HTMLParser

import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from faircrowd.report.dossier.fact_book import Code, Fact, FactBook, Name, as_html, as_markdown, as_plain, clean

_MARKDOWN = MarkdownIt("commonmark").enable(["table", "strikethrough"])
_TRICKS = st.sampled_from(
    ["[a](http://b)", "<img src=x>", "| x |", "***", "`", "\\", "1. ", "# ", "- ", "&lt;", "~~~", "\n"]
)
NAMES = st.lists(st.one_of(_TRICKS, st.text(max_size=6)), max_size=6).map("".join)


class Parsed(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags, self.text = list[str](), ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


@given(NAMES)
@example("1) x\r\n===")
@example("www.a.b *c* $d$ http://e")
def test_names_are_text_in_markdown_and_html(name: str) -> None:
    for before in ("", "group "):
        page = Parsed(_MARKDOWN.render(as_markdown((before, Name(name)))))
        assert set(page.tags) <= {"p"}
        assert page.text.split() == f"{before}{clean(name)}".split()
    page = Parsed(as_html((Name(name),), ".."))
    assert page.tags == ["bdi"]
    assert page.text == clean(name) == as_plain((Name(name),))


@given(NAMES)
def test_commands_are_code(name: str) -> None:
    page = Parsed(_MARKDOWN.render(f"x {as_markdown((Code(name),))}"))
    assert page.tags == ["p", "code"]
    assert page.text.split() == f"x {clean(name)}".split()


@given(NAMES, NAMES)
def test_places_are_links_that_lead_nowhere_else(name: str, shown: str) -> None:
    text = as_html((Fact("summary.json", f"/group_tasks/{name}", 1, shown),), "..")
    page = Parsed(text)
    assert page.tags == ["a"]
    assert text.startswith('<a href="../summary.json#/group_tasks/')


def test_the_card_is_valid_whatever_it_is_called() -> None:
    from faircrowd.report.dossier.dataset_card import _yaml

    @given(NAMES)
    def check(name: str) -> None:
        assert yaml.safe_load(f"pretty_name: {_yaml(name)}") == {"pretty_name": clean(name)}

    check()


def test_a_place_that_is_not_there_is_none() -> None:
    book = FactBook({"a.json": {"list": [1], "text": "x"}})
    assert [book.value("a.json", *path) for path in (("list", 0), ("list", 1), ("text", "x"), ("no", "where"))] == [
        *(1, None, None, None)
    ]
    assert book.value("b.json", "x") is None
