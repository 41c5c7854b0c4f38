"""What is tried: each function raises `Failed` if a step does not succeed."""

import json
import os
import re
import signal
import threading
import time
from collections import Counter
from pathlib import Path

from programs import claude
from rig import Failed

# A server with the tool `add`.
NOTES = Path(__file__).parent / "notes.py"
# Length of the storm, in seconds.
STORM = 60
FLAGS = ["--permission-mode", "default", "--model", "sonnet"]
TEAMS = {"CLAUDECODE": "1", "CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS": "1"}


def check(condition, what):
    if not condition:
        raise Failed(what)


def message(to, text):
    """Returns a step that sends a message with Claude Code's tool."""
    return "[[tool SendMessage: " + json.dumps({"to": to, "message": text, "summary": text}) + "]]"


def spawn(rig, name, runtime, env, prompt, *more):
    words = [word for key, value in env.items() for word in ("--env", f"{key}={value}")]
    rig.swarm("spawn", name, "--runtime", runtime, "--backend", "headless", *words, *more, "--prompt", prompt)


def nothing_left(rig):
    rig.wait("end of all processes", lambda: not rig.processes(), 15)


def member(rig, program):
    """A member that swarm runs: one turn with a command and a call of an MCP server that are asked about once, and a message to a
    peer."""
    env = program.configure(rig)
    notes = rig.directory / "notes.txt"
    rig.write("config/.mcp.json", {"mcpServers": {"notes": {"command": "python3", "args": [str(NOTES), str(notes)]}}})
    rig.swarm("team", "create", "demo")
    rig.swarm("team", "add", "peer", "--external")
    spawn(rig, "bob", program.runtime, env, "[[shell: touch by-bob.txt]] [[note add: {\"text\": \"remember\"}]] [[send peer: hello peer]] [[say: ALL DONE]]")
    asked = []

    def answered():
        asked.extend(rig.approve_all())
        return rig.reports("demo", "bob")

    reports = rig.wait("report", answered)
    check("ALL DONE" in reports[-1], f"it reported {reports}")
    check(any("touch by-bob.txt" in json.dumps(one["input"]) for one in asked), f"no question about the command: {asked}")
    check((rig.project / "by-bob.txt").exists(), "the command did not run")
    calls = [(one["tool"], one["input"]) for one in asked if one["tool"].startswith(("mcp__", "acp__"))]
    check(calls == [("mcp__notes__add", {"text": "remember"})], f"questions about calls of MCP servers: {calls}")
    check(notes.exists() and notes.read_text() == "remember\n", "the server was not called once")
    check("NOTED remember" in json.dumps([one["body"] for one in rig.mock.requests if "body" in one]), "no result of the server")
    life = json.loads((rig.directory / "config/teams/demo/swarm/members/bob/life").read_text())
    check(life["confined"], "it does not run in the sandbox")
    sent = [(entry["from"], entry["text"]) for entry in rig.inbox("demo", "peer")]
    check(("bob", "hello peer") in sent, f"the peer got {sent}")
    rig.swarm("shutdown", "bob")
    nothing_left(rig)


