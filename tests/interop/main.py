"""Tries swarm with installed agent programs: `main.py PROGRAMS SWARM SCRATCH [NAME…]`, called by `scripts/interop`,
which first checks the names: `main.py --check [NAME…]`."""

import shutil
import subprocess
import sys
import time
from pathlib import Path

import tries
from mock import Mock
from programs import PACKAGES, PROGRAMS, version_of
from rig import Failed, Rig

TRIES = {f"{one.name}": (one.package, lambda rig, one=one: tries.member(rig, one)) for one in PROGRAMS}
TRIES.update({
    "editor": ("acpx", tries.editor),
    "claude-peers": (PACKAGES[0], tries.peers),
    "claude-joined": (PACKAGES[0], tries.joined),
    "claude-leads": (PACKAGES[0], tries.leads),
    "claude-mcp": (PACKAGES[0], tries.mcp_claude),
    "claude-mcp-member": (PACKAGES[0], tries.mcp_member),
    "codex-mcp": (PACKAGES[6], tries.mcp_codex),
    "gemini-mcp": (PACKAGES[2], tries.mcp_gemini),
    "mixed": (PACKAGES[0], tries.mixed),
    "storm": (PACKAGES[0], tries.storm),
})


# What a program that behaves unexpectedly causes. It ends one try, not all of them.
ERRORS = (Failed, subprocess.TimeoutExpired, ValueError, KeyError, IndexError)


def attempt(name, action, programs, swarm, scratch):
    """Returns whether a try passed, and why not or what it counted."""
    directory = Path(scratch) / name
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    rig = Rig(directory, programs, swarm, Mock(directory / "requests.jsonl"))
    try:
        try:
            return True, action(rig)
        except ERRORS:
            (directory / "screen.txt").write_text(rig.screen())
            raise
        finally:
            rig.close()
    except Failed as error:
        return False, str(error)
    except ERRORS as error:
        return False, f"{type(error).__name__}: {error}"


def check(names):
    unknown = [name for name in names if name not in TRIES]
    if unknown:
        sys.exit(f"unknown: {' '.join(unknown)}; known: {' '.join(TRIES)}")


def main():
    if sys.argv[1:2] == ["--check"]:
        check(sys.argv[2:])
        return
    programs, swarm, scratch, *names = sys.argv[1:]
    check(names)
    failed = 0
    print(f"{'TRY':<18} {'VERSION':<10} {'SECONDS':>7}  RESULT", flush=True)
    for name in names or TRIES:
        package, action = TRIES[name]
        start = time.monotonic()
        passed, words = attempt(name, action, programs, swarm, scratch)
        failed += not passed
        result = ": ".join(["passed" if passed else "failed", *([words] if words else [])])
        print(f"{name:<18} {version_of(programs, package):<10} {time.monotonic() - start:>7.1f}  {result}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
