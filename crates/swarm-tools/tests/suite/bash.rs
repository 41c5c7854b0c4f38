//! Bash with well-behaved and misbehaving commands.

use std::time::Duration;

use crate::scene::{self, Scene};
use serde_json::json;
use swarm_os::process;
use swarm_tools::ToolOutput;

/// Seconds; longer than any test may take.
const LONG: &str = "1000";

fn marked() -> Scene {
    let mut scene = Scene::new();
    let mut env = (*scene.ctx.env).clone();
    env.insert(
        "SWARM_SPAWN_ID".into(),
        format!("test-{}", scene.base().display()),
    );
    scene.ctx.env = std::sync::Arc::new(env);
    scene.ctx.limits.kill_grace = Duration::from_millis(300);
    scene
}

/// Counts the running processes of a scene.
fn alive(scene: &Scene) -> usize {
    process::find_by_env("SWARM_SPAWN_ID", &scene.ctx.env["SWARM_SPAWN_ID"]).len()
}

#[tokio::test]
async fn output_and_exit_code_are_shown() {
    let scene = Scene::new();
    let run = |command: &str| scene.call("Bash", json!({"command": command}));
    let output = run("echo one; echo two >&2; echo three").await;
    assert_eq!(
        (
            output.content.as_str(),
            output.is_error,
            output.one_line.as_str()
        ),
        ("one\ntwo\nthree", false, "ok, 3 lines")
    );
    let output = run("echo bad; exit 101").await;
    assert_eq!(
        (
            output.content.as_str(),
            output.is_error,
            output.one_line.as_str()
        ),
        ("Exit code 101\nbad", true, "exit 101, 1 line")
    );
    assert_eq!(run("true").await.content, "(no output)");
    assert_eq!(run("kill -9 $$").await.content, "Killed by signal 9");
    assert_eq!(run("printf 'a\\xffb'").await.content, "a\u{fffd}b");
}

#[tokio::test]
async fn the_directory_persists_between_calls_and_variables_do_not() {
    let scene = Scene::new();
    let sub = scene.path("sub");
    let input = json!({"command": "mkdir sub; cd sub; export X=1"});
    scene.ok("Bash", input).await;
    let again = json!({"command": "pwd; echo \"[$X]\""});
    let expected = format!("{}\n[]", sub.display());
    assert_eq!(scene.ok("Bash", again.clone()).await, expected);
    // It also persists if the command fails or exits, but not if the shell is replaced or a
    // subshell changes it.
    for command in [
        "mkdir -p ../more; cd ../more; exit 3",
        "cd ../sub && false",
        "cd ..; exec true",
        "(cd ..)",
        "cd .. & wait",
    ] {
        scene.call("Bash", json!({ "command": command })).await;
    }
    assert_eq!(scene.ok("Bash", again).await, expected);
    let input = json!({"command": "cd \"$OLDPWD/..\" || cd .."});
    scene.call("Bash", input).await;
    assert_eq!(
        scene.ok("Bash", json!({"command": "pwd"})).await,
        scene.ctx.cwd.display().to_string()
    );
    let input = json!({"command": "env -0 | tr '\\0' '\\n' | cut -d= -f1 | sort | tr '\\n' ' '"});
    let names = scene.ok("Bash", input).await;
    assert_eq!(names, "LANG PATH PWD SHLVL SWARM_CALL_ID SWARM_CWD _ ");
}

#[tokio::test]
async fn there_is_no_standard_input() {
    let scene = Scene::new();
    assert_eq!(
        scene
            .ok("Bash", json!({"command": "cat; read x || echo end"}))
            .await,
        "end"
    );
}

#[tokio::test]
async fn large_output_is_truncated_in_memory_and_in_the_result() {
    let scene = Scene::new();
    let output = scene.call("Bash", json!({"command": "echo first; head -c 100000000 /dev/zero | tr '\\0' 'x'; echo; echo last"})).await;
    assert!(output.content.starts_with("first\nxxx") && output.content.ends_with("xxx\nlast"));
    assert!(output.content.contains("omitted"));
    assert!(output.content.len() < 30_100, "{}", output.content.len());
    assert_eq!(output.one_line, "ok, 3 lines");
}

