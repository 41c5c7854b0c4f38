//! Calls that run without approval, depending on the files to which their words lead.
#![allow(clippy::unwrap_used, reason = "a failed setup fails the test")]

use std::path::Path;

use serde_json::json;
use swarm_permissions::{Behavior, Decision, Question, Rule, RuleSet, Suggestion, decide};
use swarm_protocol::PermissionMode::{AcceptEdits, BypassPermissions, Default, DontAsk, Plan};
use swarm_protocol::{PermissionMode, ToolKind};

use crate::disk::{DISK, Disk};
use crate::questions::question;
use crate::word;

fn rules(deny: &[&str], ask: &[&str], allow: &[&str]) -> RuleSet {
    let mut set = RuleSet::default();
    let lists = [
        (Behavior::Deny, deny),
        (Behavior::Ask, ask),
        (Behavior::Allow, allow),
    ];
    for (behavior, texts) in lists {
        for text in texts {
            set.add(behavior, Rule::parse(text).unwrap(), "test");
        }
    }
    set
}

fn decided(
    disk: &Disk,
    mode: PermissionMode,
    rules: &RuleSet,
    tool: &str,
    value: &str,
) -> Decision {
    let (kind, field) = match tool {
        "Bash" => (ToolKind::Execute, "command"),
        "Read" | "Grep" => (ToolKind::Read, "file_path"),
        _ => (ToolKind::Edit, "file_path"),
    };
    let input = json!({ field: value });
    let question = Question {
        home: Some(Path::new("/home/dev")),
        files: disk,
        ..question(tool, kind, &input)
    };
    decide(mode, rules, &question)
}

#[track_caller]
fn all(mode: PermissionMode, rules: &RuleSet, tool: &str, expected: &str, values: &[&str]) {
    for value in values {
        let decision = decided(&DISK, mode, rules, tool, value);
        assert_eq!(
            word(&decision),
            expected,
            "{tool} {value} in {mode}: {decision:?}"
        );
    }
}

#[track_caller]
fn bash(mode: PermissionMode, rules: &RuleSet, expected: &str, command: &str) {
    all(mode, rules, "Bash", expected, &[command]);
}

#[test]
fn reading_a_process_device_or_secret_requires_approval_in_every_spelling() {
    for command in [
        "cat /proc/1/environ",
        "cd / && cat proc/1/environ",
        "cat < /proc/1/environ",
        "cat /dev/fd/../../1/environ",
        "grep rw-p /dev/fd/../../1/maps",
        "tail -c +7 /dev/fd/../../1/mem | head -c 9 | grep -ao KEY",
        "cat pl/1/environ",
        "cat ./docs/../pl/1/environ",
        "cat < pl/1/environ",
        "cd pl && cat 1/environ",
        "cd docs && cat ../pl/1/environ",
        "cd pl/1; cat environ",
        "pushd pl && cat 1/environ",
        "grep -fpl/1/environ x",
        "grep --file=pl/1/environ x",
        "cat p*/1/environ",
        "cat */1/environ",
        "head -n1 --bytes=9 pl/1/environ",
        "ls && sort pl/1/environ",
        "cat ~+/pl/1/environ",
        "cat ~-/1/environ",
        "cd - && cat 1/environ",
        "cat ~bob/.ssh/id",
        "cat /sys/kernel/x",
        "od /dev/sda",
        "cat /dev/pts/0",
        "cat ~/.claude/.credentials.json",
        "cat /home/dev/.claude/.credentials.json",
        "cd ~ && cat .claude/.credentials.json",
        "cd && cat .claude/.credentials.json",
        "cat {pl,x}/1/environ",
    ] {
        bash(Default, &RuleSet::default(), "ask", command);
    }
    for command in [
        "cat docs/a to-doc",
        "cat to-env",
        "cat hard",
        "ls ~/notes",
        "cat ~+/docs/a",
        "cd docs && cat a",
        "head -c 8 /dev/urandom",
        "cat a 2>/dev/null",
        "wc -l < docs/a",
        "cat /dev/shm/x",
        "grep -rn 'dev/x' docs",
        "echo ~bob ~- /sys/x",
    ] {
        bash(Default, &RuleSet::default(), "allow", command);
    }
    bash(DontAsk, &RuleSet::default(), "deny", "cat pl/1/environ");
}

