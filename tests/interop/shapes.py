"""Shapes of the files, frames, arguments, variables and tools of a Claude Code release: `shapes.py PROGRAMS SWARM SCRATCH
[--save]` compares them with the kept ones in `shapes.json`, or keeps them."""

import json
import re
import shutil
import sys
import time
from pathlib import Path

import tries
from mock import Mock
from programs import PACKAGES, claude, version_of
from rig import Failed, Rig

KEPT = Path(__file__).parent / "shapes.json"


def shape(value):
    """Returns the type of a value, with the names of its fields."""
    if isinstance(value, dict):
        return {name: shape(one) for name, one in sorted(value.items())}
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    return type(value).__name__


def merge(into, value):
    """Adds fields that other values of the same kind have."""
    for name, one in value.items():
        into.setdefault(name, one)
    return into


def of_inbox(entries):
    """Returns the shapes of a program's messages and control frames."""
    found = {"entry": {}, "frames": {}}
    for entry in entries:
        if "msgV" not in entry:
            continue
        merge(found["entry"], shape(entry))
        try:
            frame = json.loads(entry["text"])
        except ValueError:
            continue
        if isinstance(frame, dict) and "type" in frame:
            # The input is that of the tool.
            fields = {**shape(frame), "input": "any"} if "input" in frame else shape(frame)
            merge(found["frames"].setdefault(frame["type"], {}), fields)
    return found


def of_requests(requests):
    """Returns the headers and the tools of requests."""
    found = {"betas": set(), "tools": {}}
    for one in requests:
        if one.get("api") != "messages":
            continue
        headers = {name.lower(): value for name, value in one["headers"].items()}
        found["betas"].update(headers.get("anthropic-beta", "").split(","))
        for tool in one["body"].get("tools") or []:
            found["tools"][tool["name"]] = sorted(tool.get("input_schema", {}).get("properties", {}))
    return {"betas": sorted(found["betas"] - {""}), "tools": found["tools"]}


def of_session(rig):
    """Returns the record of a session and its key, by which other sessions write to it."""
    directory = rig.directory / "config/sessions"
    records = [json.loads(path.read_text()) for path in directory.glob("*.json")]
    found = {}
    for record in records:
        merge(found, shape({name: one for name, one in record.items() if name not in ["status", "statusUpdatedAt", "updatedAt"]}))
    keys = [json.loads(path.read_text()) for path in directory.glob("*.key")]
    return {"record": found, "key": shape(keys[0]), "protocol": f"{max(one['peerProtocol'] for one in records)}"}


def of_process(rig, name):
    """Returns the options and the variables with which a lead starts a teammate."""
    def found():
        for pid in rig.processes():
            try:
                words = Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
                env = Path(f"/proc/{pid}/environ").read_bytes().decode().split("\0")
            except OSError:
                continue
            if "--agent-id" in words and any(word.startswith(f"{name}@") for word in words) and "claude" in words[0]:
                names = [variable.split("=")[0] for variable in env]
                ours = re.compile("CLAUDE|ANTHROPIC|DISABLE_|IS_SANDBOX")
                return {"arguments": [word for word in words if word.startswith("--")],
                        "environment": sorted(name for name in names if ours.match(name))}
        return None
    return rig.wait("teammate of Claude Code", found, 30)


def led(rig):
    """A team of Claude Code with a teammate of its own."""
    rig.in_terminal(["claude", *tries.FLAGS, "--teammate-mode", "tmux"], {**claude(rig), **tries.TEAMS})
    teams = rig.directory / "config/teams"
    team = rig.wait("team of the session", lambda: next(teams.glob("session-*"), None), 30)
    agent = {"name": "pam", "description": "a test", "prompt": "<<say: noted>>"}
    rig.type(f"[[tool Agent: {json.dumps(agent)}]] [[say: done]]")
    process = of_process(rig, "pam")

    def members():
        try:
            config = json.loads((team / "config.json").read_text())
        except (OSError, ValueError):
            return None
        return config if any(member.get("tmuxPaneId", "").startswith("%") for member in config["members"]) else None

    config = rig.wait("teammate in the roster", members, 30)
    found = {"lead": {}, "member": {}, **process}
    for member in config.pop("members"):
        kind = "lead" if member["name"] == "team-lead" else "member"
        merge(found[kind], {name: one for name, one in shape(member).items() if name != "isActive"})
    found["config"] = shape(config)
    found["session"] = of_session(rig)
    return {**found, **of_requests(rig.mock.requests)}


def captured(programs, swarm, scratch):
    """Returns the shapes of the installed release."""
    found = {}
    for name, action in [("joined", tries.joined), ("led", led)]:
        directory = Path(scratch) / name
        shutil.rmtree(directory, ignore_errors=True)
        rig = Rig(directory, programs, swarm, Mock())
        try:
            result = action(rig)
            found.update(of_inbox(rig.inbox("demo", "team-lead")) if name == "joined" else result)
        except Failed as error:
            sys.exit(f"{name}: {error}\n{rig.screen()}")
        finally:
            rig.close()
    return found


def flat(value, path=""):
    """Returns the leaves of a shape as lines."""
    if isinstance(value, dict) and value:
        return [line for name, one in value.items() for line in flat(one, f"{path}.{name}" if path else name)]
    if isinstance(value, list) and value and not isinstance(value[0], dict):
        return [f"{path}: {one}" for one in value]
    if isinstance(value, list) and value:
        return flat(value[0], f"{path}[]")
    return [f"{path}: {value}"]


def main():
    programs, swarm, scratch, *more = sys.argv[1:]
    start, version = time.monotonic(), version_of(programs, PACKAGES[0])
    found = captured(programs, swarm, scratch)
    if "--save" in more:
        KEPT.write_text(json.dumps({"version": version, **found}, indent=1) + "\n")
        print(f"kept the shapes of Claude Code {version}")
        return
    kept = json.loads(KEPT.read_text())
    before, now = flat({name: one for name, one in kept.items() if name != "version"}), flat(found)
    lines = [f"- {line}" for line in before if line not in now] + [f"+ {line}" for line in now if line not in before]
    print("\n".join(lines) or "no differences")
    print(f"Claude Code {version} compared with {kept['version']}: {len(lines)} differences, {time.monotonic() - start:.0f} s")
    sys.exit(1 if lines else 0)


if __name__ == "__main__":
    main()