#[tokio::test]
async fn the_directory_is_reset_after_a_command_leaves_the_working_directory() {
    let scene = Scene::new();
    let outside = scene.base().join("outside");
    std::fs::create_dir_all(outside.join("deep")).unwrap();
    std::os::unix::fs::symlink(&outside, scene.path("link")).unwrap();
    let home = scene.ctx.cwd.display().to_string();
    for target in ["..", "/", "link", "link/deep", "../outside"] {
        let command = json!({"command": format!("cd {target}; echo there")});
        assert_eq!(
            scene.ok("Bash", command).await,
            format!("there\nShell cwd was reset to {home}"),
            "{target}"
        );
        assert_eq!(scene.ok("Bash", json!({"command": "pwd"})).await, home);
    }
    // An additional working directory.
    scene
        .ctx
        .shell
        .directory(&scene.ctx.cwd, std::slice::from_ref(&outside));
    scene.ok("Bash", json!({"command": "cd link/deep"})).await;
    assert_eq!(
        scene.ok("Bash", json!({"command": "pwd"})).await,
        outside.join("deep").display().to_string()
    );
    assert_eq!(
        scene.ctx.shell.directory(&scene.ctx.cwd, &[]),
        scene.ctx.cwd,
        "it is no longer allowed"
    );
}

#[tokio::test]
async fn a_command_runs_in_the_directory_for_which_it_was_permitted_or_not_at_all() {
    let scene = Scene::new();
    let outside = scene.base().join("outside");
    std::fs::create_dir_all(&outside).unwrap();
    let sub = scene.path("sub");
    for replaced in [false, true] {
        let input = json!({"command": "mkdir -p sub; cd sub"});
        scene.ok("Bash", input).await;
        assert_eq!(scene.ctx.shell.directory(&scene.ctx.cwd, &[]), sub);
        std::fs::remove_dir(&sub).unwrap();
        if replaced {
            std::os::unix::fs::symlink(&outside, &sub).unwrap();
        }
        let input = json!({"command": "touch made"});
        let why = scene.refused("Bash", input).await;
        assert!(why.contains("not run"), "{why}");
        assert!(why.contains("Shell cwd was reset to"), "{why}");
        assert!(!scene.path("made").exists() && !outside.join("made").exists());
        let pwd = scene.ok("Bash", json!({"command": "pwd"})).await;
        assert_eq!(pwd, scene.ctx.cwd.display().to_string());
    }
    // The next command starts in the working directory and says so.
    std::fs::remove_file(&sub).unwrap();
    let input = json!({"command": "mkdir sub; cd sub; rmdir ../sub"});
    scene.ok("Bash", input).await;
    scene.ctx.shell.directory(&scene.ctx.cwd, &[]);
    let pwd = scene.ok("Bash", json!({"command": "pwd"})).await;
    assert!(
        pwd.starts_with(&scene.ctx.cwd.display().to_string()),
        "{pwd}"
    );
}

/// Waits until a command has created the file `begun`.
async fn has_begun(scene: &Scene) {
    let begun = scene.path("begun");
    while !begun.exists() {
        tokio::task::yield_now().await;
    }
}

/// Runs a command that times out after it has created the file `begun`. The test's clock is paused
/// until then, so the speed of the machine does not matter.
async fn timed_out(scene: &Scene, command: &str) -> ToolOutput {
    let call = scene.call("Bash", json!({"command": command, "timeout": 200}));
    let time_passes = async {
        has_begun(scene).await;
        tokio::time::advance(Duration::from_millis(200)).await;
    };
    tokio::join!(call, time_passes).0
}

