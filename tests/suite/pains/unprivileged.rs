//! The programs as a user without privileges runs them. Root may read every process; such a user may not.

use rustix::process::Signal;
use serde_json::json;
use swarm_tests::fake_api::{Ask, FakeApi, Reply};
use swarm_tests::stage::{Finished, Running, World};

use crate::scene::{demo_run_args, runs_once, spawns, world};

/// Who a test of root becomes. Any other user is unprivileged already.
const NOBODY: [&str; 4] = [
    "setpriv",
    "--reuid=65534",
    "--regid=65534",
    "--clear-groups",
];

/// A world that belongs to a user without privileges.
struct Unprivileged {
    world: World,
    words: Vec<&'static str>,
}

impl Unprivileged {
    fn new(api: &FakeApi) -> Self {
        let world = world().with_api(api);
        let words = if rustix::process::geteuid().is_root() {
            let (directory, program) = (
                world.directory().display().to_string(),
                world.program("swarm"),
            );
            let programs = program.parent().unwrap().display().to_string();
            // The programs are links to those of every other test.
            for words in [
                &["-hR", "65534:65534", &directory][..],
                &["65534:65534", &programs],
            ] {
                world.start_program("chown", words).wait().ok();
            }
            NOBODY.to_vec()
        } else {
            vec!["env"]
        };
        Self { world, words }
    }

    fn start(&self, arguments: &[&str]) -> Running {
        self.world.start_under(&self.words, arguments, &[])
    }

    fn swarm(&self, arguments: &[&str]) -> Finished {
        self.start(arguments).wait()
    }

    /// Reads a file of a member's process, as any program of the same user could.
    fn reads(&self, name: &str, file: &str) -> Finished {
        let pid = self.world.team("demo").hello(name)["pid"].clone();
        let path = format!("/proc/{pid}/{file}");
        let words = [&self.words[1..], &["cat", &path]].concat();
        self.world.start_program(self.words[0], &words).wait()
    }

    /// Whether the user may read this directory.
    fn can_enter(&self, directory: &str) -> bool {
        let words = [&self.words[1..], &["ls", directory]].concat();
        let listed = self.world.start_program(self.words[0], &words).wait();
        listed.code == Some(0)
    }

    fn is_in_state(&self, name: &str, state: &str) {
        self.world.wait_until(&format!("{name} is {state}"), || {
            self.world.team("demo").state(name)["state"] == state
        });
    }
}

#[test]
fn members_are_killed_and_reaped_although_their_user_cannot_read_their_environment() {
    let api = FakeApi::start(|ask: &Ask| {
        match (
            ask.agent.as_str(),
            ask.result_of("ann"),
            ask.result_of("bob"),
        ) {
            ("team-lead", None, _) => spawns("ann"),
            ("team-lead", _, None) => spawns("bob"),
            _ if ask.result_of("stay").is_none() => {
                let command = "setsid sleep 600 & exec sleep 600";
                Reply::tool("stay", "Bash", json!({"command": command}))
            }
            _ => Reply::text("done"),
        }
    });
    let user = Unprivileged::new(&api);
    // A checkout below a directory that only root may enter has no program that another user can start.
    if !user.can_enter(env!("CARGO_MANIFEST_DIR")) {
        eprintln!("not run: a user without privileges cannot reach the programs of this checkout");
        return;
    }
    let team = user.world.team("demo");
    let lead = user.start(&demo_run_args("go", &[]));
    for name in ["ann", "bob"] {
        api.wait_for("a member's first turn", name, |_| true);
        user.is_in_state(name, "working");
        let closed = user.reads(name, "environ");
        assert_eq!(closed.code, Some(1), "{}", closed.story());
        closed.stderr_has("Permission denied");
        user.reads(name, "stat").ok();
    }
    user.swarm(&["kill", "ann", "--team", "demo"]).ok();
    assert_eq!(team.names(), ["team-lead", "bob"]);
    lead.signal(Signal::KILL);
    lead.wait();
    user.is_in_state("bob", "parked");
    user.swarm(&["reap", "--parked"]).ok();
    assert_eq!(team.names(), ["team-lead"]);
    assert_eq!(user.world.processes(), []);
}

#[test]
fn the_sandbox_of_another_program_works_inside() {
    let sandbox = ["unshare", "-Urpf", "--mount-proc", "true"];
    let api = runs_once(&format!("{} && touch nested", sandbox.join(" ")));
    let user = Unprivileged::new(&api);
    let words = [&user.words[1..], &sandbox].concat();
    let outside = user.world.start_program(user.words[0], &words).wait();
    if outside.code != Some(0) || !user.can_enter(env!("CARGO_MANIFEST_DIR")) {
        eprintln!("not run: this user may not create namespaces or cannot reach the programs");
        return;
    }
    user.swarm(&demo_run_args("go", &[])).ok();
    assert!(user.world.project().join("nested").exists());
}
