//! Files and directories: atomic replacement, private modes, containment.

use std::fs::{self, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use swarm_os::{
    Appendable, LifeHolder, OsError, append_durable, check_own_dir, create_private_dir,
    create_private_file, create_sidecar, ensure_private_dir, lock_support, names_in,
    open_for_appending, quarantine, read_ending, read_optional, remove_tree, rename_no_replace,
    replace_alone, sweep_temporaries,
};

use crate::children::{Child, LockFixture, command};

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn files_and_directories_are_private_under_any_umask() {
    let directory = tempfile::tempdir().unwrap();
    Child::start("creates private files", directory.path()).finish();
    for umask in ["000", "022", "277", "777"] {
        let inside = directory.path().join(format!("umask-{umask}"));
        let mode = |name: &str| fs::metadata(inside.join(name)).unwrap().mode() & 0o7777;
        for name in ["", "a", "a/b"] {
            assert_eq!(mode(name), 0o700, "{name} under {umask}");
        }
        for name in ["file", "sidecar", "replaced", "appended", "life"] {
            assert_eq!(mode(name), 0o600, "{name} under {umask}");
        }
    }
}

#[test]
fn all_operations_refuse_symbolic_links_and_do_not_change_their_targets() {
    let (directory, mut fixture) = LockFixture::fresh();
    let victim = directory.path().join("victim");
    fs::copy(&fixture.data, &victim).unwrap();
    let link = directory.path().join("link");
    symlink(&victim, &link).unwrap();
    fixture.data.clone_from(&link);
    let refusals = [
        read_optional(&link).map(drop),
        replace_alone(&link, b"x"),
        append_durable(&link, b"x"),
        Appendable::open(&link).map(drop),
        open_for_appending(&link).map(drop),
        create_sidecar(&link),
        LifeHolder::take(&link, b"x").map(drop),
        check_own_dir(&link),
        remove_tree(&link),
        fixture.within(Duration::from_secs(1), |held| held.replace(&link, b"x")),
    ];
    for refused in refusals {
        assert!(
            matches!(refused, Err(OsError::NotOurs { .. })),
            "{refused:?}"
        );
    }
    // Separate, because these would block if they followed the link.
    let refused = swarm_os::probe(&link);
    assert!(matches!(refused, Err(OsError::NotOurs { .. })));
    let refused = swarm_os::wait_for_death(&link);
    assert!(matches!(refused, Err(OsError::NotOurs { .. })));
    assert_eq!(fs::read(&victim).unwrap(), b"0");
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(fixture.leftovers().is_empty());
}

#[test]
fn a_sidecar_that_became_a_link_is_refused() {
    let (directory, fixture) = LockFixture::fresh();
    let elsewhere = directory.path().join("elsewhere");
    fs::rename(&fixture.sidecar, &elsewhere).unwrap();
    symlink(&elsewhere, &fixture.sidecar).unwrap();
    let refused = fixture.within(Duration::from_secs(1), |_| Ok(()));
    assert!(matches!(refused, Err(OsError::NotOurs { .. })));
}

#[test]
fn a_fifo_is_refused_without_blocking() {
    let directory = tempfile::tempdir().unwrap();
    let fifo = directory.path().join("fifo");
    let made = Command::new("mkfifo").arg(&fifo).status().unwrap();
    assert!(made.success());
    for refused in [
        read_optional(&fifo).map(drop),
        read_ending(&fifo, 1).map(drop),
        append_durable(&fifo, b"x"),
        Appendable::open(&fifo).map(drop),
        open_for_appending(&fifo).map(drop),
    ] {
        assert!(
            matches!(refused, Err(OsError::NotOurs { .. })),
            "{refused:?}"
        );
    }
    let refused = read_optional(directory.path());
    assert!(
        matches!(refused, Err(OsError::NotOurs { .. })),
        "a directory"
    );
}

#[test]
fn a_partial_line_written_since_the_file_was_opened_is_completed() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    assert!(Appendable::open(&file).unwrap().is_none());
    replace_alone(&file, b"one\n").unwrap();
    let opened = Appendable::open(&file).unwrap().unwrap();
    let mut killed = open_for_appending(&file).unwrap();
    killed.write_all(b"ha").unwrap();
    opened.append(b"two").unwrap().sync().unwrap();
    assert_eq!(fs::read(&file).unwrap(), b"one\nha\ntwo\n");
}

#[test]
fn appending_writes_to_the_file_that_was_opened() {
    let directory = tempfile::tempdir().unwrap();
    let (file, other) = (
        directory.path().join("file"),
        directory.path().join("other"),
    );
    replace_alone(&file, b"half").unwrap();
    let mut open = open_for_appending(&file).unwrap();
    let victim = directory.path().join("victim");
    create_private_file(&victim).unwrap();
    fs::rename(&file, &other).unwrap();
    symlink(&victim, &file).unwrap();
    open.write_all(b"whole\n").unwrap();
    assert_eq!(fs::read(&other).unwrap(), b"half\nwhole\n");
    assert_eq!(fs::read(&victim).unwrap(), b"");
    // The change would be visible under the second name too.
    fs::hard_link(&other, directory.path().join("twin")).unwrap();
    let refused = open_for_appending(&other);
    assert!(
        matches!(refused, Err(OsError::NotOurs { .. })),
        "{refused:?}"
    );
}

