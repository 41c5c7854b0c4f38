//! The environment section, and what an agent is told when a fact changes.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use swarm_agent::{
    AgentEnvironment, Brief, EnvironmentFact, HostFacts, Injected, PromptEnvironment, Session,
};
use swarm_protocol::SystemClock;

use crate::model::say;
use crate::valid::texts;
use crate::world::{World, on};

/// A team whose members a test sets.
#[derive(Debug, Default)]
struct Crew(Mutex<String>);

impl Brief for Crew {
    fn brief(&self) -> Option<String> {
        None
    }

    fn facts(&self) -> Vec<EnvironmentFact> {
        vec![EnvironmentFact::new("Team members", &self.0.lock())]
    }
}

struct Stage {
    world: World,
    crew: Arc<Crew>,
    cwd: PathBuf,
}

impl Stage {
    fn new() -> Self {
        let world = World::new(Vec::new());
        let cwd = world.scratch.path().join("project");
        fs::create_dir_all(cwd.join(".git")).unwrap();
        let stage = Self {
            world,
            crew: Arc::default(),
            cwd,
        };
        stage.set("main", "team-lead");
        stage
    }

    fn set(&self, branch: &str, members: &str) {
        let head = format!("ref: refs/heads/{branch}\n");
        swarm_os::replace_alone(&self.cwd.join(".git/HEAD"), head.as_bytes()).unwrap();
        members.clone_into(&mut self.crew.0.lock());
    }

    /// The session as a process of its own opens it.
    fn open(&self) -> Session {
        let transcript = self.world.transcript();
        let host = HostFacts::default();
        let at = PromptEnvironment {
            cwd: &self.cwd,
            host: &host,
            directories: &[],
            model: "fake-1",
            knowledge: None,
            now: swarm_protocol::Clock::now(&SystemClock),
            team: &self.crew.facts(),
        };
        let environment = AgentEnvironment::of(transcript.path(), &at, Arc::new(SystemClock));
        let mut parts = self.world.parts();
        parts.system = vec![environment.section().to_owned()];
        parts.environment = Some(Arc::new(environment));
        parts.brief = Some(self.crew.clone());
        Session::open(transcript, parts).unwrap()
    }

    /// One turn; its system prompt, and what the agent was told in it.
    async fn turn(&self, session: &mut Session) -> (String, Vec<String>) {
        self.world.model.play([say("done")]);
        session.deliver(vec![Injected::prompt("go on")]).unwrap();
        session.run_turn(on()).await;
        let request = self.world.model.last_request();
        let system = request.system.iter().map(|block| block.text.clone());
        let told = texts(request.messages.last().unwrap());
        let told = told.into_iter().map(str::to_owned);
        (system.collect(), told.collect())
    }
}

#[tokio::test]
async fn a_change_is_announced_once_and_the_section_stays_the_same_after_a_restart() {
    let stage = Stage::new();
    let mut session = stage.open();
    let (first, told) = stage.turn(&mut session).await;
    assert!(
        first.contains("\nBranch: main\nTeam members: team-lead\n"),
        "{first}"
    );
    assert_eq!(told, ["go on"]);

    stage.set("fix", "team-lead, alice");
    let (_, told) = stage.turn(&mut session).await;
    let changed = "<system-reminder>\nThe environment has changed:\nBranch: fix\nTeam members: team-lead, alice\n\
                   </system-reminder>";
    assert_eq!(told, [changed, "go on"]);
    let (_, told) = stage.turn(&mut session).await;
    assert_eq!(told, ["go on"], "it is told once");

    let mut resumed = stage.open();
    let (same, told) = stage.turn(&mut resumed).await;
    assert_eq!(same, first, "the prompt is the one that is cached");
    assert_eq!(told, ["go on"], "the conversation has the change");

    stage.set("main", "team-lead, alice");
    let mut resumed = stage.open();
    let (same, told) = stage.turn(&mut resumed).await;
    assert_eq!(same, first);
    assert!(
        told[0].ends_with("changed:\nBranch: main\n</system-reminder>"),
        "{told:?}"
    );
}
