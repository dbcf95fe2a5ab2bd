"""A `piton serve` of a check's own: a fresh home, a workspace, a scripted model and a token."""

import contextlib
import json
import os
import signal
import subprocess
import tempfile


class Serving:
    """A serving process, and how to speak to it."""

    def __init__(self, process, url, token, work):
        self.process, self.url, self.token, self.work = process, url, token, work


@contextlib.contextmanager
def serving(piton, script, settings=None):
    """Serves until the block has ended, with a model that follows a script and more variables as settings."""
    with tempfile.TemporaryDirectory(prefix="piton-api-") as root:
        home, work = os.path.join(root, "home"), os.path.join(root, "work")
        os.mkdir(home)
        os.mkdir(work)
        file = os.path.join(root, "script.json")
        with open(file, "w", encoding="utf-8") as out:
            json.dump(script, out)
        # No key, proxy or setting of the person who runs this.
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": root,
            "PITON_HOME": home,
            "PITON_MODEL": f"script:{file}",
            **(settings or {}),
        }
        token = subprocess.run(
            [piton, "serve", "token", "check"],
            env=environment, cwd=work, check=True, capture_output=True, text=True,
        ).stdout.strip()
        log = open(os.path.join(root, "stderr"), "w+", encoding="utf-8")
        process = subprocess.Popen(
            [piton, "serve", "--json"],
            env=environment, cwd=work, stdout=subprocess.PIPE, stderr=log, text=True,
        )
        try:
            line = process.stdout.readline()
            assert line, "piton serve did not start:\n" + open(log.name, encoding="utf-8").read()
            yield Serving(process, json.loads(line)["url"].rstrip("/"), token, work)
            assert process.poll() is None, f"piton serve ended with {process.returncode}"
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            log.close()
