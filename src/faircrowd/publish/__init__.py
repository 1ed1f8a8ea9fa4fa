"""Labels of a finished run back to the platform where the votes were cast.

``finished_labels`` reads the folder of a run, ``platform_form`` says what a platform takes back, ``platforms`` holds
one module per platform, and ``publish_labels`` brings them together: a file that the platform imports, or a plan of
what is to be sent. ``push`` sends it. ``mlflow_log`` logs a fitted ``FairCrowd`` to MLflow.

A new platform is a module that defines a :class:`~faircrowd.publish.platform_form.PlatformForm`, and its name in the
list at the end of this file.
"""

from faircrowd.errors import OptionError
from faircrowd.publish.platform_form import PlatformForm
from faircrowd.publish.platforms.argilla_suggestions import ARGILLA_SUGGESTIONS
from faircrowd.publish.platforms.doccano_labels import DOCCANO_LABELS
from faircrowd.publish.platforms.ground_truth_manifest import GROUND_TRUTH_MANIFEST
from faircrowd.publish.platforms.label_studio_predictions import LABEL_STUDIO_PREDICTIONS
from faircrowd.publish.platforms.label_table import LABEL_TABLE
from faircrowd.publish.platforms.prodigy_answers import PRODIGY_ANSWERS

__all__ = ["FORMS", "register_form"]

FORMS: dict[str, PlatformForm] = {}
"""What labels can be published to, by name."""


def register_form(form: PlatformForm) -> None:
    """Add a platform; raise if its name is taken."""
    if form.name in FORMS:
        raise OptionError(f"There is a platform {form.name!r} already.")
    FORMS[form.name] = form


for _form in (
    LABEL_STUDIO_PREDICTIONS,
    ARGILLA_SUGGESTIONS,
    DOCCANO_LABELS,
    GROUND_TRUTH_MANIFEST,
    PRODIGY_ANSWERS,
    LABEL_TABLE,
):
    register_form(_form)
