"""What each data set is, under which licence, whom to cite, and where its files are published."""

from dataclasses import dataclass

__all__ = ["ABOUT", "About", "RawFile"]


@dataclass(frozen=True)
class RawFile:
    """A file of a data set, as it is published.

    Attributes
    ----------
    name : str
    url : str
        Where it is published, at a version that does not change.
    sha256 : str
        The checksum that a download must have; a file that the user put in place is used as it is.
    also : tuple of str
        Other names that the file may have in the user's folder.
    """

    name: str
    url: str
    sha256: str
    also: tuple[str, ...] = ()


@dataclass(frozen=True)
class About:
    """What is known about a data set before it is loaded."""

    name: str
    description: str
    licence: str
    citation: str
    source: str
    files: tuple[RawFile, ...] = ()


# The repository of the paper's code, at one commit: its files never change.
_PAPER = (
    "https://raw.githubusercontent.com/gabrielsinger2/FairCrowd/"
    "b85a6fe11ce54b9a88c3f8ceff48bb348494173e/faircrowd/datasets"
)
_HATE_SPEECH = "https://huggingface.co/datasets/ucberkeley-dlab/measuring-hate-speech"

_SETS = (
    About(
        name="crowd-judgement",
        description=(
            "Will a defendant of Broward County be charged again within two years? 1,000 defendants, 20 answers "
            "each, from workers who were shown the race. Label 1: will be; group black = 1: Black, 0: all others; "
            "truth: what happened."
        ),
        licence="none stated for the data (the article is CC BY-NC 4.0)",
        citation=(
            "Julia Dressel and Hany Farid. The accuracy, fairness, and limits of predicting recidivism. "
            "Science Advances 4(1), eaao5580, 2018. doi:10.1126/sciadv.aao5580"
        ),
        source="https://farid.berkeley.edu/downloads/publications/scienceadvances17/",
        files=(
            RawFile(
                "MTURK_RACE.csv",
                f"{_PAPER}/CrowdJudgement/MTURK_RACE.csv",
                "4dfe46e9cd958dcb0e032a4dfe6656e4cf5cb4bcd1c3a4b4262d9949235f6ce3",
            ),
            RawFile(
                "BROWARD_CLEAN_SUBSET.csv",
                f"{_PAPER}/CrowdJudgement/BROWARD_CLEAN_SUBSET.csv",
                "bb4882ff7488b010b91c5fb492979b1851f907d8c053cf1e8ce4ea98faf6a6f0",
            ),
        ),
    ),
    About(
        name="jigsaw-toxicity",
        description=(
            "Is a comment toxic? 5,000 comments of the Civil Comments platform with the answers of single raters. "
            "Label 1: toxic; group identity = 1: some rater saw one of 18 identities mentioned, 0: none did; "
            "truth: the published label, which is that of at least half of these answers."
        ),
        licence="CC0 1.0 (Jigsaw's release of Civil Comments)",
        citation=(
            "Jigsaw and Conversation AI. Jigsaw Unintended Bias in Toxicity Classification. Kaggle, 2019. "
            "Daniel Borkan, Lucas Dixon, Jeffrey Sorensen, Nithum Thain and Lucy Vasserman. Nuanced metrics for "
            "measuring unintended bias with real data for text classification. WWW 2019 Companion, 491-500."
        ),
        source="https://github.com/gabrielsinger2/FairCrowd (faircrowd/datasets/JigsawToxicity)",
        files=(
            RawFile(
                "responses_td_format.csv",
                f"{_PAPER}/JigsawToxicity/responses_td_format.csv",
                "02d3f0581ba08845539595918b7ff6bcebe0cd8f7be924b36ba0c0c6a5881194",
            ),
            RawFile(
                "features_for_ml.csv",
                f"{_PAPER}/JigsawToxicity/features_for_ml.csv",
                "0c72e67b0b55284501a1b00109defce8c8147c2937a67b46504facb0c3f242db",
            ),
            RawFile(
                "ground_truth_label.csv",
                f"{_PAPER}/JigsawToxicity/ground_truth_label.csv",
                "d52c458ad958fa67c691244c7f00fbc6816145de410d6185ac66530ae4174dfb",
            ),
        ),
    ),
    About(
        name="measuring-hate-speech",
        description=(
            "Is a comment hate speech? About 39,600 comments of YouTube, Twitter and Reddit, 135,600 answers. "
            "Label 1: a rater's answer is yes or unsure; group 1: at least half of its raters say that it targets "
            "people for their gender (or for what was chosen), 0: fewer; truth: the published score is above 0.5."
        ),
        licence="CC BY 4.0",
        citation=(
            "Chris J. Kennedy, Geoff Bacon, Alexander Sahn and Claudia von Vacano. Constructing interval variables via "
            "faceted Rasch measurement and multitask deep learning: a hate speech application. arXiv:2009.10277, 2020. "
            "Pratik Sachdeva, Renata Barreto, Geoff Bacon, Alexander Sahn, Claudia von Vacano and Chris Kennedy. The "
            "Measuring Hate Speech Corpus: leveraging Rasch measurement theory for data perspectivism. NLPerspectives "
            "at LREC 2022, 83-94."
        ),
        source=_HATE_SPEECH,
        files=(
            RawFile(
                "measuring-hate-speech.parquet",
                f"{_HATE_SPEECH}/resolve/5468f6e118396646b02a2f691e771f6b6d9502ea/measuring-hate-speech.parquet",
                "6819525ce61bc24344df9fc3f7bf48270b31038273cc27c67fc225b51433b0e1",
                also=("measuring-hate-speech.csv",),
            ),
        ),
    ),
    About(
        name="synthetic",
        description=(
            "The paper's synthetic crowd, newly drawn: 2,000 tasks, 100 workers, 5 votes per task; workers are better "
            "at tasks of group 1, and label 1 is more common there."
        ),
        licence="Apache 2.0, as this package",
        citation=(
            "The paper's section 5.2. The distribution is that of its text; its code exchanges the rates of label 1."
        ),
        source="faircrowd.simulate_crowd",
    ),
)

ABOUT = {about.name: about for about in _SETS}
"""The data sets, by name."""
