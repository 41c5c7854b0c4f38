//! What a member may do without asking a person.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use serde_json::{Value, json};
use swarm_tests::fake_api::{Ask, Reply};

use crate::scene::{spawn_with, team_with};

/// The calls of the member, in order: a repository put together file by file below the top of the checkout, and the
/// commands that would run the program in its configuration.
fn calls(package: &std::path::Path) -> Vec<(&'static str, Value)> {
    let mark = package.join("ran");
    let config = format!(
        "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = {}\n\tfsmonitor = \"touch {}; false\"\n",
        package.display(),
        mark.display()
    );
    let write = |name: &str, content: &str| {
        let path = package.join(name);
        ("Write", json!({"file_path": path, "content": content}))
    };
    let bash = |command: &str| ("Bash", json!({ "command": command }));
    vec![
        write("HEAD", "ref: refs/heads/main\n"),
        write("config", &config),
        write("refs/x", ""),
        write("objects/x", ""),
        bash("git status"),
        // From here on the directory is complete.
        bash("git status"),
        bash("git status --short"),
        bash("cat pl/self/environ"),
        write(".husky/pre-commit", "touch ran\n"),
        write("src/lib.rs", ""),
        bash("cat ../../root/.cred*"),
        bash("grep -r token ../../root"),
        bash("grep -rn mine src a.txt"),
        (
            "Read",
            json!({"file_path": package.join("../../home/.netrc")}),
        ),
        bash("cat ../../home/.netrc"),
        (
            "Grep",
            json!({"pattern": "hunter2", "path": package.join("../../home")}),
        ),
    ]
}

/// The call before which the test itself completes the repository.
const COMPLETED: usize = 5;

#[test]
fn a_repository_prepared_by_a_member_runs_no_program_without_permission() {
    let package: Arc<OnceLock<PathBuf>> = Arc::default();
    let known = Arc::clone(&package);
    let (api, world) = team_with(move |ask: &Ask| {
        let package = known.get().unwrap();
        let done = |nth: &usize| ask.result_of(&format!("t{nth}")).is_some();
        let mut calls = calls(package);
        let nth = (0..calls.len()).find(|nth| !done(nth));
        if nth == Some(COMPLETED) {
            std::fs::create_dir_all(package.join("objects")).unwrap();
        }
        let Some(nth) = nth else {
            return Reply::text("done");
        };
        let (tool, input) = calls.swap_remove(nth);
        Reply::tool(format!("t{nth}"), tool, input)
    });
    world.write("project/pkg/a.txt", "mine\n");
    world.write("root/.credentials.json", "{\"token\": \"x\"}");
    world.write("home/.netrc", "machine example.com password hunter2\n");
    world.write("home/notes", "buy milk\n");
    world.commit_project();
    let directory = world.project().canonicalize().unwrap().join("pkg");
    std::os::unix::fs::symlink("/proc", directory.join("pl")).unwrap();
    package.set(directory.clone()).unwrap();
    let rules = json!({"permissions": {"allow": ["Edit(**)", "Bash(git status --short)"]}});
    world.write("root/settings.json", &rules.to_string());
    let more = ["--mode", "dontAsk", "--cwd", "pkg", "--prompt", "go"];
    spawn_with(&world, "bob", &more);
    let last = calls(&directory).len() - 1;
    let told = api.wait_for("all results", "bob", |ask| {
        ask.result_of(&format!("t{last}")).is_some()
    });
    let results: Vec<(String, bool)> = (0..=last)
        .map(|nth| told.ask.result_of(&format!("t{nth}")).unwrap())
        .collect();
    for (nth, failed, words) in [
        (0, false, ""),
        (1, false, ""),
        (2, false, ""),
        (3, true, "treat the directory as a repository"),
        (4, false, "On branch"),
        (5, true, "dontAsk"),
        // A rule grants this one: it runs, and git itself refuses.
        (6, true, "safe.bareRepository"),
        (7, true, "dontAsk"),
        (8, true, ".husky"),
        (9, false, ""),
        (10, true, "dontAsk"),
        (11, true, "dontAsk"),
        (12, false, "a.txt"),
        (13, true, "`sandbox.hide`"),
        (14, true, "dontAsk"),
        (15, false, "No matches."),
    ] {
        let (text, is_error) = &results[nth];
        assert!(
            *is_error == failed && text.contains(words),
            "call {nth}: {text}"
        );
    }
    assert!(!directory.join("ran").exists(), "{results:?}");
    // The repository is what it is meant to be: git alone does run the program.
    world
        .command("git")
        .arg("status")
        .current_dir(&directory)
        .output()
        .unwrap();
    assert!(directory.join("ran").exists());
    world.swarm(&["shutdown", "bob"]).ok();
}