def joined(rig):
    """Claude Code in a terminal that joined the team by itself: mail, a question, a plan, shutdown."""
    env = {**claude(rig), **TEAMS}
    rig.swarm("team", "create", "demo")
    rig.swarm("team", "add", "carl", "--external")
    identity = ["--agent-id", "carl@demo", "--agent-name", "carl", "--team-name", "demo", "--agent-color", "green"]
    rig.in_terminal(["claude", *identity, *FLAGS], env)
    rig.swarm("send", "carl", message("team-lead", "hello lead") + " [[say: noted]]")
    got = lambda text: any(entry["text"] == text for entry in rig.inbox("demo", "team-lead"))
    rig.wait("message to the lead", lambda: got("hello lead"), 30)
    # A question may be lost: Claude Code reads the roster while it rewrites it. Its model then gets an error.
    for attempt in range(4):
        rig.swarm("send", "carl", f"[[shell: touch by-carl.txt]] [[say: made {attempt}]]")
        ended = lambda: f"made {attempt}" in rig.reports("demo", "carl")
        asked = rig.wait("question", lambda: rig.approve_all() or ended(), 30)
        rig.wait("report", ended, 30)
        if asked is not True:
            break
        check("could not be delivered" in json.dumps(rig.mock.requests[-1]["body"]), "the command ran without a question")
    check((rig.project / "by-carl.txt").exists(), "the command did not run")
    rig.swarm("team", "add", "pam", "--external")
    identity = ["--agent-id", "pam@demo", "--agent-name", "pam", "--team-name", "demo", "--plan-mode-required", "--model", "sonnet"]
    rig.in_terminal(["claude", *identity], env, session="pam")
    rig.swarm("send", "pam", "[[tool ListAgents: {}]] [[plan: touch planned.txt]] [[tool ExitPlanMode: {}]] [[say: waiting]]")
    # An answer before the end of this turn may not reach its model.
    rig.mock.delay = 3.0
    plan = lambda: [one for one in rig.read("requests") if one["state"]["is"] == "open" and one["from"] == "pam"]
    rig.swarm("approve", rig.wait("plan", plan, 30)[0]["id"])
    seen = lambda text: any(text in json.dumps(one["body"].get("messages", [])) for one in rig.mock.requests if "body" in one)
    rig.wait("approved plan", lambda: seen("Plan Approved"), 30)
    rig.mock.delay = 0.0
    rig.swarm("shutdown", "pam", "--timeout", "30")
    rig.swarm("shutdown", "carl", "--timeout", "30")
    check(all(one["name"] != "carl" for one in rig.read("status")["members"]), "carl is still a member")


def leads(rig):
    """A team that Claude Code leads, with a member of swarm: mail in both directions, a task, a question in Claude Code's
    dialog, a plan, death, shutdown."""
    env = {**claude(rig), **TEAMS}
    rig.in_terminal(["claude", *FLAGS], env)
    teams = rig.directory / "config/teams"
    team = rig.wait("team of the session", lambda: next(teams.glob("session-*"), None), 30).name
    in_team = lambda *args, **more: rig.swarm("--team", team, *args, **more)
    in_team("spawn", "zed", "--backend", "headless", "--model", "sonnet",
            "--prompt", message("team-lead", "hello from zed") + " [[say: ZED DONE]]", env=model(rig))
    rig.wait("turn of zed", lambda: any(one.get("step") == ("say", "", "ZED DONE") for one in rig.mock.requests), 30)
    in_model = lambda text: sum(text in json.dumps(one["body"].get("messages", [])) for one in rig.mock.requests if "body" in one)
    rig.type(message("zed", "hello zed") + " [[say: LEAD DONE]]")
    rig.wait("message to zed", lambda: any("hello zed" in json.dumps(one["body"].get("messages", [])) and "zed" in
             json.dumps(one["body"].get("system", "")) for one in rig.mock.requests if "body" in one), 30)
    # Claude Code reads its inbox only after it has spawned a teammate.
    agent = json.dumps({"name": "pam", "description": "a test", "prompt": "<<say: noted>>"})
    rig.type(f"[[tool Agent: {agent}]] [[say: PAM]]")
    rig.wait("message of zed", lambda: in_model("hello from zed") > 1, 60)
    in_team("task", "create", "tidy up", "--owner", "zed")
    rig.wait("task of zed", lambda: in_model("tidy up"), 30)
    in_team("send", "zed", "[[shell: touch by-zed.txt]] [[say: asked]]")
    rig.wait("dialog of the question", lambda: "Do you want to" in rig.screen(), 30)
    # A new dialog ignores keys for a moment.
    rig.wait("answer to the question", lambda: rig.tmux("send-keys", "Enter") and (rig.project / "by-zed.txt").exists(), 30)
    # The model of the lead answers a plan.
    plan = json.dumps({"plan": "1. touch planned.txt"})
    in_team("spawn", "pia", "--plan", "--backend", "headless", "--model", "sonnet",
            "--prompt", f"[[tool ExitPlanMode: {plan}]] [[shell: touch planned.txt]] [[say: PIA DONE]]", env=model(rig))
    rig.wait("dialog of the planned command", lambda: "planned.txt" in rig.screen() and "Do you want to" in rig.screen(), 30)
    rig.wait("answer to the question", lambda: rig.tmux("send-keys", "Enter") and (rig.project / "planned.txt").exists(), 30)
    in_team("shutdown", "pia")
    pid = next(one["pid"] for one in rig.read("--team", team, "ps") if one.get("member") == "zed")
    os.kill(pid, signal.SIGKILL)
    in_team("status")
    rig.wait("notice of the death", lambda: in_model("zed died"), 30)
    in_team("spawn", "zed", "--backend", "headless", "--model", "sonnet", "--prompt", "[[say: again]]", env=model(rig))
    in_team("shutdown", "zed")
    check(team in [one["name"] for one in rig.read("team", "list")], "the team of the session is gone")


