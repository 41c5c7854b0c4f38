//! Finds and terminates processes by their environment.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use swarm_os::process::{self, Ended, Identity, Process, Target};

const MARK: &str = "SWARM_TEST_MARK";

fn mark(test: &str) -> String {
    format!("{test}-{}", std::process::id())
}

fn start(mark: &str, script: &str) -> Child {
    Command::new("sh")
        .args(["-c", script])
        .env(MARK, mark)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

fn until(mut holds: impl FnMut() -> bool) {
    while !holds() {
        std::thread::yield_now();
    }
}

fn count(mark: &str) -> usize {
    process::find_by_env(MARK, mark).len()
}

#[test]
fn a_mark_must_match_the_whole_value() {
    let mark = mark("whole");
    let mut child = start(&mark, "exec sleep 1000");
    until(|| count(&mark) == 1);
    let pid = i32::try_from(child.id()).unwrap();
    assert_eq!(process::find_by_env(MARK, &mark)[0].pid, pid);
    assert_eq!(count(&mark[..mark.len() - 1]), 0);
    assert_eq!(process::find_by_env("SWARM_TEST", &mark), []);
    child.kill().unwrap();
    until(|| count(&mark) == 0);
    child.wait().unwrap();
}

#[tokio::test]
async fn a_process_with_a_cleared_environment_is_found_through_its_parent() {
    let mark = mark("wiped");
    let mut child = start(&mark, "env -i setsid sleep 1001 & sleep 1002; sleep 1003");
    until(|| count(&mark) == 2);
    let ended = process::end_marked(MARK, &mark, Duration::from_secs(20)).await;
    assert_eq!((ended.found >= 3, ended.left), (true, 0), "{ended:?}");
    child.wait().unwrap();
}

#[tokio::test]
async fn processes_that_ignore_sigterm_are_killed_and_counted() {
    let mark = mark("stubborn");
    let mut child = start(&mark, "trap '' TERM; sleep 1004");
    until(|| count(&mark) == 2);
    let ended = process::end_marked(MARK, &mark, Duration::from_millis(50)).await;
    assert_eq!(
        ended,
        Ended {
            found: 2,
            killed: 2,
            left: 0
        }
    );
    child.wait().unwrap();
}

#[tokio::test]
async fn a_process_that_cleans_up_is_killed_after_the_others() {
    let mark = mark("cleanup");
    let directory = tempfile::tempdir().unwrap();
    let done = directory.path().join("done");
    // The sleeping process ignores SIGTERM; the shell cleans up once it has exited.
    let script = "trap 'wait; : >\"$0\"; exit' TERM; (trap '' TERM; exec sleep 1016) & wait";
    let mut child = Command::new("sh")
        .args(["-c", script])
        .arg(&done)
        .env(MARK, &mark)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    until(|| {
        let all = process::all_marked(MARK, &[MARK]);
        let mut all = all.iter().filter(|one| one.variables[MARK] == mark);
        all.any(|one| one.command == "sleep 1016")
    });
    let target = Target {
        marks: vec![(MARK.to_owned(), mark.clone())],
        cleans_up: Some("-c"),
        ..Target::default()
    };
    let ended = process::end(target, Duration::from_millis(50)).await;
    assert_eq!((ended.killed, ended.left), (1, 0), "{ended:?}");
    assert!(done.exists());
    child.wait().unwrap();
}

#[tokio::test]
async fn processes_that_keep_forking_are_terminated() {
    let mark = mark("respawn");
    let mut child = start(
        &mark,
        "trap '' TERM; while :; do sh -c 'trap \"\" TERM; sleep 0.01'; setsid -f sleep 1005; done",
    );
    until(|| count(&mark) > 4);
    let ended = process::end_marked(MARK, &mark, Duration::from_millis(20)).await;
    assert_eq!(ended.left, 0);
    assert_eq!(count(&mark), 0);
    child.wait().unwrap();
}

#[tokio::test]
async fn processes_with_another_mark_are_not_terminated() {
    let (ours, theirs) = (mark("ours"), mark("theirs"));
    let mut one = start(&ours, "exec sleep 1006");
    let mut other = start(&theirs, "exec sleep 1007");
    until(|| count(&ours) + count(&theirs) == 2);
    process::end_marked(MARK, &ours, Duration::from_secs(20)).await;
    assert_eq!((count(&ours), count(&theirs)), (0, 1));
    one.wait().unwrap();
    other.kill().unwrap();
    other.wait().unwrap();
}

#[tokio::test]
async fn processes_of_another_existing_home_are_spared_and_those_of_a_missing_one_are_not() {
    const HOME: &str = "SWARM_TEST_HOME";
    let mark = mark("home");
    let directory = tempfile::tempdir().unwrap();
    let [ours, theirs, link, gone] =
        ["ours", "theirs", "link", "gone"].map(|name| directory.path().join(name));
    std::fs::create_dir(&ours).unwrap();
    std::fs::create_dir(&theirs).unwrap();
    std::os::unix::fs::symlink(&ours, &link).unwrap();
    let mut children = [&ours, &link, &gone, &theirs].map(|home| {
        let mut command = Command::new("sleep");
        command.arg("1008").env(MARK, &mark).env(HOME, home);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command.spawn().unwrap()
    });
    until(|| count(&mark) == children.len());
    let target = Target {
        marks: vec![(MARK.to_owned(), mark.clone())],
        identity: Some(Identity::new(HOME, ours)),
        ..Target::default()
    };
    process::end(target, Duration::from_secs(20)).await;
    let other = children.last_mut().unwrap();
    assert_eq!(other.try_wait().unwrap(), None);
    assert_eq!(count(&mark), 1);
    other.kill().unwrap();
    for child in &mut children {
        child.wait().unwrap();
    }
}

#[tokio::test]
async fn a_known_process_is_terminated_with_its_descendants_without_a_mark() {
    let mark = mark("known");
    let mut child = start(&mark, "env -i setsid sleep 1011 & exec env -i sleep 1012");
    let pid = i32::try_from(child.id()).unwrap();
    // From here on they are identified by pid only.
    until(|| count(&mark) == 0);
    let process = known(pid);
    let end = |process: Process| {
        let target = Target {
            processes: process.into(),
            ..Target::default()
        };
        process::end(target, Duration::from_secs(20))
    };
    let earlier = Process {
        start: process.start - 1,
        ..process
    };
    assert_eq!(end(earlier).await, Ended::default(), "the pid was reused");
    let ended = end(process).await;
    assert_eq!((ended.found, ended.left), (2, 0), "{ended:?}");
    child.wait().unwrap();
}

#[tokio::test]
async fn a_spared_process_is_not_terminated_unlike_its_descendants() {
    let mark = mark("spared");
    let mut child = start(&mark, "sleep 1017 & sleep 1018 & wait; exec sleep 1019");
    until(|| count(&mark) == 3);
    let target = Target {
        marks: vec![(MARK.to_owned(), mark.clone())],
        spared: known(i32::try_from(child.id()).unwrap()).into(),
        ..Target::default()
    };
    let ended = process::end(target, Duration::from_secs(20)).await;
    assert_eq!((ended.found, ended.left), (2, 0), "{ended:?}");
    assert_eq!(child.try_wait().unwrap(), None);
    child.kill().unwrap();
    child.wait().unwrap();
}

fn known(pid: i32) -> Process {
    Process::running(pid.cast_unsigned()).unwrap()
}

/// Set in the process that terminates all of its descendants, in which no other test may run.
const ALONE: &str = "SWARM_TEST_ALONE";

#[test]
fn a_target_of_the_calling_process_selects_its_descendants_only() {
    let ran = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "terminates_own_descendants_in_a_separate_process",
            "--ignored",
        ])
        .env(ALONE, "1")
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&ran.stdout);
    assert!(output.contains("1 passed"), "{output}");
}

