//! Rules for files.

use std::path::{Path, PathBuf};

use serde_json::json;
use swarm_permissions::{Anchors, Question, ReadFilter, decide};
use swarm_protocol::PermissionMode::{AcceptEdits, BypassPermissions, Default};
use swarm_protocol::ToolKind;

use crate::questions::question;
use crate::{ALLOW, ASK, DENY, ask_touching, bash, file, kind_of, rules, word};

#[test]
fn file_rules_match_like_gitignore_and_by_family() {
    let set = rules(&json!({
        "allow": ["Edit(src/**)", "Write(//tmp/out/**)", "Edit(~/notes/*.md)"],
        "deny": ["Read(.env)", "Edit(src/gen/**)", "Write(docs/**)"]
    }));
    for (tool, path, expected) in [
        ("Edit", "/work/src/a.rs", ALLOW),
        ("Write", "/work/src/a.rs", ALLOW),
        ("Edit", "src/a.rs", ALLOW),
        ("Edit", "/work/src/../a.rs", ASK),
        ("Edit", "/work/lib/../src/a.rs", ALLOW),
        ("Edit", "/work/src/gen/a.rs", DENY),
        ("Edit", "/work/src/x/../gen/a.rs", DENY),
        ("Write", "/tmp/out/x", ALLOW),
        ("Edit", "/tmp/out/x", ASK),
        ("Edit", "/home/dev/notes/a.md", ALLOW),
        ("Write", "/work/docs/a", DENY),
        ("Edit", "/work/docs/a", DENY),
        ("Read", "/work/docs/a", ALLOW),
        ("Read", "/work/.env", DENY),
        ("Read", "/work/deep/.env", DENY),
        ("Grep", "/work/.env", DENY),
        ("Read", "/elsewhere/.env", ALLOW),
    ] {
        file(Default, &set, tool, path, expected);
    }
}

#[test]
fn a_symbolic_link_is_judged_by_its_path_and_its_target() {
    let set = rules(&json!({"allow": ["Edit(src/**)"], "deny": ["Read(secrets/**)"]}));
    let through = |mode, tool, given: &str, real: &str| {
        let input = json!({"file_path": given});
        let touches = [PathBuf::from(real)];
        word(&ask_touching(mode, &set, tool, &input, &touches))
    };
    for (mode, tool, given, real, expected) in [
        (Default, "Edit", "/work/src/link", "/work/src/real", ALLOW),
        (Default, "Edit", "/work/src/link", "/etc/passwd", ASK),
        (AcceptEdits, "Edit", "/work/link", "/etc/passwd", ASK),
        (AcceptEdits, "Edit", "/work/link", "/work/real", ALLOW),
        (Default, "Read", "/work/link", "/work/secrets/key", DENY),
    ] {
        assert_eq!(through(mode, tool, given, real), expected, "{given} {real}");
    }
}

#[test]
fn accept_edits_applies_to_additional_directories() {
    let set = rules(&json!({"additionalDirectories": ["/srv/docs"]}));
    file(AcceptEdits, &set, "Write", "/srv/docs/a", ALLOW);
    file(AcceptEdits, &set, "Write", "/srv/docs2/a", ASK);
    file(AcceptEdits, &set, "Write", "/work/../srv/x", ASK);
    file(AcceptEdits, &set, "Write", "/workshop/x", ASK);
    file(Default, &set, "Write", "/srv/docs/a", ASK);
}