#[test]
fn a_line_that_changes_the_directory_very_often_is_decided_at_once() {
    // Each of them doubled the directories in which a word may be read.
    for moves in ["cd docs; ".repeat(60), format!("cd {}; ", "a ".repeat(500))] {
        let command = format!("{moves}cat a");
        bash(Default, &RuleSet::default(), "ask", &command);
    }
    let words = " docs/a".repeat(2_000);
    bash(
        Default,
        &RuleSet::default(),
        "allow",
        &format!("cat{words}"),
    );
    let command = format!("{}cat{words}", "cd docs; ".repeat(6));
    bash(Default, &RuleSet::default(), "ask", &command);
    let options = format!("ls -{}", "a".repeat(20_000));
    bash(Default, &RuleSet::default(), "ask", &options);
}

#[test]
fn a_search_or_pattern_that_includes_a_secret_requires_approval() {
    let none = RuleSet::default();
    for command in [
        "cat ~/.claude/.cred*",
        "cat ~/.claude/*",
        "cat ~/.claude/.credentials.jso[n]",
        "cat ~/.claude/{a,.credentials.json}",
        "head < ~/.claude/.c*",
        "grep -r KEY ~/.claude",
        "grep -rn KEY ~",
        "grep --recursive KEY /home",
        "grep -d recurse KEY /home/dev",
        "egrep -r KEY /",
        "rg --hidden KEY ~",
        "rg KEY /home/dev/.claude",
        "cd ~ && grep -r KEY",
        "cd && rg KEY .",
        "cd / && rg KEY",
        "timeout 5 grep -r KEY ~/.claude",
        "cd deep/to-config && cat ../.credentials.json",
        "cd deep/to-config && cd .. && cat .credentials.json",
    ] {
        bash(Default, &none, "ask", command);
    }
    for command in [
        "grep -rn KEY .",
        "grep -rn KEY src docs",
        "rg KEY",
        "rg KEY /srv/other",
        "ls ~/.claude",
        "find ~/.claude -name x",
        "du -sh ~",
        "grep KEY ~/.claude/settings.json",
        "cat ~/.claude/*.md",
        "cat ~/.claude/s*",
        "cat ~/.c*",
    ] {
        bash(Default, &none, "allow", command);
    }
}

#[test]
fn a_change_of_directory_is_judged_by_its_spelling_and_its_links() {
    let none = RuleSet::default();
    // The shell returns to `deep`, which contains a link to another directory.
    let links = [
        "cd deep/to-config && cd .. && cat kernel/1/environ",
        "cd deep/to-config/.. && cat kernel/1/environ",
    ];
    all(Default, &none, "Bash", "ask", &links);
}

#[test]
fn git_reads_without_approval_only_in_the_original_repository() {
    let none = RuleSet::default();
    let planted = Disk {
        git_is_as_found: false,
    };
    for command in [
        "git status",
        "git log --oneline | head",
        "ls; git diff",
        "git version",
    ] {
        for (disk, mode, expected) in [
            (&DISK, Default, "allow"),
            (&DISK, Plan, "allow"),
            (&planted, Default, "ask"),
            (&planted, AcceptEdits, "ask"),
            (&planted, DontAsk, "deny"),
            (&planted, Plan, "deny"),
        ] {
            let decision = decided(disk, mode, &none, "Bash", command);
            assert_eq!(
                word(&decision),
                expected,
                "{command} in {mode}: {decision:?}"
            );
        }
    }
    let asks = |command: &str| match decided(&planted, Default, &none, "Bash", command) {
        Decision::Ask { why, .. } => why,
        decision => panic!("{command}: {decision:?}"),
    };
    let why = asks("ls; git diff");
    assert!(
        why.contains("`git diff`") && why.contains("because the test says so"),
        "{why}"
    );
    for command in ["git push", "git push; git log"] {
        let why = asks(command);
        assert!(!why.contains("the test says so"), "it never reads: {why}");
    }
    // An allow rule for the command still applies, in modes with allow rules.
    let granted = rules(&[], &[], &["Bash(git status:*)"]);
    let decision = decided(&planted, Default, &granted, "Bash", "git status");
    assert!(decision.is_allow(), "{decision:?}");
    let decision = decided(&planted, Default, &none, "Bash", "cat a");
    assert!(decision.is_allow(), "{decision:?}");
}