#[test]
fn read_ending_returns_at_most_the_whole_file() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    assert_eq!(read_ending(&file, 4).unwrap(), None);
    replace_alone(&file, b"one two").unwrap();
    for (limit, end) in [(0, ""), (3, "two"), (7, "one two"), (100, "one two")] {
        let read = read_ending(&file, limit).unwrap().unwrap();
        assert_eq!(read, end.as_bytes(), "{limit}");
    }
}

#[test]
fn a_directory_that_cannot_be_listed_is_an_error_and_a_missing_one_is_none() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    assert_eq!(names_in(&file).unwrap(), None, "there is none");
    create_private_file(&file).unwrap();
    let refused = names_in(&file);
    assert!(matches!(refused, Err(OsError::Io { .. })), "{refused:?}");
}

#[test]
fn another_users_file_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    create_private_file(&file).unwrap();
    if std::os::unix::fs::chown(&file, Some(12345), None).is_err() {
        eprintln!("skipped: only root can give files away");
        return;
    }
    for refused in [read_optional(&file).map(drop), append_durable(&file, b"x")] {
        assert!(
            matches!(refused, Err(OsError::NotOurs { .. })),
            "{refused:?}"
        );
    }
}

#[test]
fn a_missing_file_is_none_and_a_missing_directory_is_gone() {
    let directory = tempfile::tempdir().unwrap();
    let missing = directory.path().join("no/such");
    assert!(read_optional(&missing).unwrap().is_none());
    let refusals = [
        replace_alone(&missing, b"x"),
        append_durable(&missing, b"x"),
        create_private_file(&missing),
        create_private_dir(&missing),
        create_sidecar(&missing),
        check_own_dir(&missing),
        LifeHolder::take(&missing, b"x").map(drop),
        quarantine(&missing).map(drop),
    ];
    for refused in refusals {
        assert!(matches!(refused, Err(OsError::Gone(_))), "{refused:?}");
    }
    assert!(names(directory.path()).is_empty());
}

