//! A hello that differs from the order is rejected.

use swarm_protocol::{Hello, PaneId, PermissionMode, SessionId, SpawnId, WorktreeReport};
use swarm_team::{SpawnOrder, check_hello};

use crate::order::order;

type Change = fn(&mut Hello);

fn hello_to(order: &SpawnOrder) -> Hello {
    Hello {
        definition: None,
        spawn_id: order.spec.identity.spawn_id,
        pid: 7,
        proc_start: "1".to_owned(),
        pane: Some(PaneId::new("%3")),
        cwd: order.spec.workspace.cwd.clone(),
        worktree: None,
        model: order.spec.runtime.model.clone(),
        mode: order.spec.permissions.mode,
        tools: Vec::new(),
        session_id: order.spec.identity.session_id,
        version: order.version.clone(),
    }
}

fn check(order: &SpawnOrder, hello: &Hello) -> Result<(), String> {
    check_hello(order, &PaneId::new("%3"), hello).map_err(|mismatch| mismatch.to_string())
}

#[test]
fn a_hello_that_fits_passes_with_and_without_a_pane() {
    let order = order();
    let mut hello = hello_to(&order);
    assert_eq!(check(&order, &hello), Ok(()));
    hello.pane = None;
    assert_eq!(check(&order, &hello), Ok(()));
}

#[test]
fn each_difference_is_named_with_both_values() {
    let changes: [(&str, Change); 7] = [
        ("spawn id", |hello| hello.spawn_id = SpawnId::random()),
        ("program version", |hello| {
            hello.version = "0.0.0-other".to_owned();
        }),
        ("model", |hello| hello.model = "anthropic/other".to_owned()),
        ("permission mode", |hello| {
            hello.mode = PermissionMode::BypassPermissions;
        }),
        ("session", |hello| hello.session_id = SessionId::random()),
        ("working directory", |hello| hello.cwd = "/proc".into()),
        ("pane", |hello| hello.pane = Some(PaneId::new("%4"))),
    ];
    let order = order();
    for (what, change) in changes {
        let mut hello = hello_to(&order);
        change(&mut hello);
        let mismatch = check_hello(&order, &PaneId::new("%3"), &hello).unwrap_err();
        assert_eq!(mismatch.what, what);
        let said = mismatch.to_string();
        assert!(
            said.contains(&mismatch.ordered) && said.contains(&mismatch.reported),
            "{said}"
        );
        assert_ne!(mismatch.ordered, mismatch.reported);
    }
}

#[test]
fn one_directory_under_two_names_is_no_difference() {
    let directory = tempfile::tempdir().unwrap();
    let (real, link) = (directory.path().join("real"), directory.path().join("link"));
    std::fs::create_dir(&real).unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    let mut order = order();
    order.spec.workspace.cwd = link;
    let mut hello = hello_to(&order);
    hello.cwd = real;
    assert_eq!(check(&order, &hello), Ok(()));
}

#[test]
fn i1_a_child_outside_of_its_worktree_is_refused() {
    let stand = |toplevel: &str, branch: Option<&str>, head: &str| WorktreeReport {
        toplevel: toplevel.into(),
        branch: branch.map(str::to_owned),
        head: head.to_owned(),
    };
    let ordered = stand("/repo/.claude/worktrees/a", Some("worktree-a"), "abc");
    let mut order = order();
    order.spec.workspace.worktree = Some(ordered.clone());
    let mut hello = hello_to(&order);
    hello.worktree = Some(ordered);
    assert_eq!(check(&order, &hello), Ok(()));
    for (what, found) in [
        ("worktree", None),
        ("worktree", Some(stand("/repo", Some("worktree-a"), "abc"))),
        (
            "branch",
            Some(stand("/repo/.claude/worktrees/a", Some("main"), "abc")),
        ),
        (
            "branch",
            Some(stand("/repo/.claude/worktrees/a", None, "abc")),
        ),
        (
            "commit",
            Some(stand(
                "/repo/.claude/worktrees/a",
                Some("worktree-a"),
                "def",
            )),
        ),
    ] {
        hello.worktree = found;
        let said = check(&order, &hello).unwrap_err();
        assert!(said.starts_with(what), "{said}");
    }
}
