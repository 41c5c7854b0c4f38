//! Child processes: this test program with a role from its environment.

use std::io::{BufRead, BufReader, Lines, Write};
use std::path::Path;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};

use swarm_protocol::{MemberName, SpawnId, TaskStatus};
use swarm_store::{BlockOn as _, Draft, StoreError, TaskChange, TeamStore};

use crate::files::world::{World, id, name, new_task};
use crate::values::killed;

const ROLE: &str = "SWARM_STORE_ROLE";
const ROOT: &str = "SWARM_STORE_ROOT";
const NAME: &str = "SWARM_STORE_NAME";

/// Number of tasks that the role `makes many` creates in one call.
pub(crate) const MANY: usize = 30;

/// A running child, killed when dropped.
#[derive(Debug)]
pub(crate) struct Child {
    process: std::process::Child,
    says: Lines<BufReader<ChildStdout>>,
    hears: ChildStdin,
}

impl Child {
    pub(crate) fn start(role: &str, root: &Path, called: &str) -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args([
                "--ignored",
                "--exact",
                "files::children::child",
                "--nocapture",
            ])
            .arg("--test-threads=1")
            .env(ROLE, role)
            .env(ROOT, root)
            .env(NAME, called)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self {
            says: BufReader::new(process.stdout.take().unwrap()).lines(),
            hears: process.stdin.take().unwrap(),
            process,
        }
    }

    /// Returns the next line of the child, `None` at its end; the test harness also writes lines.
    pub(crate) fn hear(&mut self) -> Option<String> {
        loop {
            let line = self.says.next()?.unwrap();
            if let Some(word) = line.strip_prefix('@') {
                return Some(word.to_owned());
            }
        }
    }

    pub(crate) fn hear_ready(&mut self) {
        assert_eq!(self.hear().as_deref(), Some("ready"));
    }

    pub(crate) fn go_on(&mut self) {
        writeln!(self.hears, "go on").unwrap();
    }

    /// Sends SIGKILL and waits. Returns the lines written before.
    pub(crate) fn kill(&mut self) -> Vec<String> {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        std::iter::from_fn(|| self.hear()).collect()
    }

    /// Returns the remaining lines, up to its exit.
    pub(crate) fn finish(mut self) -> Vec<String> {
        let said = std::iter::from_fn(|| self.hear()).collect();
        assert!(self.process.wait().unwrap().success());
        said
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // It may already have exited.
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// A test harness without output capture may have started a line.
fn say(word: &str) {
    println!("\n@{word}");
}

fn wait_for_word() {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
}

#[expect(clippy::disallowed_methods, reason = "how a parent talks to its child")]
fn told(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

#[test]
#[ignore = "plays a role in the other tests, and nothing by itself"]
fn child() {
    let (Some(role), Some(root), Some(called)) = (told(ROLE), told(ROOT), told(NAME)) else {
        return;
    };
    let world = World::at(Path::new(&root));
    match role.as_str() {
        "sends 50" => send_fifty(&world, &called),
        "claims next" => claim_next(&world, &called),
        "claims each" => claim_each(&world, &called),
        "lives" => live(&world, &called),
        "hammers" => hammer(&world, &called),
        "makes many" => make_many(&world),
        "churns the roster" => churn(&world, &called),
        _ => panic!("no such role: {role}"),
    }
}

fn send_fifty(world: &World, called: &str) {
    say("ready");
    wait_for_word();
    for number in 0..50 {
        let draft = Draft::new(called, format!("message {number} of {called}"));
        let id = world
            .handle()
            .send(&name("reader"), draft)
            .block_on()
            .unwrap();
        say(&format!("sent {id}"));
    }
}

fn claim_next(world: &World, called: &str) {
    say("ready");
    wait_for_word();
    let actor = world.actor(called);
    while let Some(task) = world.handle().claim_next(&actor).block_on().unwrap() {
        say(&format!("won {}", task.id));
    }
}

fn claim_each(world: &World, called: &str) {
    say("ready");
    wait_for_word();
    let actor = world.actor(called);
    for number in 1..=100 {
        match world.handle().claim(&id(number), &actor).block_on() {
            Ok(_) => say(&format!("won {number}")),
            Err(StoreError::Taken { owner, .. }) => say(&format!("lost {number} {owner}")),
            Err(error) => panic!("{error}"),
        }
    }
}

fn live(world: &World, called: &str) {
    let config = world.handle().config().block_on().unwrap();
    let spawn = config.member(&name(called)).unwrap().spawn_id().unwrap();
    let _life = world.live(called, spawn);
    say("ready");
    wait_for_word();
}

/// Sends, acknowledges and works on tasks until it is killed, and writes a line for each completed
/// operation.
fn hammer(world: &World, called: &str) {
    let (store, team) = (&world.store, &world.team);
    let me: MemberName = name(called);
    let actor = world.actor(called);
    for round in 0.. {
        let text = format!("{round} {}", "x".repeat(round % 7 * 300));
        let id = store
            .team(team)
            .send(&me, Draft::new(called, text))
            .block_on()
            .unwrap();
        say(&format!("sent {id}"));
        let unread = store.team(team).take_unread(&me).block_on().unwrap();
        let ids: Vec<_> = unread
            .iter()
            .filter_map(|entry| entry.msg_id.clone())
            .collect();
        if round % 3 == 2 {
            store.team(team).ack(&me, &ids).block_on().unwrap();
        }
        if round % 4 == 3 {
            fan(world, 3);
            if let Some(task) = store.team(team).claim_next(&actor).block_on().unwrap() {
                let done = TaskChange::from(TaskStatus::Completed);
                store
                    .team(team)
                    .update_task(&task.id, done, &actor)
                    .block_on()
                    .unwrap();
                store
                    .team(team)
                    .delete_task(&task.id, &actor)
                    .block_on()
                    .unwrap();
            }
        }
    }
}

/// Tasks that all depend on the last existing one.
fn fan(world: &World, count: usize) {
    let tasks = world.handle().tasks().block_on().unwrap().tasks;
    let mut task = new_task("one of many", &[]);
    task.blocked_by.extend(tasks.last().map(|last| last.id));
    world
        .handle()
        .create_tasks(&vec![task; count], &world.person())
        .block_on()
        .unwrap();
}

fn make_many(world: &World) {
    say("ready");
    loop {
        fan(world, MANY);
        say("made");
    }
}

/// Adds and removes itself until it is killed.
fn churn(world: &World, called: &str) {
    loop {
        let spawn: SpawnId = world.join(called);
        world
            .handle()
            .remove_member(&name(called), Some(&killed(spawn)))
            .block_on()
            .unwrap();
        say("removed");
    }
}
