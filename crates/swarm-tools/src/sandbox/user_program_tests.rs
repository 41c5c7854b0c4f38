use std::os::unix::fs::symlink;

use super::*;

/// An agent that can write `repo`, `cache` and `tmp` below a directory.
fn writable(top: &Path) -> Vec<PathBuf> {
    ["repo", "cache", "tmp"].map(|name| top.join(name)).to_vec()
}

fn runs_in_sandbox(top: &Path, search_path: &str, command: &UserCommand) -> bool {
    runs_with_values(top, search_path, command, &[])
}

fn runs_with_values(top: &Path, search_path: &str, command: &UserCommand, values: &[&str]) -> bool {
    let values: Vec<String> = values.iter().map(|value| (*value).to_owned()).collect();
    let directories = writable(top);
    let writable = Writable {
        directories: &directories,
        home: Some(top),
        cwd: &top.join("repo"),
        search_path,
    };
    writable.contains_program(command, &values)
}

fn line(text: &str) -> UserCommand {
    UserCommand::Line(text.to_owned())
}

fn words(text: &str) -> UserCommand {
    UserCommand::Words(text.split(' ').map(str::to_owned).collect())
}

fn program(path: &Path) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    swarm_os::replace_alone(path, b"#!/bin/sh\n").unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn lines_that_may_run_files_of_agents_are_recognized() {
    for (text, expected) in [
        ("notify-send done", false),
        ("~/.claude/hooks/log.sh", false),
        ("/usr/local/bin/check --all", false),
        ("$HOME/bin/check", false),
        ("\"${HOME}/bin/check\"", false),
        ("/home/ann/repository/check", false),
        ("curl -s https://example.com/hook", false),
        ("jq -r .tool_name >> /var/log/tools", false),
        (
            "jq -r .member | { read -r who; notify-send \"$who died\"; }",
            false,
        ),
        ("bash ~/.claude/hooks/log.sh", false),
        ("python3.12 /opt/check.py < /dev/null", false),
        ("./scripts/check.sh", true),
        ("scripts/check.sh", true),
        ("sh lint.sh", true),
        ("bash -c 'sh lint.sh'", true),
        (". lint.sh", true),
        ("cat lint.sh | sh", true),
        ("$(git rev-parse --show-toplevel)/lint.sh", true),
        ("`git rev-parse --show-toplevel`/lint.sh", true),
        ("$PWD/lint.sh", true),
        ("sh \"$CLAUDE_PROJECT_DIR\"/check.sh", true),
        ("bash \"${CLAUDE_PROJECT_DIR}/check.sh\"", true),
        ("\"$top\"/lint.sh", true),
        ("/home/ann/repo/lint.sh", true),
        ("~/repo/lint.sh", true),
        ("~/bin/../repo/lint.sh", true),
        ("/home/ann/rep?/lint.sh", true),
        ("~+/lint.sh", true),
        ("PATH=/usr/bin:/home/ann/repo/bin lint", true),
        ("sh $HOME/repo/lint.sh", true),
        ("python -m x", true),
        ("python3.12 x.py", true),
        ("node x.js", true),
        ("pytest", true),
        ("cd x && npm run lint", true),
        ("/usr/bin/make -s", true),
        ("FORCE=1 npx prettier", true),
        ("~/cache/h.sh a", true),
        ("bash < /home/ann/tmp/h.sh", true),
        // A link in its place would lead elsewhere.
        ("jq -r .tool_name >> ~/tmp/log", true),
    ] {
        let found = runs_in_sandbox(Path::new("/home/ann"), "", &line(text));
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn servers_that_may_run_files_of_agents_are_recognized() {
    for (text, expected) in [
        ("/opt/server --port 80", false),
        ("python3 /home/ann/bin/server.py", false),
        ("docker run -i --rm mcp/postgres", false),
        ("server postgresql://ann@localhost/db", false),
        ("sh -c touch", false),
        ("sh -c ~/bin/server", false),
        ("sh -c ~/cache/server", true),
        ("python3 server.py", true),
        ("python3 /home/ann/repo/server.py", true),
        ("/home/ann/cache/server", true),
        ("./server", true),
        // No shell expands it.
        ("~/bin/server", true),
        ("npx -y tickets-mcp", true),
        ("uvx tickets-mcp", true),
        ("env PYTHONPATH=/home/ann/repo /opt/server", true),
        ("node-server -r/home/ann/repo/x.js", true),
        ("node-server --import file:///home/ann/repo/x.mjs", true),
        ("node-server --import=file:///home/ann/repo/x.mjs", true),
        ("server --config={\"run\":\"/home/ann/repo/x\"}", true),
        ("server --config={\"run\":\"/opt/x\"}", false),
        ("server --url=https://example.com/repo", false),
        ("docker compose up", true),
    ] {
        let found = runs_in_sandbox(Path::new("/home/ann"), "", &words(text));
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn words_after_a_line_and_values_of_variables_count() {
    let top = Path::new("/home/ann");
    let server =
        |words: &[&str]| UserCommand::Words(words.iter().map(|word| (*word).to_owned()).collect());
    let of_agents = "/home/ann/repo/x.sh";
    let line_with = |word| server(&["sh", "-c", "exec \"$0\"", word]);
    assert!(runs_in_sandbox(top, "", &line_with(of_agents)));
    assert!(!runs_in_sandbox(top, "", &line_with("/opt/x.sh")));
    for (value, expected) in [
        (of_agents, true),
        ("--require /home/ann/repo/x.js", true),
        ("-r/home/ann/repo/x.js", true),
        ("/opt/lib:/home/ann/cache/lib", true),
        ("npx -y tickets-mcp", true),
        ("/opt/x.sh", false),
        ("--require /opt/x.js", false),
        ("postgresql://ann@localhost/db", false),
        ("production", false),
    ] {
        for command in [
            server(&["/opt/server"]),
            server(&["sh", "-c", "exec $SERVER"]),
            line("/opt/check"),
        ] {
            let found = runs_with_values(top, "", &command, &[value]);
            assert_eq!(found, expected, "{value} {command:?}");
        }
    }
}

#[test]
fn names_of_files_in_the_working_directory_count() {
    let scratch = tempfile::tempdir().unwrap();
    let top = scratch.path().canonicalize().unwrap();
    for name in ["repo/check.awk", "repo/my lib/x", "repo/server"] {
        program(&top.join(name));
    }
    for (text, expected) in [
        ("mawk -f check.awk /etc/hostname", true),
        ("mawk -fcheck.awk", true),
        ("sed -n --file=check.awk", true),
        ("gawk -f \\\ncheck.awk", true),
        ("mawk -f other.awk", false),
        // A command is not looked up in the working directory.
        ("server --all", false),
    ] {
        assert_eq!(
            runs_in_sandbox(&top, "/usr/bin", &line(text)),
            expected,
            "{text}"
        );
    }
    assert!(runs_in_sandbox(&top, "/usr/bin", &words("Run check.awk")));
    assert!(!runs_in_sandbox(&top, "/usr/bin", &words("server --all")));
    let command = words("/opt/server");
    for (value, expected) in [("check.awk", true), ("my lib/x", true), ("x", false)] {
        let found = runs_with_values(&top, "/usr/bin", &command, &[value]);
        assert_eq!(found, expected, "{value}");
    }
}

#[test]
fn git_runs_outside_only_to_read() {
    for (text, expected) in [
        ("git log -1 --format=%s", false),
        ("/usr/bin/git rev-parse HEAD", false),
        ("git commit -q --allow-empty -m checkpoint", true),
        // It writes the index, and then runs a hook.
        ("git status --porcelain", true),
        ("git -c core.pager=cat log", true),
        ("notify-send git", false),
    ] {
        let found = runs_in_sandbox(Path::new("/home/ann"), "", &line(text));
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn links_and_the_search_path_are_followed_to_what_runs() {
    let scratch = tempfile::tempdir().unwrap();
    let top = scratch.path().canonicalize().unwrap();
    for name in ["bin/own", "bin/both", "repo/.venv/bin/both", "cache/script"] {
        program(&top.join(name));
    }
    symlink(top.join("cache/script"), top.join("bin/link")).unwrap();
    symlink(top.join("bin/own"), top.join("repo/back")).unwrap();
    let found = |search_path: &str, text: &str| runs_in_sandbox(&top, search_path, &line(text));
    assert!(!found("", "~/bin/own") && found("", "~/bin/link"));
    // Agents can replace the link.
    assert!(found("", "~/repo/back"));
    let bin = top.join("bin").display().to_string();
    let venv = top.join("repo/.venv/bin").display().to_string();
    for (search_path, text, expected) in [
        (bin.clone(), "own", false),
        (bin.clone(), "link", true),
        (format!("{bin}:{venv}"), "both", false),
        (format!("{venv}:{bin}"), "both", true),
        (format!("{venv}:{bin}"), "own", false),
        (format!(".venv/bin:{bin}"), "both", true),
    ] {
        assert_eq!(found(&search_path, text), expected, "{search_path} {text}");
    }
    let directories = writable(&top);
    let search_path = format!(".venv/bin:{bin}::{venv}:/usr/bin");
    let writable = Writable {
        directories: &directories,
        home: None,
        cwd: &top.join("repo"),
        search_path: &search_path,
    };
    let expected = format!("{bin}:/usr/bin");
    assert_eq!(writable.remaining_search_path(), expected);
}

#[test]
fn without_a_home_directory_paths_below_it_may_be_of_agents() {
    let writable = Writable {
        directories: &[],
        home: None,
        cwd: Path::new("/repo"),
        search_path: "",
    };
    assert!(writable.contains_program(&line("~/bin/check"), &[]));
}