# The steps of an MCP client that leads a team.
LEAD = ('[[call wait_for_mail: {"seconds": 5}]] [[call send: {"to": "peer", "text": "hello peer"}]] '
        '[[call task_create: {"subject": "tidy up"}]] [[say: ALL DONE]]')


def team_with_mail(rig):
    """Creates a team with a message for its lead."""
    rig.swarm("team", "create", "demo")
    rig.swarm("team", "add", "peer", "--external")
    rig.swarm("send", "team-lead", "hello lead", "--from", "peer")


def mcp_claude(rig):
    """Claude Code with `swarm mcp` as the lead of a team."""
    env = claude(rig)
    team_with_mail(rig)
    server = {"command": rig.swarm_path, "args": ["mcp", "--team", "demo"]}
    config = rig.write("mcp.json", {"mcpServers": {"swarm": server}})
    done = rig.run(["claude", "-p", LEAD, "--mcp-config", str(config), "--allowedTools", "mcp__swarm", *FLAGS], env=env)
    lead_did(rig, done)


def mcp_member(rig):
    """Claude Code with `swarm mcp` as a member."""
    env = claude(rig)
    rig.swarm("team", "create", "demo")
    rig.swarm("team", "add", "carl", "--external")
    rig.swarm("task", "create", "tidy up")
    rig.swarm("send", "carl", "hello carl")
    server = {"command": rig.swarm_path, "args": ["mcp", "--team", "demo", "--as", "carl"]}
    config = rig.write("mcp.json", {"mcpServers": {"swarm": server}})
    steps = ('[[call wait_for_mail: {"seconds": 5}]] [[call send: {"to": "team-lead", "text": "hello lead"}]] [[call task_claim: {"id": 1}]] '
             '[[call task_update: {"id": 1, "status": "completed", "result": "done"}]] [[say: ALL DONE]]')
    done = rig.run(["claude", "-p", steps, "--mcp-config", str(config), "--allowedTools", "mcp__swarm", *FLAGS], env=env)
    check("ALL DONE" in done.stdout, f"it printed {done.stdout[-300:]}{done.stderr[-300:]}")
    sent = [(entry["from"], entry["text"]) for entry in rig.inbox("demo", "team-lead")]
    check(("carl", "hello lead") in sent, f"the lead got {sent}")
    task = rig.read("task", "list")[0]
    check((task["status"], task["owner"]) == ("completed", "carl"), f"the task is {task}")
    check("hello carl" in json.dumps([one["body"] for one in rig.mock.requests if "body" in one]), "the mail did not reach the model")


