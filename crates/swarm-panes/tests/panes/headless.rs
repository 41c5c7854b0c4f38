//! Headless members.

use std::os::unix::fs::PermissionsExt;

use swarm_panes::{HeadlessBackend, PaneBackend, PaneStatus, PaneText};

use crate::rig::{Directory, open_sleeper, sh, spec, until, within};

fn is_running(pid: u32) -> bool {
    // A zombie has exited.
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

fn pid_of(status: &PaneStatus) -> u32 {
    match status {
        PaneStatus::Running { pid } => *pid,
        other => panic!("it runs: {other:?}"),
    }
}

#[tokio::test]
async fn a_member_is_found_and_terminated_by_another_process() {
    let directory = Directory::new();
    let (spec, pane) = open_sleeper(&HeadlessBackend::new(directory.path("members")), "ada").await;
    // Another handle has only the directory, like another process.
    let other = HeadlessBackend::new(directory.path("members"));
    let pid = pid_of(&other.status(&pane).await.unwrap());
    let (status, closed) = tokio::join!(
        within("the end is seen", other.exited(&pane)),
        other.close(&pane, &spec.spawn_id)
    );
    closed.unwrap();
    assert!(!matches!(status.unwrap(), PaneStatus::Running { .. }));
    until("the process has ended", || !is_running(pid)).await;
}

#[tokio::test]
async fn output_of_an_earlier_spawn_is_not_shown_for_a_later_one() {
    let directory = Directory::new();
    let backend = HeadlessBackend::new(directory.path("members"));
    let log = directory.path("output.log");
    for (script, shown) in [("echo boom", "boom"), ("exit 0", ""), ("echo new", "new")] {
        let spec = spec("ada");
        let pane = backend.open(&spec).await.unwrap();
        let mut command = sh(script, &[]);
        command.log = Some(log.clone());
        backend.start(&pane, &command).await.unwrap();
        backend.exited(&pane).await.unwrap();
        let text = backend.capture(&pane, PaneText::last(20)).await.unwrap();
        assert_eq!(text.trim(), shown, "{script}");
        backend.close(&pane, &spec.spawn_id).await.unwrap();
    }
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "boom\nnew\n");
}

#[tokio::test]
async fn a_pipe_as_output_file_is_rejected_without_blocking() {
    let directory = Directory::new();
    let backend = HeadlessBackend::new(directory.path("members"));
    let spec = spec("ada");
    let pane = backend.open(&spec).await.unwrap();
    let mut command = sh("exec sleep 1000000", &[]);
    let log = directory.path("output.log");
    command.log = Some(log.clone());
    backend.start(&pane, &command).await.unwrap();
    std::fs::remove_file(&log).unwrap();
    let gone = backend
        .capture(&pane, PaneText::default())
        .await
        .unwrap_err();
    assert!(gone.to_string().contains("output.log"), "{gone}");
    directory.fifo("output.log");
    let refused = backend
        .capture(&pane, PaneText::default())
        .await
        .unwrap_err();
    assert!(
        refused.to_string().contains("not a regular file"),
        "{refused}"
    );
    backend.close(&pane, &spec.spawn_id).await.unwrap();
    // Nor does the next one write to a pipe or through a link.
    let pane = backend.open(&spec).await.unwrap();
    let refused = backend.start(&pane, &command).await.unwrap_err();
    assert!(
        refused.to_string().contains("not a regular file"),
        "{refused}"
    );
    std::fs::remove_file(&log).unwrap();
    std::os::unix::fs::symlink(directory.path("victim"), &log).unwrap();
    let refused = backend.start(&pane, &command).await.unwrap_err();
    assert!(refused.to_string().contains("symbolic link"), "{refused}");
    assert!(!directory.path("victim").exists());
    backend.close(&pane, &spec.spawn_id).await.unwrap();
}

#[test]
fn a_member_outlives_the_runtime_that_started_it() {
    let directory = Directory::new();
    let runtime = || {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
    };
    let members = directory.path("members");
    let (spec, pane) =
        runtime().block_on(open_sleeper(&HeadlessBackend::new(members.clone()), "ada"));
    let backend = HeadlessBackend::new(members);
    runtime().block_on(async {
        let pid = pid_of(&backend.status(&pane).await.unwrap());
        assert!(is_running(pid));
        backend.close(&pane, &spec.spawn_id).await.unwrap();
    });
}

#[tokio::test]
async fn a_headless_process_has_no_terminal_no_input_its_own_group_and_exactly_its_environment() {
    let directory = Directory::new();
    let backend = HeadlessBackend::new(directory.path("members"));
    let pane = backend.open(&spec("ada")).await.unwrap();
    let log = directory.path("output.log");
    let script = "cut -d' ' -f5 /proc/$$/stat; wc -c; test -t 1 || echo no terminal; env; echo oops >&2; exit 4";
    let mut command = sh(script, &[]);
    command.env.push(("FOO".to_owned(), "a b;$x".to_owned()));
    command.log = Some(log.clone());
    let started = backend.start(&pane, &command).await.unwrap();
    let status = within("the end is seen", backend.exited(&pane))
        .await
        .unwrap();
    assert_eq!(status, PaneStatus::exited(4));
    let text = std::fs::read_to_string(&log).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[0],
        started.pid.unwrap().to_string(),
        "leads its own group"
    );
    assert_eq!(lines[1], "0", "no input");
    assert_eq!(lines[2], "no terminal");
    assert!(
        lines.contains(&"FOO=a b;$x") && lines.contains(&"oops"),
        "{text}"
    );
    assert!(!text.contains("CARGO"), "{text}");
    assert_eq!(
        std::fs::metadata(&log).unwrap().permissions().mode() & 0o777,
        0o600
    );
    assert_eq!(
        backend.capture(&pane, PaneText::last(1)).await.unwrap(),
        "oops"
    );
    let attach = backend.attach_command(&pane).await;
    assert_eq!(attach.last().unwrap(), log.as_os_str());
}

#[tokio::test]
async fn closing_kills_the_whole_group_even_if_it_ignores_sigterm() {
    let directory = Directory::new();
    let backend = HeadlessBackend::new(directory.path("members"));
    let spec = spec("ada");
    let pane = backend.open(&spec).await.unwrap();
    let child = directory.path("child");
    let script = "trap '' TERM; sleep 1000000 & echo $! >\"$0.part\"; mv \"$0.part\" \"$0\"; wait; wait; sleep 1000000";
    let started = backend
        .start(&pane, &sh(script, &[child.to_str().unwrap()]))
        .await
        .unwrap();
    until("the grandchild runs", || child.exists()).await;
    let grandchild: u32 = std::fs::read_to_string(&child)
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    within("it is closed", backend.close(&pane, &spec.spawn_id))
        .await
        .unwrap();
    until("both have ended", || {
        !is_running(started.pid.unwrap()) && !is_running(grandchild)
    })
    .await;
    let left: Vec<_> = std::fs::read_dir(directory.path("members"))
        .unwrap()
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test]
async fn a_damaged_record_is_ignored() {
    use std::io::Write;
    let directory = Directory::new();
    let backend = HeadlessBackend::new(directory.path("members"));
    let spec = spec("ada");
    let pane = backend.open(&spec).await.unwrap();
    let record = directory
        .path("members")
        .join(format!("{}.json", spec.spawn_id));
    std::fs::File::create(&record)
        .unwrap()
        .write_all(b"{\"team\":")
        .unwrap();
    assert_eq!(backend.status(&pane).await.unwrap(), PaneStatus::Gone);
    assert_eq!(backend.panes(&spec.team).await.unwrap(), []);
}