#[test]
fn a_denied_file_cannot_be_read_by_a_command() {
    let set = rules(
        &json!({"deny": ["Read(.env)", "Read(secrets/**)", "Edit(locked/**)", "Read(build)"]}),
    );
    for command in [
        "cat .env",
        "cat ./sub/../.env",
        "grep KEY=.* secrets/a",
        "cat < .env",
        "cat x | tee locked/a > locked/b",
        "cat build",
        "sed -n 1p secrets/key",
    ] {
        bash(Default, &set, command, DENY);
    }
    for command in [
        "cat .e*",
        "rg KEY",
        "grep -r KEY .",
        "cd secrets && cat key",
        "cat $HOME/x",
        "git grep KEY",
    ] {
        bash(Default, &set, command, ASK);
    }
    for command in [
        "cat README.md",
        "ls -la",
        "git log --oneline",
        "grep KEY a.txt",
    ] {
        bash(Default, &set, command, ALLOW);
    }
    bash(Default, &set, "cargo build", ASK);
    bash(BypassPermissions, &set, "cargo build", ALLOW);
    let filter = ReadFilter::new(&set, Path::new("/work"), None);
    assert!(
        filter.hides(Path::new("/work/a/.env")) && filter.hides(Path::new("/work/secrets/a/b"))
    );
    assert!(!filter.hides(Path::new("/work/src/lib.rs")));
}

#[test]
fn ask_rules_do_not_hide_files_in_a_filter_of_denials() {
    let set = rules(&json!({"deny": ["Read(.env)"], "ask": ["Read(notes/**)"]}));
    let denials = ReadFilter::denials(&set, Path::new("/work"), None);
    assert!(denials.hides(Path::new("/work/.env")));
    assert!(!denials.hides(Path::new("/work/notes/a")));
    assert!(ReadFilter::new(&set, Path::new("/work"), None).hides(Path::new("/work/notes/a")));
}

#[test]
fn p5_a_search_of_a_sub_agent_hides_files_relative_to_every_anchor() {
    let set = rules(&json!({"deny": ["Read(secret/**)"]}));
    let copy = Anchors::NONE.below(Path::new("/work"), Some(Path::new("/copy")));
    let filter = ReadFilter::denials(&set, Path::new("/copy"), None).anchored(copy);
    for (path, hidden) in [
        ("/copy/secret/a", true),
        ("/work/secret/a", true),
        ("/work/sub/secret/a", false),
    ] {
        assert_eq!(filter.hides(Path::new(path)), hidden, "{path}");
    }
}

#[test]
fn p5_relative_rules_apply_to_a_sub_agent_from_their_original_directory() {
    let set = rules(&json!({
        "deny": ["Edit(secret/**)", "Read(/keys/**)"],
        "ask": ["Edit(*.lock)"],
        "allow": ["Edit(src/**)"],
    }));
    let in_sub = Anchors::NONE.below(Path::new("/work"), None);
    let copy = Anchors::NONE.below(Path::new("/work"), Some(Path::new("/copy")));
    for (cwd, anchors, tool, path, expected) in [
        ("/work/sub", &in_sub, "Edit", "../secret/a", DENY),
        ("/work/sub", &in_sub, "Edit", "secret/a", DENY),
        ("/work/sub", &in_sub, "Read", "../keys/a", DENY),
        ("/work/sub", &in_sub, "Edit", "/work/a.lock", ASK),
        ("/work/sub", &in_sub, "Edit", "/work/src/a", ALLOW),
        // The parent requires approval for this edit, so its sub-agents do too.
        ("/work/sub", &in_sub, "Edit", "src/a", ASK),
        ("/copy", &copy, "Edit", "src/a", ALLOW),
        ("/copy", &copy, "Edit", "secret/a", DENY),
        ("/copy", &copy, "Edit", "/work/secret/a", DENY),
        ("/copy", &copy, "Edit", "/work/src/a", ASK),
    ] {
        let input = json!({"file_path": path});
        let kind = kind_of(tool);
        let question = Question {
            cwd: Path::new(cwd),
            starts_in: Path::new(cwd),
            anchors,
            ..question(tool, kind, &input)
        };
        let decision = decide(Default, &set, &question);
        assert_eq!(
            word(&decision),
            expected,
            "{tool} {path} in {cwd}: {decision:?}"
        );
    }
    let input = json!({"command": "echo x > ../secret/a"});
    let question = Question {
        cwd: Path::new("/work/sub"),
        starts_in: Path::new("/work/sub"),
        anchors: &in_sub,
        ..question("Bash", ToolKind::Execute, &input)
    };
    let decision = decide(BypassPermissions, &set, &question);
    assert_eq!(word(&decision), DENY, "{decision:?}");
}
