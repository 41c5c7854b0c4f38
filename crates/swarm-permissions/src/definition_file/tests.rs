//! Definitions in real-world formats.

use std::fmt::Write as _;

use swarm_protocol::{Color, PermissionMode};

use super::*;
use crate::{AgentDefinition, HookEvent, Isolation, McpUse, MemoryScope, ToolAllowance};

fn only(tools: &[&str]) -> ToolAllowance {
    ToolAllowance::Only(tools.iter().map(|tool| (*tool).to_owned()).collect())
}

#[track_caller]
fn good(text: &str) -> AgentDefinition {
    let read = read_file(text, "a.md");
    assert_eq!(read.problems, []);
    read.definition.expect("a definition")
}

/// Returns the definition and its problems.
fn read(text: &str) -> (Option<AgentDefinition>, Vec<String>) {
    let read = read_file(text, "a.md");
    let said = read.problems.iter().map(ToString::to_string).collect();
    (read.definition, said)
}

const ALL_FIELDS: &str = "\
---
name: reviewer
description: |
  Reviews code.
  Use it after every change.
tools: Read, Grep, Agent(Explore, Plan), mcp__git
disallowedTools: [Bash, WebFetch]
model: haiku
effort: high
permissionMode: plan
maxTurns: 7
skills:
  - style
  - tests
