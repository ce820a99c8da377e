"""What `--protocol` does in every command that has it."""

import pytest

from tests.fred_cli.fred import Fred


@pytest.mark.usefixtures("half_share")
@pytest.mark.parametrize(
    ("command", "key"),
    [
        ("collective --topology fred-d", "time_s"),
        ("collective --topology mesh:5x4", "time_s"),
        ("collective --topology wafers:2xfred-d", "time_s"),
        ("estimate --topology mesh:5x4 --workload resnet-152", "exposed_s"),
        ("compare --topology fred-b --workload resnet-152", "exposed_s"),
        ("strategies --workload own.yaml --topology mesh:2x2 --samples 4", "communication_s"),
    ],
)
def test_ideal_protocol_takes_half_the_time_of_half_the_payload(
    fred: Fred, command: str, key: str
) -> None:
    found: list[float] = []
    for more in ((), ("--protocol", "measured"), ("--protocol", "ideal")):
        said = fred.json(*command.split(), *more)
        value = (said["rows"][0] if "rows" in said else said)[key]
        found.append(sum(value.values()) if isinstance(value, dict) else value)
    assert found[0] == found[1] == pytest.approx(2 * found[2], rel=0.05)


@pytest.mark.usefixtures("half_share")
def test_provenance_says_what_was_taken_from_which_record(fred: Fred) -> None:
    lines = fred("collective", "--topology", "mesh:5x4")[1]
    assert (
        "  routers of mesh links: 0 cycles (0.0 ns), 50.0% payload, record mesh-5x4 of the router, "
        in lines
    )
    lines = fred("collective", "--topology", "fred-d")[1]
    assert "  l2: 0 cycles (0.0 ns), 50.0% payload, record l2-10 of the whole switch, " in lines
    lines = fred("collective", "--topology", "fred-d", "--protocol", "ideal")[1]
    assert " 100.0% payload, record l2-10 of the interconnect alone, " in lines
    assert "  assumed: protocol ideal: " in lines