#[test]
fn reading_commands_do_not_reveal_denied_files() {
    let set = rules(
        &["Read(.env)", "Read(secrets/**)", "Read(~/.ssh/**)"],
        &[],
        &[],
    );
    for command in [
        "git show HEAD:.env",
        "git show :.env",
        "git show :0:.env",
        "git show HEAD:./.env",
        "git -P show HEAD:secrets/x",
        "git cat-file -p HEAD:.env",
        "git cat-file blob :.env",
        "git blame .env",
        "git log -p -- .env",
        "cat ~+/secrets/a",
        "cat to-env",
        "cat docs/to-secrets/a",
        "cat < to-env",
        "cat ~/.ssh/id",
        "grep -f.env x",
        "grep --file=secrets/a x",
    ] {
        bash(Default, &set, "deny", command);
    }
    for command in [
        "git show",
        "git show HEAD",
        "git show HEAD~3",
        "git log -p",
        "git log -U3 -1",
        "git log --patch",
        "git log --patc",
        "git whatchanged",
        "git stash show -p",
        "git reflog show -p",
        "git cat-file --batch-all-objects --batch",
        "git cat-file -p 1234567",
        "git diff",
        "git diff HEAD~1",
        "git grep KEY",
        "git status -v",
        "git range-diff a b c",
        "printf '.env\\0' | sort --files0-from=-",
        "cat hard",
        "sort < hard",
        "cat ~root/.ssh/id",
        "cat .e*",
        "grep -r KEY .",
        "rg KEY",
        "cd secrets && cat a",
        "jq -n 'import \"./a\" as $x; $x'",
        "jq -nf program",
    ] {
        bash(Default, &set, "ask", command);
    }
    for command in [
        "git status --short",
        "git log --oneline -5",
        "git log --stat",
        "git branch -vv",
        "git ls-files -m",
        "git rev-parse HEAD",
        "git tag -n",
        "cat docs/a",
        "jq .name package.json",
    ] {
        bash(Default, &set, "allow", command);
    }
    let word = rules(&["Read(notes)"], &[], &[]);
    for command in ["cp notes b", "grep x notes"] {
        bash(BypassPermissions, &word, "deny", command);
    }
    // A descriptor is not a file of that name.
    bash(Default, &rules(&["Read(3)"], &[], &[]), "allow", "cat <&3");
    // A rule about a link applies to its own name too.
    let link = rules(&["Read(to-doc)"], &[], &[]);
    bash(Default, &link, "deny", "cat to-doc");
    bash(Default, &link, "allow", "cat docs/a");
    // In bypassPermissions the rules still apply to files named by words.
    for command in ["cat to-env", "git show HEAD:.env", "cp docs/to-secrets/a b"] {
        bash(BypassPermissions, &set, "deny", command);
    }
}

#[test]
fn a_file_with_several_names_requires_approval_if_rules_restrict_reading() {
    let watched = rules(&["Read(.env)"], &[], &["Read"]);
    let asked = rules(&[], &["Read(.env)"], &[]);
    for (set, mode, expected) in [
        (&RuleSet::default(), Default, "allow"),
        (&rules(&["Edit(.env)"], &[], &[]), Default, "allow"),
        (&watched, Default, "ask"),
        (&watched, BypassPermissions, "ask"),
        (&watched, DontAsk, "deny"),
        (&asked, Default, "ask"),
    ] {
        all(mode, set, "Read", expected, &["hard"]);
        all(mode, set, "Grep", expected, &["/work/hard"]);
        all(mode, set, "Read", "allow", &["docs/a"]);
    }
    all(BypassPermissions, &watched, "Edit", "allow", &["hard"]);
}

#[test]
fn changing_files_that_other_programs_run_later_requires_approval() {
    let none = RuleSet::default();
    let broad = rules(&[], &[], &["Edit", "Write(**)", "Edit(~/**)"]);
    let similar = rules(&[], &[], &["Edit(.husky*/**)"]);
    let elsewhere = rules(&[], &[], &["Edit(other/.husky/**)"]);
    let named = rules(&[], &[], &["Edit(.husky/**)", "Edit(~/.bashrc)"]);
    let (own, home, config) = (
        ".husky/pre-commit",
        "/home/dev/.bashrc",
        "/home/dev/.claude/skills/a/SKILL.md",
    );
    for (set, mode, path, expected) in [
        (&none, Default, own, "ask"),
        (&none, AcceptEdits, own, "ask"),
        (&broad, Default, own, "ask"),
        (&broad, AcceptEdits, own, "ask"),
        (&broad, DontAsk, own, "deny"),
        (&broad, Plan, own, "deny"),
        (&similar, Default, own, "ask"),
        (&named, Default, own, "allow"),
        (&named, AcceptEdits, own, "allow"),
        (&elsewhere, AcceptEdits, own, "ask"),
        (&none, BypassPermissions, own, "allow"),
        (&none, AcceptEdits, home, "ask"),
        (&broad, AcceptEdits, home, "ask"),
        (&none, BypassPermissions, home, "ask"),
        (&broad, BypassPermissions, home, "ask"),
        (&named, BypassPermissions, home, "allow"),
        (&none, BypassPermissions, config, "ask"),
        (&none, AcceptEdits, "src/lib.rs", "allow"),
        (&none, BypassPermissions, "/home/dev/notes", "allow"),
    ] {
        all(mode, set, "Write", expected, &[path]);
    }
    // Files of the config directory require approval even inside the working directory.
    let mut wide = RuleSet::default();
    let home_too = Suggestion::AddDirectories {
        directories: vec!["/home/dev".into()],
        destination: swarm_permissions::Destination::Session,
    };
    wide.apply(&home_too, "test").unwrap();
    all(BypassPermissions, &wide, "Write", "ask", &[config]);
    all(BypassPermissions, &wide, "Write", "allow", &[home]);
    all(AcceptEdits, &wide, "Write", "ask", &[home]);
    let denied = rules(&["Edit(.husky/**)"], &[], &[]);
    all(AcceptEdits, &denied, "Write", "deny", &[own]);
}

