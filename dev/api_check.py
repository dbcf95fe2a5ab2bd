"""schemathesis over the description of `piton serve`; run by dev/api-check, which installs it.

Requests are made from the description: valid ones, broken ones, and chains in which one answer's names go
into the next request. Every answer is held against what is described: no 5xx, only described statuses and
types, bodies as their schema says, broken requests refused, valid ones taken, tokens needed.

Left out is `/api/v1/events`: a stream does not end, so a request that is taken would hang. The generated
client reads it (dev/api_client.py), and `crates/piton-server/tests/server/events.rs`.
"""

import json
import os
import re
import subprocess
import sys
import tempfile

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


def main():
    tester = os.path.join(os.path.dirname(sys.executable), "schemathesis")
    with tempfile.TemporaryDirectory() as place, serving(PITON, SCRIPT) as server:
        settings = os.path.join(place, "schemathesis.toml")
        with open(settings, "w", encoding="utf-8") as file:
            file.write(SETTINGS)
        ran = subprocess.run(
            [
                tester, "--config-file", settings, "run", f"{server.url}/api/openapi.json",
                "--header", f"Authorization: Bearer {server.token}",
                "--exclude-path", "/api/v1/events",
                "--phases", "examples,coverage,fuzzing,stateful", "--checks", "all",
                "--seed", SEED, "--max-examples", EXAMPLES, "--continue-on-failure",
                "--request-timeout", "20", "--workers", "1", "--no-color",
                "--generation-database", "none", "--output-truncate", "false",
            ],
            cwd=place, capture_output=True, text=True,
        )
    sys.stderr.write(ran.stdout + ran.stderr)
    counted = re.search(r"(\d+) generated", ran.stdout)
    cases = int(counted.group(1)) if counted else 0
    print(json.dumps({"seed": int(SEED), "cases": cases, "failed": ran.returncode != 0}))
    if ran.returncode != 0 or cases == 0:
        sys.exit("api-check: the server does not do what it describes; see above")
    print(f"api-check: {cases} requests, seed {SEED}: all answered as described", file=sys.stderr)


main()
