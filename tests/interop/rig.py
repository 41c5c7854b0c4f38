"""A scratch directory with its own home and config directory, in which swarm and other agent programs run."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

MARK = "INTEROP_RIG"


class Failed(Exception):
    """A step that did not succeed."""


class Rig:
    """The directories, the environment and the processes of one try."""

    def __init__(self, directory, programs, swarm, mock):
        self.directory, self.mock, self.started = Path(directory), mock, []
        for name in ["home", "config", "project", "bin"]:
            (self.directory / name).mkdir(parents=True, exist_ok=True)
        self.project, self.programs = self.directory / "project", programs
        self.swarm_path = str(Path(swarm) / "swarm")
        home = self.directory / "home"
        self.env = {
            "HOME": str(home),
            "CLAUDE_CONFIG_DIR": str(self.directory / "config"),
            "XDG_CONFIG_HOME": str(home / ".config"),
            "XDG_DATA_HOME": str(home / ".local/share"),
            "XDG_CACHE_HOME": str(home / ".cache"),
            "XDG_STATE_HOME": str(home / ".local/state"),
            "PATH": f"{swarm}:{programs}:/usr/local/bin:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "GIT_CONFIG_NOSYSTEM": "1",
            MARK: str(self.directory),
        }
        self.run(["git", "init", "-q", str(self.project)])

    def write(self, path, content):
        path = self.directory / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content, indent=2))
        return path

    def run(self, argv, check=True, timeout=120, env=None):
        """Runs a program to its end."""
        done = subprocess.run(argv, cwd=self.project, env={**self.env, **(env or {})}, text=True, timeout=timeout,
                              stdin=subprocess.DEVNULL, capture_output=True, check=False)
        if check and done.returncode:
            raise Failed(f"{' '.join(argv[:4])}: exit {done.returncode}: {(done.stdout + done.stderr).strip()[-600:]}")
        return done

    def swarm(self, *args, **more):
        return self.run([self.swarm_path, *args], **more)

    def tmux(self, *args):
        """Runs tmux on the socket of this rig."""
        return self.run(["tmux", "-S", str(self.directory / "tmux"), "-f", "/dev/null", *args])

    def in_terminal(self, argv, env, session="main"):
        """Starts a program in a terminal of 80 columns and 24 rows."""
        words = [f"{name}={value}" for name, value in env.items()]
        self.tmux("new-session", "-d", "-s", session, "-x", "80", "-y", "24", "-c", str(self.project), "env", *words, *argv)

    def screen(self, session=None):
        target = ["-t", session] if session else []
        return self.run(["tmux", "-S", str(self.directory / "tmux"), "capture-pane", "-p", *target], check=False).stdout

    def type(self, text, session="main"):
        """Types a line into a terminal."""
        self.tmux("send-keys", "-t", session, "-l", text)
        # An Enter in the same read as the text would be a part of it.
        self.wait("typed text", lambda: text[-8:] in self.screen(session), 10)
        time.sleep(0.5)
        self.tmux("send-keys", "-t", session, "Enter")

    def read(self, *args, **more):
        """Runs a command with `--json` and returns what it prints."""
        return json.loads(self.swarm("--json", *args, **more).stdout or "null")

    def start(self, argv, env=None, **more):
        """Starts a program in its own process group."""
        log = open(self.directory / f"started-{len(self.started)}.log", "wb")
        more = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log, **more}
        process = subprocess.Popen(argv, cwd=self.project, env={**self.env, **(env or {})}, start_new_session=True, **more)
        self.started.append(process)
        return process

    def wait(self, what, condition, seconds=90.0):
        """Waits for a condition and returns its value."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            value = condition()
            if value:
                return value
            time.sleep(0.1)
        raise Failed(f"no {what} within {seconds:.0f} s")

    def inbox(self, team, name):
        """Returns the messages of a member, those that it has acknowledged first."""
        directory = self.directory / "config/teams" / team
        archive, inbox = directory / "swarm/archive" / f"{name}.jsonl", directory / "inboxes" / f"{name}.json"
        try:
            found = [json.loads(line) for line in archive.read_text().splitlines()] if archive.exists() else []
            return found + json.loads(inbox.read_text())
        except (OSError, ValueError):
            return []

    def reports(self, team, name, lead="team-lead"):
        """Returns the results of a member's turns, from its idle notices to the lead."""
        frames = [json.loads(entry["text"]) for entry in self.inbox(team, lead) if entry["text"].startswith("{")]
        idle = [frame for frame in frames if frame.get("type") == "idle_notification" and frame.get("from") == name]
        return [frame.get("result") or frame.get("failureReason") or frame.get("summary") or "" for frame in idle]

    def approve_all(self):
        """Answers every open request, and returns them."""
        asked = [one for one in self.read("requests") if one["state"]["is"] == "open"]
        for one in asked:
            self.swarm("approve", one["id"], check=False)
        return asked

    def processes(self):
        """Returns the processes of this rig, by its mark in their environment."""
        found = {}
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit() or int(entry.name) == os.getpid():
                continue
            try:
                env = (entry / "environ").read_bytes()
                if f"{MARK}={self.directory}\0".encode() in env:
                    found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()[:120]
            except OSError:
                continue
        return found

    def close(self):
        """Terminates what is left. Members hide their environment, so swarm itself stops them."""
        for team in self.read("team", "list", check=False) or []:
            self.swarm("--team", team["name"], "kill", "--all", check=False)
        self.run(["tmux", "-S", str(self.directory / "tmux"), "kill-server"], check=False)
        for pid in self.processes():
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                continue
        for process in self.started:
            process.wait()