def mcp_gemini(rig):
    """Gemini CLI with `swarm mcp` as the lead of a team."""
    from programs import gemini

    env = gemini(rig)
    settings = rig.directory / "home/.gemini/settings.json"
    value = json.loads(settings.read_text())
    value["mcpServers"] = {"swarm": {"command": rig.swarm_path, "args": ["mcp", "--team", "demo"], "env": {"CLAUDE_CONFIG_DIR": rig.env["CLAUDE_CONFIG_DIR"]}}}
    settings.write_text(json.dumps(value))
    team_with_mail(rig)
    done = rig.run(["gemini", "--yolo", "--skip-trust", "-p", LEAD], env=env)
    lead_did(rig, done)


def mcp_codex(rig):
    """Codex with `swarm mcp` as the lead of a team."""
    from programs import codex

    env = codex(rig)
    config = rig.directory / "home/codex/config.toml"
    # The policy that codex-acp needs is refused by Codex itself.
    config.write_text(config.read_text().replace('approval_policy = "untrusted"', "") + f"""
[mcp_servers.swarm]
command = "{rig.swarm_path}"
args = ["mcp", "--team", "demo"]
env = {{ CLAUDE_CONFIG_DIR = "{rig.env['CLAUDE_CONFIG_DIR']}" }}
""")
    team_with_mail(rig)
    command = ["codex", "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", LEAD]
    lead_did(rig, rig.run(command, env=env))


def lead_did(rig, done):
    check("ALL DONE" in done.stdout, f"it printed {done.stdout[-300:]}{done.stderr[-300:]}")
    check(any(entry["text"] == "hello peer" for entry in rig.inbox("demo", "peer")), "the peer got no message")
    check("tidy up" in json.dumps(rig.read("task", "list")), "no task was created")
    seen = json.dumps([one["body"] for one in rig.mock.requests if "body" in one])
    check("hello lead" in seen, "the mail did not reach the model")
    check(all(entry.get("read") for entry in rig.inbox("demo", "team-lead")), "the mail is unread")


def model(rig):
    """The environment of swarm's own agents."""
    return {"ANTHROPIC_API_KEY": "none", "ANTHROPIC_BASE_URL": rig.mock.url}


def editor(rig):
    """A client of the Agent Client Protocol with `swarm acp` as its agent: questions, an MCP server of the client, its mode, a
    cancelled turn, an earlier session."""
    env = model(rig)
    notes = rig.directory / "notes.txt"
    server = {"type": "stdio", "name": "notes", "command": "python3", "args": [str(NOTES), str(notes)], "env": []}
    servers = rig.write("acpx.json", {"mcpServers": [server]})
    client = ["acpx", "--mcp-config", str(servers), "--agent", f"{rig.swarm_path} acp --model sonnet", "--cwd", str(rig.project), "--ttl", "5"]
    prompt = lambda text, *flags: rig.run([*client, *flags, "prompt", text], env=env).stdout
    rig.run([*client, "sessions", "new"], env=env)
    allowed = prompt("[[shell: touch allowed.txt]] [[say: ALLOWED]]", "--approve-all")
    check("ALLOWED" in allowed and (rig.project / "allowed.txt").exists(), f"it printed {allowed[-300:]}")
    refused = prompt("[[shell: touch refused.txt]] [[say: REFUSED]]", "--deny-all")
    check("REFUSED" in refused and not (rig.project / "refused.txt").exists(), f"it printed {refused[-300:]}")
    noted = prompt('[[note add: {"text": "remember"}]] [[say: NOTED IT]]', "--approve-all")
    check("NOTED IT" in noted and notes.read_text() == "remember\n", f"it printed {noted[-300:]}")
    rig.run([*client, "set-mode", "plan"], env=env)
    prompt("[[shell: touch planned.txt]] [[say: PLANNED]]", "--approve-all")
    check(not (rig.project / "planned.txt").exists(), "a command ran in plan mode")
    rig.run([*client, "set-mode", "default"], env=env)
    rig.mock.delay = 60.0
    asked = len(rig.mock.requests)
    slow = rig.start([*client, "prompt", "[[say: too late]]"], env=env)
    rig.wait("request", lambda: len(rig.mock.requests) > asked, 30)
    rig.run([*client, "cancel"], env=env)
    rig.mock.delay = 0.0
    check(slow.wait(20) == 0, "the cancelled prompt failed")
    # The client ends its agent after some seconds without a prompt; the next one loads the session.
    nothing_left(rig)
    check("LOADED" in prompt("[[say: LOADED]]"), "no answer in the earlier session")
    seen = json.dumps(rig.mock.requests[-1]["body"])
    check("ALLOWED" in seen and "The turn was interrupted here" in seen, "the earlier session was not loaded")
    rig.run([*client, "sessions", "close"], env=env)
    nothing_left(rig)