#[tokio::test]
#[ignore = "runs in a separate process, started by the test above"]
#[expect(
    clippy::disallowed_methods,
    reason = "the test above sets the variable"
)]
async fn terminates_own_descendants_in_a_separate_process() {
    if std::env::var_os(ALONE).is_none() {
        return;
    }
    let mut child = Command::new("sleep")
        .arg("1014")
        .env_clear()
        .spawn()
        .unwrap();
    let target = Target {
        processes: known(i32::try_from(std::process::id()).unwrap()).into(),
        ..Target::default()
    };
    let ended = process::end(target, Duration::from_secs(20)).await;
    assert_eq!((ended.found, ended.left), (1, 0), "{ended:?}");
    child.wait().unwrap();
}

#[tokio::test]
async fn one_target_selects_several_marks() {
    let marks = ["one", "two"].map(mark);
    let mut children = marks.clone().map(|mark| start(&mark, "exec sleep 1013"));
    until(|| marks.iter().map(|mark| count(mark)).sum::<usize>() == 2);
    let target = Target {
        marks: marks
            .iter()
            .map(|mark| (MARK.to_owned(), mark.clone()))
            .collect(),
        ..Target::default()
    };
    let ended = process::end(target, Duration::from_secs(20)).await;
    assert_eq!((ended.found, ended.left), (2, 0), "{ended:?}");
    for child in &mut children {
        child.wait().unwrap();
    }
}

