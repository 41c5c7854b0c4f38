"""The agent programs: how each is configured to use the model server, without a login and without other addresses."""

from dataclasses import dataclass
from pathlib import Path
from typing import Callable

PACKAGES = [
    "@anthropic-ai/claude-code",
    "@zed-industries/codex-acp",
    "@google/gemini-cli",
    "opencode-ai",
    "@qwen-code/qwen-code",
    "@agentclientprotocol/claude-agent-acp",
    "@openai/codex",
]


@dataclass
class Program:
    """A program that swarm runs as a member. `configure` writes its files and returns its environment."""

    name: str
    package: str
    runtime: str
    configure: Callable


def claude(rig):
    """Claude Code's environment; its state says that the first-run dialogs are done."""
    project = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
    rig.write("config/.claude.json", {"hasCompletedOnboarding": True, "theme": "dark", "projects": {str(rig.project): project}})
    return {
        "ANTHROPIC_AUTH_TOKEN": "none",
        "ANTHROPIC_BASE_URL": rig.mock.url,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "IS_SANDBOX": "1",
    }


def claude_agent_acp(rig):
    return {**claude(rig), "CLAUDE_CODE_EXECUTABLE": f"{rig.programs}/claude"}


def codex(rig):
    rig.write("home/codex/config.toml", f"""
model = "mock"
model_provider = "mock"
approval_policy = "untrusted"
sandbox_mode = "read-only"
[model_providers.mock]
name = "mock"
base_url = "{rig.mock.url}/v1"
wire_api = "responses"
env_key = "MOCK_KEY"
""")
    return {"CODEX_HOME": str(rig.directory / "home/codex"), "MOCK_KEY": "none"}


def gemini(rig):
    rig.write("home/.gemini/settings.json", {
        "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"disableAutoUpdate": True},
    })
    return {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": rig.mock.url, "GEMINI_MODEL": "gemini-2.5-flash"}


def opencode(rig):
    path = rig.write("opencode.json", {
        "provider": {"mock": {
            "npm": "@ai-sdk/openai-compatible",
            "name": "mock",
            "options": {"baseURL": f"{rig.mock.url}/v1", "apiKey": "none"},
            "models": {"mock": {"name": "mock"}},
        }},
        "model": "mock/mock",
        "small_model": "mock/mock",
        "permission": {"*": "ask"},
        "autoupdate": False,
        "share": "disabled",
    })
    return {"OPENCODE_CONFIG": str(path), "OPENCODE_DISABLE_MODELS_FETCH": "1"}


def qwen(rig):
    rig.write("home/.qwen/settings.json", {
        "security": {"auth": {"selectedType": "openai"}, "folderTrust": {"enabled": False}},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"disableAutoUpdate": True},
    })
    return {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": f"{rig.mock.url}/v1", "OPENAI_MODEL": "mock"}


PROGRAMS = [
    Program("claude", PACKAGES[0], "claude", claude),
    Program("codex-acp", PACKAGES[1], "acp:codex-acp", codex),
    Program("gemini", PACKAGES[2], "acp:gemini", gemini),
    Program("opencode", PACKAGES[3], "acp:opencode", opencode),
    Program("qwen", PACKAGES[4], "acp:qwen", qwen),
    Program("claude-agent-acp", PACKAGES[5], "acp:claude-agent-acp", claude_agent_acp),
]


def version_of(programs, package):
    """Returns the installed version of a package."""
    import json

    manifest = Path(programs).parent / package / "package.json"
    try:
        return json.loads(manifest.read_text())["version"]
    except (OSError, KeyError, ValueError):
        return "not installed"