def peers(rig):
    """A lead and a session of Claude Code write to each other, and another session refuses a message."""
    env = claude(rig)
    runtime = rig.directory / "run"
    runtime.mkdir(mode=0o700)
    rig.in_terminal(["claude", *FLAGS], {**env, "XDG_RUNTIME_DIR": str(runtime)}, session="claude")
    lead = [rig.swarm_path, "lead", "--team", "demo", "--backend", "headless", "--model", "sonnet"]
    rig.in_terminal(lead, model(rig), session="lead")
    listed = lambda: {bool(one.get("program")): one for one in rig.read("peers")}
    both = rig.wait("two sessions", lambda: listed() if len(listed()) == 2 else None, 30)
    session = both[True]
    # While it starts, it holds messages.
    rig.wait("prompt of Claude Code", lambda: "❯" in rig.screen("claude"), 30)
    check(session["program"].startswith("Claude Code "), f"sessions: {both}")

    def in_envelope(text):
        """Returns whether a model got a text as a message of another session."""
        return re.search(r"<cross-session-message [^>]*>\\n" + text, json.dumps([one["body"] for one in rig.mock.requests if "body" in one]))

    sent = rig.read("send", session["address"], "from a person")
    check(sent["status"] == "queued", f"sent: {sent}")
    rig.wait("message of the person", lambda: in_envelope("from a person"), 30)
    rig.in_terminal(["claude", *FLAGS, "--settings", '{"crossSessionInbound": "refuse"}'], {**env, "XDG_RUNTIME_DIR": str(runtime)}, session="closed")
    closed = rig.wait("third session", lambda: [one for one in rig.read("peers") if one.get("program") and one["pid"] != session["pid"]], 30)
    refused = rig.swarm("send", closed[0]["address"], "from a person", check=False)
    check(refused.returncode == 5 and "not accepting" in refused.stderr, f"sent to a session that refuses: {refused}")
    # Claude Code writes to the name that its ListAgents shows.
    rig.swarm("send", "team-lead", message(session["address"], "from the lead") + " [[say: noted]]")
    rig.wait("message of the lead", lambda: in_envelope("from the lead"), 30)
    rig.type(f"[[tool ListAgents: {{}}]] {message('swarm-demo', 'from claude')} [[say: done]]", "claude")
    rig.wait("message of Claude Code", lambda: in_envelope("from claude"), 30)