#[tokio::test]
async fn an_empty_target_is_not_an_error() {
    let ended = process::end_marked(MARK, "no such mark", Duration::from_secs(20)).await;
    assert_eq!(ended, Ended::default());
    process::kill_now(&Target {
        marks: vec![(MARK.into(), "no such mark".into())],
        ..Target::default()
    });
}

/// Returns whether this machine permits mount namespaces.
fn can_unshare_mounts() -> bool {
    let tried = Command::new("unshare").args(["-Urm", "true"]).status();
    tried.is_ok_and(|status| status.success())
}

#[tokio::test]
async fn a_marked_process_in_another_container_is_not_terminated() {
    if !can_unshare_mounts() {
        return;
    }
    let mark = mark("container");
    // Without a parent, like the processes of a container.
    let script = "setsid -f unshare -Urm sleep 1008; setsid -f sleep 1009";
    start(&mark, script).wait().unwrap();
    let sleeping = |time: &str| {
        let mut all = process::all_marked(MARK, &[MARK]);
        let command = format!("sleep {time}");
        all.retain(|one| one.variables[MARK] == mark && one.command == command);
        all.pop()
    };
    until(|| sleeping("1008").is_some() && sleeping("1009").is_some());
    let theirs = sleeping("1008").unwrap();
    assert!(!theirs.is_ours && sleeping("1009").unwrap().is_ours);
    let ended = process::end_marked(MARK, &mark, Duration::from_secs(20)).await;
    assert_eq!((ended.found, ended.left), (1, 0), "{ended:?}");
    assert!(sleeping("1008").is_some() && sleeping("1009").is_none());
    let pid = rustix::process::Pid::from_raw(theirs.process.pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

#[tokio::test]
async fn descendants_with_other_namespaces_are_terminated() {
    if !can_unshare_mounts() {
        return;
    }
    let mark = mark("sandbox");
    let mut child = start(
        &mark,
        "exec unshare -Urm sh -c 'trap \"\" TERM; sleep 1010'",
    );
    until(|| count(&mark) >= 2);
    let ended = process::end_marked(MARK, &mark, Duration::from_millis(50)).await;
    assert_eq!(ended.left, 0, "{ended:?}");
    assert_eq!(count(&mark), 0);
    child.wait().unwrap();
}
