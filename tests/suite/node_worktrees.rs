//! Worktrees on a node that could not be removed when their members left.

use rustix::process::Signal;
use swarm_tests::stage::World;

use crate::machines::Machines;
use crate::nodes::{says_done, worktree_on_box, world_with_program, world_with_slow_git};
use crate::pains::worktrees::commit;
use crate::scene::world;

/// A machine whose git fails while the file `broken` is there, and adds the time in milliseconds to the
/// file `failures` then.
fn world_with_broken_git() -> World {
    let script = "#!/bin/sh\n\
        here=${0%/*}; PATH=${PATH#*:}; export PATH\n\
        if [ -e \"$here/broken\" ]; then\n\
            date +%s%3N >> \"$here/failures\"\n\
            exit 128\n\
        fi\n\
        exec git \"$@\"\n";
    world_with_program("git", script)
}

/// Returns when calls of git failed, in milliseconds.
fn failures(second: &World) -> Vec<u64> {
    let times = std::fs::read_to_string(second.program("failures")).unwrap();
    times.lines().map(|time| time.parse().unwrap()).collect()
}

#[test]
fn a_node_waits_before_it_handles_a_worktree_again_for_which_git_failed() {
    let api = says_done();
    let Some(machines) = Machines::with_repository(world_with_broken_git().with_api(&api)) else {
        return;
    };
    let (first, second) = (&machines.first, &machines.second);
    let node = machines.node(&[]);
    let tree = worktree_on_box(first, "bob");
    let broken = second.program("broken");
    std::fs::write(&broken, "").unwrap();
    first.swarm(&["shutdown", "bob"]).ok();
    let told = |text: &str| first.wait_until(text, || node.stdout().contains(text));
    told("the worktree of bob is kept: ");
    let seen = failures(second).len();
    let mut until_pause = 0;
    first.wait_until("git is called after a pause of a second", || {
        let times = failures(second);
        let mut pairs = times[seen - 1..].windows(2);
        let pause = pairs.position(|pair| pair[1] >= pair[0] + 1000);
        until_pause = pause.unwrap_or(usize::MAX);
        pause.is_some()
    });
    assert!(until_pause < 20, "{:?}", failures(second));
    std::fs::remove_file(&broken).unwrap();
    told("the worktree of bob had no unmerged work and was removed");
    assert!(!tree.exists());
    machines.end_with_node(node);
}

#[test]
fn a_restarted_node_removes_a_worktree_that_was_in_use() {
    let api = says_done();
    let Some(machines) = Machines::with_repository(world().with_api(&api)) else {
        return;
    };
    let (first, second) = (&machines.first, &machines.second);
    let node = machines.node(&[]);
    let tree = worktree_on_box(first, "bob");
    let mut shell = second.command("sleep");
    let mut shell = shell.arg("600").current_dir(&tree).spawn().unwrap();
    first.swarm(&["shutdown", "bob"]).ok();
    first.wait_until("the worktree is in use", || {
        node.stdout().contains("(it is in use by process ")
    });
    node.signal(Signal::INT);
    node.wait().ok();
    shell.kill().unwrap();
    shell.wait().unwrap();
    let node = machines.node(&[]);
    first.wait_until("bob's worktree is removed", || !tree.exists());
    machines.end_with_node(node);
}

#[test]
fn a_kept_worktree_is_named_whenever_its_member_leaves() {
    let api = says_done();
    let Some(machines) = Machines::with_repository(world().with_api(&api)) else {
        return;
    };
    let (first, second) = (&machines.first, &machines.second);
    let node = machines.node(&[]);
    let tree = worktree_on_box(first, "bob");
    commit(second, &tree, "new.txt", "new\n");
    for times in 1..=2 {
        first.swarm(&["shutdown", "bob"]).ok();
        first.wait_until("the worktree is named", || {
            let named = "the worktree of bob is kept: ";
            node.stdout().matches(named).count() == times
        });
        if times == 1 {
            assert_eq!(worktree_on_box(first, "bob"), tree);
        }
    }
    machines.end_with_node(node);
}

#[test]
fn git_handles_four_worktrees_of_a_node_at_a_time() {
    let api = says_done();
    // It looks for files of submodules first.
    let slow = world_with_slow_git("ls-tree -z -r HEAD");
    let Some(machines) = Machines::with_repository(slow.with_api(&api)) else {
        return;
    };
    let (first, second) = (&machines.first, &machines.second);
    let gate = second.program("gate");
    std::fs::write(&gate, "").unwrap();
    let node = machines.node(&["--slots", "5"]);
    let names = ["ann", "bob", "carl", "dan", "eve"];
    let trees = names.map(|name| worktree_on_box(first, name));
    node.signal(Signal::KILL);
    node.wait();
    first.swarm(&[&["shutdown"], &names[..]].concat()).ok();
    std::fs::remove_file(&gate).unwrap();
    let node = machines.node(&[]);
    let waiting = || {
        let lines = std::fs::read_to_string(second.program("waits"));
        lines.unwrap_or_default().lines().count()
    };
    first.wait_until("git looks at worktrees", || waiting() >= 4);
    // The node looks again after an order.
    first.swarm(&["peek", "eve"]).ok();
    assert_eq!(waiting(), 4);
    std::fs::write(&gate, "").unwrap();
    first.wait_until("they are removed", || {
        trees.iter().all(|tree| !tree.exists())
    });
    machines.end_with_node(node);
}