#[tokio::test(start_paused = true)]
async fn a_command_that_ignores_sigterm_is_killed_at_its_time_limit() {
    let scene = marked();
    let command = format!("trap '' TERM; echo begun; touch begun; while :; do sleep {LONG}; done");
    let output = timed_out(&scene, &command).await;
    assert!(
        output.is_error
            && output
                .content
                .starts_with("The command was terminated at its time limit of 200 ms.\nbegun"),
        "{}",
        output.content
    );
    assert_eq!(alive(&scene), 0);
}

#[tokio::test(start_paused = true)]
async fn a_command_has_time_to_clean_up_after_sigterm() {
    let mut scene = marked();
    scene.ctx.limits.kill_grace = Duration::from_mins(1);
    let command =
        format!("trap 'echo cleaned > done; exit' TERM; touch begun; sleep {LONG} & wait");
    let output = timed_out(&scene, &command).await;
    assert!(output.is_error);
    assert_eq!(scene.get("done"), b"cleaned\n");
    assert_eq!(alive(&scene), 0);
}

#[tokio::test(start_paused = true)]
async fn a_grandchild_that_left_the_process_group_is_terminated() {
    let scene = marked();
    let command = format!(
        "setsid sh -c 'trap \"\" TERM; touch begun; sleep {LONG}; sleep {LONG}' >/dev/null 2>&1 & setsid -f sleep {LONG}; sleep {LONG}"
    );
    let output = timed_out(&scene, &command).await;
    assert!(output.one_line.starts_with("timed out"), "{output:?}");
    assert_eq!(alive(&scene), 0);
}

#[tokio::test]
async fn an_interruption_terminates_the_process_tree() {
    let scene = marked();
    let cancel = scene.ctx.cancel.clone();
    let command = format!("setsid -f sleep {LONG}; touch begun; sleep {LONG}");
    let call = scene.call("Bash", json!({"command": command}));
    let interrupt = async {
        has_begun(&scene).await;
        cancel.cancel();
    };
    let (output, ()) = tokio::join!(call, interrupt);
    // The shell may still report that its command was terminated.
    assert!(output.one_line.starts_with("interrupted, "), "{output:?}");
    assert_eq!(alive(&scene), 0);
}

#[tokio::test(start_paused = true)]
async fn orphans_of_a_terminated_command_are_reaped() {
    // As in a lead and a teammate: orphans become children of this process.
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).unwrap();
    let scene = marked();
    let command = format!(
        "sh -c 'trap \"\" TERM; echo $$ > orphan; touch begun; sleep {LONG}; sleep {LONG}' & wait"
    );
    let output = timed_out(&scene, &command).await;
    assert!(output.one_line.starts_with("timed out"), "{output:?}");
    let orphan = format!("/proc/{}", pid_in(&scene, "orphan"));
    assert!(!std::path::Path::new(&orphan).exists(), "{orphan}");
}

/// Reads the pid that a command wrote to a file.
fn pid_in(scene: &Scene, file: &str) -> String {
    let pid = String::from_utf8(scene.get(file)).unwrap();
    pid.trim().to_owned()
}

/// Waits until a process was reaped: a zombie still has a directory.
async fn until_reaped(pid: &str) {
    let directory = std::path::PathBuf::from(format!("/proc/{pid}"));
    let gone = async {
        while directory.exists() {
            tokio::task::yield_now().await;
        }
    };
    let gone = tokio::time::timeout(Duration::from_secs(20), gone).await;
    assert!(gone.is_ok(), "process {pid} is still there");
}

#[tokio::test]
async fn a_background_process_that_ends_after_its_command_is_reaped() {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).unwrap();
    let scene = marked();
    let command =
        "sh -c 'while [ ! -e go ]; do sleep 0.01; done' >/dev/null 2>&1 & echo $! > orphan";
    scene.ok("Bash", json!({"command": command})).await;
    let orphan = pid_in(&scene, "orphan");
    assert!(alive(&scene) > 0, "it outlives the call");
    scene.put("go", "");
    until_reaped(&orphan).await;
}