def mixed(rig):
    """A run with members of swarm, Claude Code and an ACP agent: tasks with dependencies, mail, questions, one death, the end."""
    from programs import codex

    env = {"carl": claude(rig), "cody": codex(rig)}
    report = rig.directory / "report.json"
    with open(report, "wb") as stdout:
        to_all = " ".join(message(name, f"from the lead to {name}") for name in ["carl", "cody", "sam"])
        # The run cannot end while a question is open.
        prompt = f"[[shell: touch by-lead.txt]] {to_all} [[say: LEAD DONE]]"
        command = [rig.swarm_path, "run", prompt, "--team", "demo", "--backend", "headless", "--model", "sonnet", "--output", "json"]
        run = rig.start(command, env=model(rig), stdout=stdout)

    def answer(name):
        """Approves the question of a member."""
        asked = lambda: [one for one in rig.read("requests") if one["state"]["is"] == "open" and one["from"] == name]
        found = rig.wait(f"question of {name}", lambda: run.poll() is None and asked())
        rig.swarm("approve", found[0]["id"])

    def until_report(name, text):
        said = lambda: any(f"{name} {text}" in report for report in rig.reports("demo", name))
        rig.wait(f"report of {name}", said)

    rig.wait("team of the run", lambda: (rig.directory / "config/teams/demo/swarm/requests").is_dir(), 30)
    rig.wait("question of the lead", lambda: any(one["from"] == "team-lead" for one in rig.read("requests")), 30)
    for number in [1, 2, 3]:
        blocked = ["--blocked-by", str(number - 1)] if number > 1 else []
        rig.swarm("task", "create", f"task {number}", *blocked)
    work = lambda name, to, task: (f"[[shell: touch by-{name}.txt]] [[send {to}: from {name} to {to}]] [[send team-lead: from {name} to the lead]] "
                                   f'[[call task_claim: {{"id": {task}}}]] '
                                   f'[[call task_update: {{"id": {task}, "status": "completed", "result": "done"}}]] [[say: {name} DONE]]')
    # The receivers exist before the first message.
    spawn(rig, "carl", "claude", env["carl"], "[[say: ready]]")
    spawn(rig, "cody", "acp:codex-acp", env["cody"], "[[say: ready]]")
    rig.swarm("spawn", "sam", "--backend", "headless", "--model", "sonnet", "--prompt", "[[say: ready]]", env=model(rig))
    rig.swarm("send", "carl", work("carl", "cody", 1))
    rig.swarm("send", "cody", work("cody", "sam", 2))
    update = json.dumps({"taskId": "3", "status": "completed", "result": "done"})
    claim = json.dumps({"taskId": "3", "status": "in_progress", "owner": "sam"})
    rig.swarm("send", "sam", f"[[shell: touch by-sam.txt]] {message('carl', 'from sam to carl')} {message('team-lead', 'from sam to the lead')} "
                             f"[[tool TaskUpdate: {claim}]] [[tool TaskUpdate: {update}]] [[say: sam DONE]]")
    answer("team-lead")
    for name in ["carl", "cody"]:
        answer(name)
        until_report(name, "DONE")
    # One is killed with a task in progress, which another one then completes.
    rig.swarm("task", "create", "task 4")
    rig.swarm("send", "cody", '[[call task_claim: {"id": 4}]] [[shell: touch lost.txt]] [[say: never]]')
    rig.wait("claim", lambda: rig.read("task", "list")[3]["status"] == "in_progress")
    rig.wait("question of cody", lambda: any(one["from"] == "cody" and one["state"]["is"] == "open" for one in rig.read("requests")))
    os.kill(next(one["pid"] for one in rig.read("ps") if one.get("member") == "cody"), signal.SIGKILL)
    rig.wait("death of cody", lambda: any(one["name"] == "cody" and one["state"] == "dead" for one in rig.read("status")["members"]), 15)
    said = lambda text: sum(text in json.dumps(one["body"]) for one in rig.mock.requests if "body" in one)
    rig.wait("notice of the death", lambda: said("cody died") or said("cody has died") or said("cody ended"), 15)
    rig.swarm("send", "carl", '[[call task_claim: {"id": 4}]] '
                              '[[call task_update: {"id": 4, "status": "completed", "result": "done"}]] [[say: carl took over]]')
    until_report("carl", "took over")
    answer("sam")
    check(run.wait(60) == 0, f"the run ended with {run.returncode}")
    for name in ["lead", "carl", "cody", "sam"]:
        check((rig.project / f"by-{name}.txt").exists(), f"the command of {name} did not run")
    tasks = rig.read("task", "list")
    check([task["status"] for task in tasks] == ["completed"] * 4, f"tasks: {tasks}")
    seen = json.dumps([one["body"] for one in rig.mock.requests if "body" in one])
    ways = ["from carl to cody", "from cody to sam", "from sam to carl"]
    ways += [f"from {name} to the lead" for name in ["carl", "cody", "sam"]] + [f"from the lead to {name}" for name in ["carl", "cody", "sam"]]
    for text in ways:
        check(seen.count(text) > 1, f"`{text}` did not reach its receiver's model")
    check(json.loads(report.read_text())["result"], "the run has no result")
    nothing_left(rig)


