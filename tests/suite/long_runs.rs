//! `scripts/bench` and `scripts/stress` as a person calls them: what cannot be meant is told before anything is built, and a run
//! that is cut short leaves nothing.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use swarm_tests::{wait_for, wait_until};

/// A script with arguments, where no compiler is: one that builds fails in another way.
fn script(name: &str, arguments: &[&str]) -> Output {
    let script = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../scripts")
        .join(name);
    Command::new("bash")
        .arg(script)
        .args(arguments)
        .env("PATH", "/usr/bin:/bin")
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stderr[..], &output.stdout[..]].concat()).into_owned()
}

#[test]
fn what_makes_no_sense_is_told_before_anything_is_built() {
    for (name, arguments, told) in [
        ("bench", &["nonsense"][..], "the rows are message send"),
        ("bench", &["--what"], "unknown option --what"),
        ("bench", &["--minutes", "soon"], "--minutes needs a number"),
        ("bench", &["soak", "--members"], "--members needs a number"),
        ("stress", &["nonsense"], "the parts are mail others"),
        ("stress", &["--seed", "x"], "--seed needs a number"),
        ("stress", &["-x"], "unknown option -x"),
    ] {
        let output = script(name, arguments);
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
        assert!(said(&output).contains(told), "{}", said(&output));
    }
    for name in ["bench", "stress"] {
        let output = script(name, &["--help"]);
        assert!(output.status.success(), "{}", said(&output));
        let usage = format!("scripts/{name} [");
        assert!(said(&output).contains(&usage), "{}", said(&output));
    }
}

#[test]
fn scripts_and_programs_know_the_same_rows_and_parts() {
    let listed = |output: &Output| {
        let said = said(output);
        let (_, listed) = said.split_once(" are ").unwrap();
        let listed = listed.lines().next().unwrap().replace(',', "");
        listed.split(' ').map(str::to_owned).collect::<Vec<_>>()
    };
    for (name, program) in [
        ("bench", env!("CARGO_BIN_EXE_bench")),
        ("stress", env!("CARGO_BIN_EXE_stress")),
    ] {
        let output = Command::new(program).arg("nonsense").output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
        let mut by_script = listed(&script(name, &["nonsense"]));
        // The script measures it by itself.
        by_script.retain(|row| row != "build");
        assert_eq!(by_script, listed(&output));
    }
}

/// The directory of a run that a process guards, once the run goes on.
fn directory_of(guard: u32) -> Option<PathBuf> {
    let parent = format!("PPid:\t{guard}\n");
    std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .find_map(|entry| {
            let status = std::fs::read_to_string(entry.path().join("status")).ok()?;
            let environ = std::fs::read(entry.path().join("environ")).ok()?;
            let environ = String::from_utf8_lossy(&environ);
            let mark = |variable: &str| Some(variable.strip_prefix("SWARM_RUN_DIRECTORY=")?.into());
            status
                .contains(&parent)
                .then(|| environ.split('\0').find_map(mark))?
        })
}

/// The processes that bear the mark of a run.
fn of_run(directory: &Path) -> usize {
    let mark = format!("SWARM_RUN_DIRECTORY={}", directory.display());
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let environs = entries.filter_map(|entry| std::fs::read(entry.path().join("environ")).ok());
    environs
        .filter(|environ| {
            String::from_utf8_lossy(environ)
                .split('\0')
                .any(|one| one == mark)
        })
        .count()
}

#[test]
fn a_run_that_is_cut_short_leaves_no_process_and_no_directory() {
    let mut guard = Command::new(env!("CARGO_BIN_EXE_stress"))
        .args(["mail", "--seed", "1"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let directory = wait_for("the run", String::new, || directory_of(guard.id()));
    let places = wait_for("its ground and its workers", String::new, || {
        let places = std::fs::read_to_string(directory.join("places")).ok()?;
        (places.ends_with('\n') && of_run(&directory) > 1).then_some(places)
    });
    kill_process(Pid::from_child(&guard), Signal::INT).unwrap();
    let ended = wait_until("its end", swarm_tests::DEADLINE, || {
        guard.try_wait().unwrap()
    });
    let ended = ended.unwrap_or_else(|_| {
        guard.kill().unwrap();
        guard.wait().unwrap()
    });
    assert_eq!(ended.code(), Some(130));
    assert_eq!(of_run(&directory), 0);
    assert!(!directory.exists());
    for place in places.lines() {
        assert!(!Path::new(place).exists(), "{place}");
    }
}