/// Starts a command, and drops the call once the file `begun` exists.
async fn drop_once_begun(scene: &Scene, command: &str) {
    tokio::select! {
        output = scene.call("Bash", json!({"command": command})) => panic!("{output:?}"),
        () = has_begun(scene) => {}
    }
}

#[tokio::test]
async fn the_processes_of_a_dropped_call_are_reaped() {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).unwrap();
    let scene = marked();
    let command = format!(
        "sleep {LONG} & echo $! > orphan; setsid sh -c 'echo $$ > left; touch begun; exec sleep {LONG}'"
    );
    drop_once_begun(&scene, &command).await;
    for file in ["orphan", "left"] {
        until_reaped(&pid_in(&scene, file)).await;
    }
}

#[tokio::test]
async fn a_dropped_call_leaves_no_process() {
    let scene = marked();
    let command = format!("setsid -f sleep {LONG}; touch begun; sleep {LONG}");
    drop_once_begun(&scene, &command).await;
    // The signal was sent; the kernel may need a moment to deliver it.
    while alive(&scene) > 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_background_process_that_holds_the_output_does_not_block_the_call() {
    let scene = marked();
    let output = scene
        .call(
            "Bash",
            json!({"command": format!("sleep {LONG} & echo done")}),
        )
        .await;
    assert!(
        !output.is_error
            && output
                .content
                .starts_with("done\n[still running in the background"),
        "{}",
        output.content
    );
    assert_eq!(alive(&scene), 1, "it is still running");
    let ended = process::end_marked(
        "SWARM_SPAWN_ID",
        &scene.ctx.env["SWARM_SPAWN_ID"],
        process::GRACE,
    )
    .await;
    assert_eq!((ended.found, ended.killed, ended.left), (1, 0, 0));
    assert_eq!(alive(&scene), 0);
}

#[tokio::test]
async fn a_background_process_may_write_after_the_call() {
    let scene = marked();
    let command =
        "(while [ ! -e go ]; do sleep 0.01; done; echo late; echo survived > proof) & echo done";
    scene.ok("Bash", json!({"command": command})).await;
    scene.put("go", "");
    while !scene.path("proof").exists() {
        tokio::task::yield_now().await;
    }
    while alive(&scene) > 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_call_waits_for_a_command_that_has_closed_its_output() {
    let scene = marked();
    let input = json!({"command": "exec >&- 2>&-; sleep 0.2; echo x > proof"});
    scene.ok("Bash", input).await;
    assert_eq!(scene.get("proof"), b"x\n");
}

#[tokio::test]
async fn invalid_calls_are_refused_with_a_reason() {
    let scene = Scene::new();
    for (input, why) in [
        (json!({"command": "  "}), "is empty"),
        (json!({"command": "a\0b"}), "NUL"),
        (json!({}), "missing parameter `command`"),
        (
            json!({"command": "true", "run_in_background": true}),
            "Background commands are not available here",
        ),
        (
            json!({"command": "true", "timeout": 0}),
            "at least 1 millisecond",
        ),
        (
            json!({"command": "true", "cwd": "/"}),
            "unknown parameter `cwd`",
        ),
    ] {
        let said = scene.refused("Bash", input).await;
        assert!(said.contains(why), "{said}");
    }
    std::fs::remove_dir(&scene.ctx.cwd).unwrap();
    assert!(
        scene
            .refused("Bash", json!({"command": "true"}))
            .await
            .contains("no longer exists")
    );
}

#[tokio::test]
async fn a_pane_shows_a_call_in_one_line() {
    let bash = scene::tool_named("Bash");
    assert_eq!(
        bash.one_line(&json!({"command": "cargo test"})),
        "Bash cargo test"
    );
    assert_eq!(
        bash.one_line(&json!({"command": "a\n\u{1b}[2Jb"})),
        "Bash a [2Jb"
    );
    let read = scene::tool_named("Read");
    assert_eq!(
        read.one_line(&json!({"file_path": "/w/src/lib.rs"})),
        "Read /w/src/lib.rs"
    );
    assert_eq!(read.one_line(&json!({})), "Read ");
}