#[test]
fn ask_rules_for_reading_apply_to_commands() {
    let asked = rules(&[], &["Read(notes/**)"], &["Bash(cp:*)"]);
    for command in [
        "cat notes/a",
        "cp notes/a b",
        "cat n*",
        "grep -r KEY .",
        "git show HEAD",
    ] {
        bash(Default, &asked, "ask", command);
    }
    for command in ["cat docs/a", "cp docs/a b"] {
        bash(Default, &asked, "allow", command);
    }
    // An `Edit` rule does not restrict reading.
    let edits = rules(&["Edit(notes/**)", "Write(gen/**)"], &[], &[]);
    for command in ["cat notes/a", "git show"] {
        bash(Default, &edits, "allow", command);
    }
    for command in ["echo x > notes/a", "echo x > gen/a", "echo x >> ~+/gen/a"] {
        bash(BypassPermissions, &edits, "deny", command);
    }
}

#[test]
fn rules_for_all_and_for_compound_commands_restrict() {
    let every = rules(&[], &["Bash"], &["Bash(ls)"]);
    for command in ["ls", "make", "$X"] {
        bash(BypassPermissions, &every, "ask", command);
    }
    let none = rules(&["Bash"], &[], &["Bash"]);
    all(BypassPermissions, &none, "Bash", "deny", &["ls", "make"]);
    let everything = rules(&["*"], &[], &["Bash"]);
    bash(BypassPermissions, &everything, "deny", "ls");
    let compound = rules(&["Bash(make && ./run)"], &[], &["Bash"]);
    for command in ["make && ./run", " make && ./run "] {
        bash(BypassPermissions, &compound, "deny", command);
    }
    for command in ["make", "./run"] {
        bash(BypassPermissions, &compound, "allow", command);
    }
}

#[test]
fn a_tool_declared_read_only_is_trusted_unless_it_reads_the_web() {
    for (tool, kind, read_only, mode, expected) in [
        ("mcp__a__list", ToolKind::Other, true, Default, "allow"),
        ("mcp__a__list", ToolKind::Other, true, Plan, "allow"),
        ("mcp__a__close", ToolKind::Other, false, Default, "ask"),
        ("mcp__a__close", ToolKind::Other, false, Plan, "deny"),
        ("WebFetch", ToolKind::Web, true, Default, "ask"),
    ] {
        let input = json!({});
        let question = Question {
            files: &DISK,
            read_only,
            ..question(tool, kind, &input)
        };
        let decision = decide(mode, &RuleSet::default(), &question);
        assert_eq!(word(&decision), expected, "{tool} in {mode}: {decision:?}");
    }
}

#[test]
fn a_file_rule_allows_no_call_whose_files_are_unknown() {
    let input = json!({"file_path": "/work/src/a"});
    let question = Question {
        files: &DISK,
        ..question("Write", ToolKind::Other, &input)
    };
    let decision = decide(Default, &rules(&[], &[], &["Write(src/**)"]), &question);
    assert_eq!(word(&decision), "ask", "{decision:?}");
}

#[test]
fn the_reason_for_approval_names_the_special_property_of_the_call() {
    let none = RuleSet::default();
    let watched = rules(&["Read(.env)"], &[], &[]);
    for (mode, set, tool, value, words) in [
        (AcceptEdits, &none, "Write", "/srv/x", "outside"),
        (AcceptEdits, &none, "Write", ".husky/x", ".husky"),
        (Default, &watched, "Read", "hard", "other names"),
    ] {
        let decision = decided(&DISK, mode, set, tool, value);
        assert!(
            decision.why().contains(words),
            "{tool} {value}: {decision:?}"
        );
    }
}
