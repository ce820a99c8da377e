"""Records of measurements, compared by what they say."""

from collections.abc import Mapping
from typing import Any

from fred_hw.files import FileModel, validate

__all__ = ["what_was_measured"]


def what_was_measured(model: type[FileModel], record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record without who measured; what it does not say of a specification is the default.

    So a key that is new in specifications makes no record stale.
    """
    return validate(model, record, "record").model_dump(
        exclude={"source", "simulators", "date", "minutes"}
    )
