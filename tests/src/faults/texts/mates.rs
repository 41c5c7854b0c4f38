//! Texts in the parameters of a spawn: worktree, branch, directory, model, variables, prompt.

use std::path::Path;

use super::scene::Scene;

/// As the name of a worktree.
pub(super) fn work_tree(scene: &Scene, text: &str) {
    let flag = format!("--worktree={text}");
    let letters = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let part = |part: &str| !part.is_empty() && !part.starts_with('.') && part.chars().all(letters);
    if text.len() <= 64 && text.split('/').all(part) {
        let name = scene.spawn_ok(&[&flag]);
        let member = scene.world.team("demo").member(&name).expect("the member");
        let path = member["worktreePath"].as_str().unwrap_or_default();
        let directory = scene.world.project().join(".claude/worktrees");
        assert_eq!(
            Path::new(path).parent(),
            Some(directory.as_path()),
            "{path}"
        );
    } else {
        scene.refused(&["spawn", "x", &flag], &[2]);
        scene.refused(&["worktree", "remove", "--", text], &[2, 3]);
        scene.refused(&["worktree", "merge", "--", text], &[2, 3]);
    }
}

/// As the base branch of worktrees, if git permits it.
pub(super) fn branch(scene: &Scene, text: &str) {
    let text = text.replace(' ', "${IFS}");
    let git = |words: &[&str]| {
        let mut command = scene.world.command("git");
        let output = command.args(words).output().expect("git");
        output.status.success()
    };
    if !git(&["branch", "--", &text]) {
        return;
    }
    assert!(git(&[
        "symbolic-ref",
        "HEAD",
        &format!("refs/heads/{text}")
    ]));
    let name = scene.spawn_ok(&["--worktree"]);
    scene.shows(&["worktree", "list"]);
    scene.swarm(&["worktree", "merge", &name]).ok();
    scene.end_members();
    assert!(git(&["symbolic-ref", "HEAD", "refs/heads/main"]));
}

/// As the working directory of a member.
pub(super) fn directory(scene: &Scene, number: usize) {
    let text = &scene.texts[number];
    let directory = format!("{}/odd/{number}/{text}", scene.world.project().display());
    let flag = format!("--cwd={directory}");
    if std::fs::create_dir_all(&directory).is_err() {
        scene.refused(&["spawn", "x", &flag], &[2, 3]);
        return;
    }
    let name = scene.spawn_ok(&[&flag]);
    let hello = scene.world.team("demo").hello(&name);
    let meant = std::fs::canonicalize(&directory).expect("the directory");
    let stands = Path::new(hello["cwd"].as_str().expect("a directory")).to_owned();
    assert_eq!(std::fs::canonicalize(stands).expect("a directory"), meant);
}

/// As the name of a model.
pub(super) fn model(scene: &Scene, text: &str) {
    let (_, told) = scene.spawn(&[&format!("--model={text}"), "--prompt", "hello"]);
    if told.code != Some(0) {
        assert!(matches!(told.code, Some(2 | 3 | 5 | 7)), "{}", told.story());
        assert!(told.stdout.is_empty(), "{}", told.story());
    }
}

/// As the value of a variable, which arrives unchanged, and as its name.
pub(super) fn variable(scene: &Scene, number: usize) {
    let text = &scene.texts[number];
    // Where the sandbox lets the mate write.
    let out = scene.world.project().join("odd");
    std::fs::create_dir_all(&out).expect("a directory");
    let words = [
        &format!("--env=V={text}"),
        &format!("--env=OUT={}", out.display()),
        "--mode=bypassPermissions",
        &format!("--prompt=env#{number}"),
    ];
    scene.spawn_ok(&words);
    let file = out.join(format!("env-{number}"));
    scene.world.wait_for("the value is written down", || {
        (std::fs::read_to_string(&file).ok()? == *text).then_some(())
    });
    let letters = text.chars().all(|c| c.is_ascii_alphanumeric());
    if !letters {
        let flag = format!("--env={text}=x");
        scene.refused(&["spawn", "x", &flag], &[2]);
    }
}

/// As the prompt, which arrives unchanged.
pub(super) fn prompt(scene: &Scene, text: &str) {
    let name = scene.spawn_ok(&[&format!("--prompt={text}")]);
    scene
        .api
        .wait_for("the prompt", &name, |ask| ask.has_seen(text));
}