/// A full disk, simulated by a limit on file sizes.
#[test]
fn a_failed_write_leaves_the_old_content_and_no_temporary_files() {
    let (_directory, fixture) = LockFixture::fresh();
    let old = "7".repeat(3000);
    replace_alone(&fixture.data, old.as_bytes()).unwrap();
    let role = command("increments once", &fixture.directory);
    // `ulimit -f` counts blocks of 512 bytes; the accompanying signal is ignored.
    let failed = Command::new("sh")
        .args(["-c", r#"trap "" XFSZ; ulimit -f 4; exec "$@""#, "sh"])
        .arg(role.get_program())
        .args(role.get_args())
        .envs(
            role.get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .output()
        .unwrap();
    assert!(!failed.status.success());
    assert_eq!(fixture.content(), old);
    assert!(fixture.leftovers().is_empty());
}

#[test]
fn appending_processes_keep_every_line_whole() {
    let (_directory, fixture) = LockFixture::fresh();
    fs::remove_file(&fixture.data).unwrap();
    let children: Vec<_> = (0..8)
        .map(|_| Child::start("appends", &fixture.directory))
        .collect();
    children.into_iter().for_each(Child::finish);
    let lines: Vec<_> = fixture.content().lines().map(str::to_owned).collect();
    // A writer may see another line half written and add a second line break.
    let whole = lines.iter().filter(|line| !line.is_empty());
    assert_eq!(whole.clone().count(), 400);
    assert!(whole.into_iter().all(|line| line.len() == 3000));
}

#[test]
fn appending_completes_a_partial_last_line_with_a_line_break() {
    let directory = tempfile::tempdir().unwrap();
    let journal = directory.path().join("journal");
    append_durable(&journal, b"one\n").unwrap();
    append_durable(&journal, b"half a li").unwrap();
    let torn = fs::read(&journal).unwrap();
    replace_alone(&journal, &torn[..torn.len() - 1]).unwrap();
    append_durable(&journal, b"three\n").unwrap();
    let lines = fs::read_to_string(&journal).unwrap();
    assert_eq!(lines, "one\nhalf a li\nthree\n");
}

#[test]
fn a_line_that_was_written_in_part_is_reported() {
    let (_directory, fixture) = LockFixture::fresh();
    let mut child = Child::start("appends more than a file may hold", &fixture.directory);
    let error = child.says();
    assert!(error.contains("could not append"), "{error}");
    child.finish();
    append_durable(&fixture.data, b"next").unwrap();
    assert_eq!(fixture.content(), "0\na longer\nnext\n");
}

#[test]
fn creating_an_existing_file_or_directory_fails_and_ensuring_it_succeeds() {
    let directory = tempfile::tempdir().unwrap();
    let (dir, file) = (directory.path().join("dir"), directory.path().join("file"));
    for expected in [true, false] {
        assert_eq!(create_private_dir(&dir).is_ok(), expected);
        assert_eq!(create_private_file(&file).is_ok(), expected);
        ensure_private_dir(&dir).unwrap();
        create_sidecar(&file).unwrap();
    }
    assert!(matches!(create_private_dir(&file), Err(OsError::Exists(_))));
    assert!(matches!(
        ensure_private_dir(&file),
        Err(OsError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotADirectory
    ));
    check_own_dir(&dir).unwrap();
}

#[test]
fn a_parent_of_a_private_directory_may_be_a_symbolic_link() {
    let directory = tempfile::tempdir().unwrap();
    let (real, link) = (directory.path().join("real"), directory.path().join("link"));
    create_private_dir(&real).unwrap();
    symlink(&real, &link).unwrap();
    ensure_private_dir(&link.join("a/b")).unwrap();
    assert!(real.join("a/b").is_dir());
}

#[test]
fn a_rename_never_replaces() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name| directory.path().join(name);
    for name in ["team", "empty"] {
        create_private_dir(&path(name)).unwrap();
    }
    create_private_file(&path("file")).unwrap();
    for (from, to) in [("team", "empty"), ("team", "file"), ("file", "team")] {
        let refused = rename_no_replace(&path(from), &path(to));
        assert!(
            matches!(&refused, Err(OsError::Exists(at)) if *at == path(to)),
            "{refused:?}"
        );
    }
    rename_no_replace(&path("team"), &path("moved")).unwrap();
    assert_eq!(names(directory.path()), ["empty", "file", "moved"]);
    let gone = rename_no_replace(&path("team"), &path("elsewhere"));
    assert!(matches!(&gone, Err(OsError::Gone(at)) if *at == path("team")));
    let gone = rename_no_replace(&path("moved"), &path("no/where"));
    assert!(matches!(&gone, Err(OsError::Gone(at)) if *at == path("no")));
}

#[test]
fn damaged_files_are_set_aside_one_by_one() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("1.json");
    let mut kept = Vec::new();
    for content in ["first", "second", "third"] {
        replace_alone(&file, content.as_bytes()).unwrap();
        kept.push((quarantine(&file).unwrap(), content));
        assert!(!file.exists());
    }
    for (aside, content) in kept {
        assert_eq!(fs::read_to_string(&aside).unwrap(), content);
        let name = aside.file_name().unwrap().to_str().unwrap();
        let stamp = name.strip_prefix("1.json.damaged-").unwrap();
        assert!(stamp.parse::<u64>().unwrap() > 1_600_000_000_000);
    }
}

#[test]
fn removing_a_tree_follows_no_link() {
    let directory = tempfile::tempdir().unwrap();
    let (tree, outside) = (
        directory.path().join("tree"),
        directory.path().join("outside"),
    );
    ensure_private_dir(&tree.join("a/b")).unwrap();
    create_private_dir(&outside).unwrap();
    create_private_file(&outside.join("kept")).unwrap();
    symlink(&outside, tree.join("a/link")).unwrap();
    remove_tree(&tree).unwrap();
    remove_tree(&tree).unwrap();
    assert_eq!(names(directory.path()), ["outside"]);
    assert_eq!(names(&outside), ["kept"]);
    let file = outside.join("kept");
    assert!(matches!(remove_tree(&file), Err(OsError::NotOurs { .. })));
}

#[test]
fn only_old_temporary_files_are_removed() {
    let directory = tempfile::tempdir().unwrap();
    let old = SystemTime::now() - Duration::from_mins(2);
    for (name, is_old) in [
        (".1.json.abc.swarm-tmp", true),
        (".2.json.abc.swarm-tmp", false),
        ("1.json", true),
        (".keep", true),
    ] {
        let file = fs::File::create(directory.path().join(name)).unwrap();
        if is_old {
            file.set_modified(old).unwrap();
        }
    }
    let minute = Duration::from_mins(1);
    assert_eq!(sweep_temporaries(directory.path(), minute).unwrap(), 1);
    assert_eq!(
        names(directory.path()),
        [".2.json.abc.swarm-tmp", ".keep", "1.json"]
    );
    let missing = directory.path().join("missing");
    assert_eq!(sweep_temporaries(&missing, minute).unwrap(), 0);
}

#[test]
fn replacing_a_world_readable_file_makes_it_private() {
    let (_directory, fixture) = LockFixture::fresh();
    fs::set_permissions(&fixture.data, Permissions::from_mode(0o644)).unwrap();
    replace_alone(&fixture.data, b"1").unwrap();
    assert_eq!(fs::metadata(&fixture.data).unwrap().mode() & 0o777, 0o600);
}

#[test]
fn this_file_system_supports_flock_and_lock_directories() {
    let directory = tempfile::tempdir().unwrap();
    let support = lock_support(directory.path()).unwrap();
    assert!(!support.needs_directory_only(), "{support:?}");
    assert!(names(directory.path()).is_empty());
}
