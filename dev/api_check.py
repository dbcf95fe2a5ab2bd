"""schemathesis over the description of `piton serve`; run by dev/api-check, which installs it.

Requests are made from the description: valid ones, broken ones, and chains in which one answer's names go
into the next request. Every answer is held against what is described: no 5xx, only described statuses and
types, bodies as their schema says, broken requests refused, valid ones taken, tokens needed. Operations that
need a turn in some state are tried once more on servers that have one (dev/api_scenes.py).

Left out is `/api/v1/events`: a stream does not end, so a request that is taken would hang. The generated
client reads it (dev/api_client.py), and `crates/piton-server/tests/server/events.rs`.
"""

import json
import os
import re
import subprocess
import sys
import tempfile

from api_scenes import SCENES, Scene
from api_server import serving

PITON, SEED, EXAMPLES = sys.argv[1:4]
SCRIPT = {"steps": [{"say": f"answer {number}"} for number in range(1, 2000)]}
# An expression that is none is refused, which no schema can say.
SETTINGS = """
[[operations]]
include-operation-id = "search"
[operations.checks.positive_data_acceptance]
expected-statuses = ["2xx", "400", "401", "403", "404", "409", "429"]
"""
# How often a parameter has one of the values that a scene names.
SHARE = 0.8


def settings(scene):
    """What schemathesis is told of a scene, in its form of TOML."""
    made = [SETTINGS]
    for name, values in scene.values.items():
        made.append(f"[dictionaries.{name}]\nvalues = {json.dumps(values)}\n")
    for operation in scene.operations:
        made.append(f'[[operations]]\ninclude-operation-id = "{operation}"\n[operations.parameters]\n')
        for name in scene.values:
            made.append(f'"path.{name}" = {{ dictionary = "{name}", probability = {SHARE} }}\n')
    return "".join(made)


def tried(scene):
    """How many requests were made of a scene's operations, or of all; ends the check if an answer is wrong."""
    tester = os.path.join(os.path.dirname(sys.executable), "schemathesis")
    only = [word for name in scene.operations for word in ("--include-operation-id", name)]
    # A few operations by themselves give no names to each other.
    phases = "examples,coverage,fuzzing" + ("" if only else ",stateful")
    with tempfile.TemporaryDirectory() as place:
        file = os.path.join(place, "schemathesis.toml")
        with open(file, "w", encoding="utf-8") as out:
            out.write(settings(scene))
        ran = subprocess.run(
            [
                tester, "--config-file", file, "run", f"{scene.server.url}/api/openapi.json",
                "--header", f"Authorization: Bearer {scene.server.token}",
                *(only or ["--exclude-path", "/api/v1/events"]),
                "--phases", phases, "--checks", "all",
                "--seed", SEED, "--max-examples", EXAMPLES, "--continue-on-failure",
                "--request-timeout", "20", "--workers", "1", "--no-color",
                "--generation-database", "none", "--output-truncate", "false",
            ],
            cwd=place, capture_output=True, text=True,
        )
    sys.stderr.write(ran.stdout + ran.stderr)
    counted = re.search(r"(\d+) generated", ran.stdout)
    cases = int(counted.group(1)) if counted else 0
    if ran.returncode != 0 or cases == 0:
        print(json.dumps({"seed": int(SEED), "cases": cases, "failed": True}))
        sys.exit("api-check: the server does not do what it describes; see above")
    return cases


def main():
    with serving(PITON, SCRIPT) as server:
        cases = tried(Scene(server))
    for scene in SCENES:
        with scene(PITON) as there:
            cases += tried(there)
    print(json.dumps({"seed": int(SEED), "cases": cases, "failed": False}))
    print(f"api-check: {cases} requests, seed {SEED}: all answered as described", file=sys.stderr)


main()
