//! A disk without room, or that may not be written to: a real one in the memory of this machine, which only the command
//! itself sees.

use serde_json::Value;
use swarm_tests::stage::{Finished, World};

use crate::scene::world;

/// Runs a command with the config directory on a disk of `size`, on which `before` has been done. `None` where none can be
/// mounted, which only root may.
fn on_disk(world: &World, size: &str, before: &str, arguments: &[&str]) -> Option<Finished> {
    let script = format!(
        "mount -t tmpfs -o size={size},mode=700 none \"$CLAUDE_CONFIG_DIR\" || exit 42\n\
         cd \"$CLAUDE_CONFIG_DIR\" && {{ {before}; }} >/dev/null 2>&1\n\
         cd / && exec \"$0\" \"$@\""
    );
    let words = ["unshare", "--mount", "sh", "-c", script.as_str()];
    let done = world.start_under(&words, arguments, &[]).wait();
    if done.code == Some(42) || done.stderr.contains("unshare:") {
        return None;
    }
    Some(done)
}

/// What the doctor finds of the config directory on such a disk.
fn found(world: &World, size: &str, before: &str) -> Option<Value> {
    let doctor = on_disk(world, size, before, &["doctor", "--json"])?;
    let all: Value = serde_json::from_str(&doctor.stdout).unwrap();
    let mut all = all.as_array().unwrap().iter();
    let root = all.find(|one| one["name"] == "config directory").cloned();
    assert!(root.is_some(), "{}", doctor.story());
    root
}

#[test]
fn the_doctor_tells_of_a_disk_that_is_full_or_nearly_so_or_may_not_be_written_to() {
    let world = world();
    let fill = "dd if=/dev/zero of=fill bs=1k";
    let disks = [
        ("64k", fill, "missing", "is full"),
        ("512k", "true", "missing", "is nearly full"),
        ("16m", "true", "warning", "MiB left"),
        ("300m", "true", "ok", "/root"),
        (
            "300m",
            "mount -o remount,ro \"$CLAUDE_CONFIG_DIR\"",
            "missing",
            "Read-only file system",
        ),
    ];
    for (size, before, state, words) in disks {
        let Some(found) = found(&world, size, before) else {
            return;
        };
        assert_eq!(found["state"], state, "{size} {before}: {found}");
        let said = found["found"].as_str().unwrap();
        assert!(said.contains(words), "{words}: {said}");
    }
}

#[test]
fn a_run_without_disk_space_reports_it_once() {
    let world = world();
    let scenario = world.write("talk.toml", "[[turn]]\n[[turn.step]]\nsay = \"done\"\n");
    let model = format!("scripted/{}", scenario.display());
    let arguments = ["run", "go", "--model", &model];
    let Some(run) = on_disk(&world, "64k", "dd if=/dev/zero of=fill bs=1k", &arguments) else {
        return;
    };
    run.assert_code(7);
    assert_eq!(
        run.stderr.matches("No space left").count(),
        1,
        "{}",
        run.story()
    );
}

#[test]
fn a_config_directory_that_became_read_only_is_reported_with_a_hint() {
    let world = world();
    let scenario = world.write("talk.toml", "[[turn]]\n[[turn.step]]\nsay = \"done\"\n");
    let model = format!("scripted/{}", scenario.display());
    let before =
        format!("\"$0\" run go --model {model} && mount -o remount,ro \"$CLAUDE_CONFIG_DIR\"");
    let arguments = ["run", "go", "--model", &model, "--json"];
    let Some(refused) = on_disk(&world, "300m", &before, &arguments) else {
        return;
    };
    let error = refused.error(7).to_string();
    assert!(
        error.contains("Read-only file system") && error.contains("make it writable"),
        "{error}"
    );
}

#[test]
fn a_full_disk_is_reported_with_a_hint() {
    let world = world();
    let fill = "dd if=/dev/zero of=fill bs=1k";
    let arguments = ["team", "create", "demo", "--json"];
    let Some(refused) = on_disk(&world, "64k", fill, &arguments) else {
        return;
    };
    let error = refused.error(7);
    assert!(error.to_string().contains("free space"), "{error}");
}