mcpServers:
  - github
  - own:
      command: serve
      args: [--port, 1]
      env: {KEY: value}
  - far: {type: http, url: http://127.0.0.1:1/mcp, headers: {A: b}}
hooks:
  PreToolUse:
    - matcher: Bash
      hooks:
        - type: command
          command: ./check.sh
          timeout: 5
memory: project
background: true
isolation: worktree
color: pink
initialPrompt: Read the notes first.
requiredMcpServers: [git]
---

You review.
";

#[test]
fn c2_every_field_is_read() {
    let definition = good(ALL_FIELDS);
    assert_eq!(definition.name, "reviewer");
    assert_eq!(
        definition.description,
        "Reviews code.\nUse it after every change."
    );
    assert_eq!(definition.prompt, "You review.");
    assert_eq!(
        definition.tools,
        only(&["Read", "Grep", "Agent(Explore, Plan)", "mcp__git"])
    );
    assert_eq!(definition.disallowed_tools, ["Bash", "WebFetch"]);
    assert_eq!(definition.model.as_deref(), Some("haiku"));
    assert_eq!(definition.effort.as_deref(), Some("high"));
    assert_eq!(definition.permission_mode, Some(PermissionMode::Plan));
    assert_eq!(definition.max_turns, Some(7));
    assert_eq!(definition.skills, ["style", "tests"]);
    assert_eq!(definition.mcp_servers.len(), 3);
    assert_eq!(definition.mcp_servers[0], McpUse::Shared("github".into()));
    assert!(matches!(&definition.mcp_servers[1], McpUse::Own(name, _) if name == "own"));
    let group = &definition.hooks.events[&HookEvent::PreToolUse][0];
    assert_eq!(group.matcher.as_deref(), Some("Bash"));
    assert_eq!(
        (group.hooks[0].action.text(), group.hooks[0].timeout),
        ("./check.sh", Some(5))
    );
    assert_eq!(definition.memory, Some(MemoryScope::Project));
    assert!(definition.background);
    assert_eq!(definition.isolation, Some(Isolation::Worktree));
    assert_eq!(definition.color, Some(Color::Pink));
    assert_eq!(
        definition.initial_prompt.as_deref(),
        Some("Read the notes first.")
    );
    assert_eq!(definition.required_mcp_servers, ["git"]);
}

#[test]
fn the_modes_auto_and_bubble_are_mapped_to_supported_ones() {
    for (word, mode, said) in [
        ("auto", Some(PermissionMode::Default), 1),
        ("bubble", None, 0),
    ] {
        let text = format!("---\nname: a\ndescription: d\npermissionMode: {word}\n---\nGo.\n");
        let (definition, problems) = read(&text);
        assert_eq!(definition.unwrap().permission_mode, mode, "{word}");
        assert_eq!(problems.len(), said, "{problems:?}");
        let text = "`permissionMode` is `auto`, which is not supported; `default` applies";
        assert!(
            problems.iter().all(|problem| problem.ends_with(text)),
            "{problems:?}"
        );
    }
}

#[test]
fn c2_invalid_fields_are_reported_with_their_line_and_ignored() {
    for (field, said) in [
        (
            "color: magenta",
            "`color` is `magenta`: use red, blue, green, yellow, purple, orange, pink or cyan; it is ignored",
        ),
        (
            "permissionMode: yolo",
            "`permissionMode` is `yolo`: use default, acceptEdits, plan, bypassPermissions, dontAsk or manual; the parent's mode applies",
        ),
        (
            "maxTurns: 0",
            "`maxTurns` is `0`: use a whole number above 0; it is ignored",
        ),
        (
            "maxTurns: many",
            "`maxTurns` is `many`: use a whole number above 0; it is ignored",
        ),
        (
            "memory: team",
            "`memory` is `team`: use user, project or local; it is ignored",
        ),
        (
            "effort: huge",
            "`effort` is `huge`: use low, medium, high, xhigh or max; it is ignored",
        ),
        ("observer: x", "`observer` is not supported; it is ignored"),
        (
            "model:",
            "`model` is empty: add a text or remove the field; it is ignored",
        ),
        (
            "category: quality",
            "`category` is not a known field and is ignored",
        ),
        (
            "hooks: {Never: []}",
            "`hooks` is partly invalid: unsupported hook event `Never`: its hooks are ignored; the other hooks run",
        ),
        (
            "mcpServers: [{x: {type: sse, url: u}}]",
            "`mcpServers` has an invalid server `x`: the transport `sse` is deprecated and not supported: use `http` with the server's streamable HTTP URL, which often ends in /mcp instead of /sse; the server is ignored",
        ),
    ] {
        let (definition, problems) = read(&format!(
            "---\nname: a\ndescription: b\n{field}\n---\nBody."
        ));
        assert_eq!(
            definition,
            Some(AgentDefinition::new("a", "b", "Body.")),
            "{field}"
        );
        assert_eq!(problems, [format!("a.md:4: {said}")], "{field}");
    }
}

#[test]
fn invalid_restrictions_are_interpreted_as_the_most_restrictive() {
    let all = ["*".to_owned()];
    for (field, tools, taken, said) in [
        (
            "disallowed_tools: Bash",
            ToolAllowance::All,
            &["Bash".to_owned()][..],
            "`disallowed_tools` is not a field: did you mean `disallowedTools`?; it is treated as such",
        ),
        (
            "tools: Read, Bash()",
            only(&["Read"]),
            &[],
            "`tools` has an invalid tool: `Bash()` is not a tool: the parentheses are empty; use `Bash` for every call; the entry is ignored",
        ),
        (
            "tools: {Read: true}",
            only(&[]),
            &[],
            "`tools` must be a list, or words separated by commas; the agent gets no tools",
        ),
        (
            "disallowedTools: Bash()",
            ToolAllowance::All,
            &["Bash".to_owned()],
            "`disallowedTools` has an invalid tool: `Bash()` is not a tool: the parentheses are empty; use `Bash` for every call; the whole tool is disallowed",
        ),
        (
            "disallowedTools: {Bash: true}",
            ToolAllowance::All,
            &all,
            "`disallowedTools` must be a list, or words separated by commas; every tool is disallowed",
        ),
        (
            "disallowedTools: '*'",
            ToolAllowance::All,
            &all,
            "`disallowedTools` is `*`; every tool is disallowed",
        ),
    ] {
        let (definition, problems) = read(&format!(
            "---\nname: a\ndescription: b\n{field}\n---\nBody."
        ));
        let definition = definition.expect(field);
        assert_eq!(definition.tools, tools, "{field}");
        assert_eq!(definition.disallowed_tools, taken, "{field}");
        assert_eq!(problems, [format!("a.md:4: {said}")]);
    }
    let (definition, problems) =
        read("---\nname: a\ndescription: b\nisolation: remote\n---\nBody.");
    assert_eq!(definition.unwrap().isolation, Some(Isolation::Worktree));
    assert_eq!(
        problems,
        ["a.md:4: `isolation` is `remote`: use worktree; it gets a worktree"]
    );
    let definition = good("---\nname: a\ndescription: b\ntools: Read Grep\n---\n");
    assert_eq!(definition.tools, only(&["Read", "Grep"]));
}

#[test]
fn a_definition_requires_a_name_and_a_description() {
    let (definition, problems) = read("---\nname: ../../x\ndescription: b\n---\n");
    assert_eq!(definition, None);
    assert!(
        problems[0].starts_with("a.md:2: refused: `name` is `../../x`: use letters"),
        "{problems:?}"
    );
    let (definition, problems) = read("---\nname: a\n---\n");
    assert_eq!(definition, None);
    assert_eq!(
        problems,
        ["a.md: refused: `description` is missing: describe when to use this agent"]
    );
}

#[test]
fn a_definition_can_omit_the_instruction_files() {
    for (field, omitted) in [
        ("", false),
        ("omitClaudeMd: true\n", true),
        ("omitClaudeMd: false\n", false),
    ] {
        let definition = good(&format!("---\nname: a\ndescription: b\n{field}---\n"));
        assert_eq!(definition.omit_claude_md, omitted, "{field}");
    }
}

#[test]
fn a_description_may_continue_over_lines_that_look_like_fields() {
    let text = "---\nname: agent-creator\ndescription: Use this agent when the user asks to \"create an agent\". Examples:\n\n<example>\nContext: User wants a code review agent\nuser: \"Create an agent that reviews code\"\nassistant: \"I'll use the agent-creator agent.\"\n<commentary>\nThe user asked: an agent.\n</commentary>\n</example>\n\nmodel: sonnet\ncolor: magenta\ntools: [\"Write\", \"Read\"]\n---\n\nYou create agents.";
    let (definition, problems) = read(text);
    let definition = definition.expect("a definition");
    assert_eq!(
        definition.description,
        "Use this agent when the user asks to \"create an agent\". Examples:\n\n<example>\nContext: User wants a code review agent\nuser: \"Create an agent that reviews code\"\nassistant: \"I'll use the agent-creator agent.\"\n<commentary>\nThe user asked: an agent.\n</commentary>\n</example>"
    );
    assert_eq!(definition.model.as_deref(), Some("sonnet"));
    assert_eq!(definition.tools, only(&["Write", "Read"]));
    assert_eq!(definition.prompt, "You create agents.");
    assert_eq!(problems.len(), 2, "{problems:?}");
    let (definition, _) = read(
        "---\nname: a\ndescription: Examples: one\nuser: \"hi\"\nassistant: \"there\"\ncategory: x\ntools: Read\n---\n",
    );
    let definition = definition.unwrap();
    assert!(definition.description.contains("assistant: \"there\""));
    assert_eq!(definition.tools, only(&["Read"]));
}

#[test]
fn names_that_look_like_numbers_remain_strings() {
    for name in ["007", "no", "1e3", "true"] {
        assert_eq!(
            good(&format!("---\nname: {name}\ndescription: b\n---\n")).name,
            name
        );
    }
}

#[test]
fn lenient_yaml_is_parsed() {
    let description =
        "Use this agent when: you review. Examples: <example>Context: x user: \"hi\"</example>";
    let (definition, problems) = read(&format!(
        "---\nname: loose\ndescription: {description}\ntools: *\nmodel: inherit\nhooks:\n  Stop:\n    - hooks: [{{type: command, command: ./x}}]\n---\nBody."
    ));
    let definition = definition.unwrap();
    assert_eq!(definition.description, description);
    assert_eq!(definition.tools, ToolAllowance::All);
    assert_eq!(definition.model.as_deref(), Some("inherit"));
    assert!(definition.hooks.events.contains_key(&HookEvent::Stop));
    assert_eq!(
        problems,
        [
            "a.md:3: `description` is not valid YAML and is treated as plain text: put it in quotes",
            "a.md:4: `tools` is not valid YAML and is treated as plain text: put it in quotes",
        ]
    );
}

#[test]
fn tabs_escapes_and_number_signs_are_preserved() {
    let (definition, _) =
        read("---\nname:\ttabs\ndescription: When: a\\n\\nb\ntools:\n\t- Read\n\t- Bash\n---\n");
    let definition = definition.unwrap();
    assert_eq!(definition.name, "tabs");
    assert_eq!(definition.description, "When: a\n\nb");
    assert_eq!(definition.tools, only(&["Read", "Bash"]));
    let (definition, problems) =
        read("---\nname: a\ndescription: Closes issue #12 and more\n---\n");
    assert_eq!(definition.unwrap().description, "Closes issue #12 and more");
    assert_eq!(problems.len(), 1);
    let definition = good("---\nname: a\ndescription: \"x\\ny\" # why\n---\n");
    assert_eq!(definition.description, "x\ny");
}

#[test]
fn the_spelling_of_existing_definitions_is_supported() {
    let definition = good(
        "---\nname: reviewer\ndescription: Reviews\nallowed-tools: read_file, list_files, grep_search, run_shell\n---\n",
    );
    assert_eq!(
        definition.tools,
        only(&["read_file", "list_files", "grep_search", "run_shell"])
    );
    let (_, problems) =
        read("---\nname: a\ndescription: b\ntools: Read\nallowed-tools: Read\n---\n");
    assert_eq!(
        problems,
        ["a.md:5: `allowed-tools` duplicates `tools`; `tools` applies"]
    );
}

#[test]
fn a_missing_list_allows_every_tool_and_an_empty_one_none() {
    for (tools, expected) in [
        ("", ToolAllowance::All),
        ("tools: '*'\n", ToolAllowance::All),
        ("tools: ['*']\n", ToolAllowance::All),
        ("tools: []\n", only(&[])),
        ("tools:\n", only(&[])),
    ] {
        assert_eq!(
            good(&format!("---\nname: a\ndescription: b\n{tools}---\n")).tools,
            expected,
            "{tools}"
        );
    }
}

#[test]
fn pages_that_are_not_definitions_are_ignored() {
    for text in [
        "# Notes",
        "---\ntitle: x\n---\n",
        "---\n: : {\n---\n",
        "---\ntitle: a: b\n---\n",
        "",
    ] {
        let read = read_file(text, "a.md");
        assert!(
            read.definition.is_none() && read.problems.is_empty(),
            "{text}"
        );
    }
    let (definition, problems) = read("---\nname: a\ndescription: b\nhooks: {{{\n---\n");
    assert_eq!(definition, None);
    assert!(problems[0].starts_with("a.md:"), "{problems:?}");
    assert!(
        problems[0].contains("invalid YAML in the frontmatter: "),
        "{problems:?}"
    );
}

#[test]
fn invalid_yaml_is_reported_with_the_line_in_the_file() {
    for (fields, line) in [
        ("hooks: {{{", 4),
        ("mcpServers:\n  - one\n  two: {", 6),
        ("# a remark\n\nhooks:\n  Stop: [x\ntools: Read", 8),
        ("hooks: *nobody", 4),
        // The first of two errors.
        ("color: a: b\nhooks: [", 4),
    ] {
        let text = format!("---\nname: a\ndescription: b\n{fields}\n---\n");
        let (_, problems) = read(&text);
        let said = &problems[0];
        let place = format!("a.md:{line}: refused: invalid YAML in the frontmatter: ");
        assert!(said.starts_with(&place), "{said}");
        assert!(!said[place.len()..].contains("line"), "{said}");
    }
}

#[test]
fn an_alias_bomb_is_rejected_immediately() {
    let mut bomb = "---\nname: a\ndescription: b\nx0: &x0 [a, a, a, a, a, a, a, a, a]\n".to_owned();
    for level in 1..9 {
        let before = vec![format!("*x{}", level - 1); 9].join(", ");
        writeln!(bomb, "x{level}: &x{level} [{before}]").unwrap();
    }
    bomb += "hooks: *x8\n---\n";
    let (definition, problems) = read(&bomb);
    assert_eq!((definition, problems.len()), (None, 1), "{problems:?}");
    let deep = format!(
        "---\nname: a\ndescription: b\nhooks: {}{}\n---\n",
        "[".repeat(5_000),
        "]".repeat(5_000)
    );
    let (definition, problems) = read(&deep);
    assert_eq!((definition, problems.len()), (None, 1), "{problems:?}");
}

#[test]
fn json_of_the_command_line_is_parsed_strictly() {
    let given = r#"{"tester": {"description": "Tests", "prompt": "Test.", "tools": ["Read", "Bash"], "maxTurns": 3}}"#;
    let definitions = read_json(given, "--agents").unwrap();
    assert_eq!(definitions[0].name, "tester");
    assert_eq!(definitions[0].prompt, "Test.");
    assert_eq!(definitions[0].tools, only(&["Read", "Bash"]));
    for (given, said) in [
        ("[]", "--agents must be an object"),
        ("{", "invalid JSON in --agents: "),
        (
            r#"{"a": {"description": "b"}}"#,
            "--agents: agent `a`: `prompt` is missing",
        ),
        (
            r#"{"a": {"description": "", "prompt": "c"}}"#,
            "--agents: agent `a`: `description` is empty",
        ),
        (
            r#"{"a": {"description": "b", "prompt": " "}}"#,
            "--agents: agent `a`: `prompt` is empty",
        ),
        (
            r#"{"a": {"description": "b", "prompt": "c", "extra": 1}}"#,
            "--agents: agent `a`: `extra` is not a known field",
        ),
    ] {
        let error = read_json(given, "--agents").unwrap_err();
        assert!(error.starts_with(said), "{given}: {error}");
    }
}

#[test]
fn an_apparent_definition_that_is_invalid_is_reported_with_its_line() {
    for (text, said) in [
        (
            "---\ndescription: d\nnmae: a\n---\nDo it.",
            "a.md:3: refused: `name` is missing; did you misspell it as `nmae`?",
        ),
        (
            "---\nNames: a\n---\nDo it.",
            "a.md:2: refused: `name` is missing; did you misspell it as `Names`?",
        ),
        (
            "---\ntools: Read\ndescription: d\n---\nDo it.",
            "a.md:3: refused: `name` is missing, so this does not define an agent type: add a name",
        ),
        (
            "---\nname: a\ndescription: d\n\nDo it.",
            "a.md:1: refused: unterminated frontmatter: add a line `---` after the last field",
        ),
    ] {
        let (definition, problems) = read(text);
        assert_eq!((definition, problems), (None, vec![said.to_owned()]));
    }
    for page in [
        "---\ntitle: Notes\n---\n# Notes",
        "---\ndescription: notes\n---\n# Notes",
        "---\n\nA rule above a text.",
        "# Notes",
    ] {
        assert_eq!(read(page), (None, Vec::new()), "{page}");
    }
}