def failed_sends(rig):
    """Returns the messages of which Claude Code has told its model that they were not sent."""
    sent, failed = {}, set()
    for one in rig.mock.requests:
        for entry in one.get("body", {}).get("messages", []):
            for block in entry["content"] if isinstance(entry["content"], list) else []:
                if block["type"] == "tool_use" and block["name"] == "SendMessage":
                    sent[block["id"]] = block["input"]["message"]
                elif block["type"] == "tool_result" and "nothing was sent" in json.dumps(block):
                    failed.add(sent.get(block["tool_use_id"]))
    return failed


def storm(rig):
    """Two Claude Code processes and two programs of swarm write to one inbox for a minute, while another reads it."""
    env, sent, until = {**claude(rig), **TEAMS}, [], time.monotonic() + STORM
    rig.swarm("team", "create", "demo")
    rig.swarm("team", "add", "box", "--external")
    lock, problems, found = threading.Lock(), [], Counter()

    def guarded(work):
        try:
            work()
        except (Failed, ValueError) as error:
            problems.append(str(error))

    def by_claude(name):
        batch = 0
        while time.monotonic() < until:
            batch += 1
            texts = [f"{name} {batch} {number}" for number in range(20)]
            rig.swarm("send", name, " ".join(message("box", text) for text in texts) + f" [[say: batch {batch}]]")
            rig.wait(f"batch {batch} of {name}", lambda: f"batch {batch}" in rig.reports("demo", name), 60)
            with lock:
                sent.extend(texts)

    def by_swarm(name):
        number = 0
        while time.monotonic() < until:
            number += 1
            rig.swarm("send", "box", f"{name} {number}")
            with lock:
                sent.append(f"{name} {number}")

    def read():
        found.update(entry["text"] for entry in rig.read("inbox", "box", "--unread", "--ack"))

    def reader():
        while time.monotonic() < until:
            read()

    for name in ["carl", "dora"]:
        rig.swarm("team", "add", name, "--external")
        identity = ["--agent-id", f"{name}@demo", "--agent-name", name, "--team-name", "demo"]
        rig.in_terminal(["claude", *identity, *FLAGS], env, session=name)
    works = [lambda name=name: by_claude(name) for name in ["carl", "dora"]]
    works += [lambda name=name: by_swarm(name) for name in ["one", "two"]] + [reader]
    threads = [threading.Thread(target=guarded, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    check(not problems, f"{len(problems)} errors, first: {problems[:1]}")
    read()
    # A message of which Claude Code says that it was not sent must not have arrived.
    failed = failed_sends(rig)
    wrong = [text for text in failed if found[text]]
    check(not wrong, f"Claude Code reports that these were not sent: {wrong[:3]}")
    sent = [text for text in sent if text not in failed]
    lost, doubled = [text for text in sent if not found[text]], [text for text, count in found.items() if count > 1]
    check(not lost and not doubled, f"of {len(sent)} messages {len(lost)} lost, {len(doubled)} doubled: {(lost + doubled)[:3]}")
    by_claude_code = sum(text.startswith(("carl", "dora")) for text in sent)
    return f"{len(sent)} messages, {by_claude_code} of them by Claude Code, which reports {len(failed)} more as not sent"
