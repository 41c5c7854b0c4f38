//! The environment section, and announcements of changed facts.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use swarm_agent::{
    AgentEnvironment, Brief, EnvironmentFact, HostFacts, Injected, PromptEnvironment, Session,
};
use swarm_protocol::SystemClock;

use crate::model::say;
use crate::setup::{Setup, on};
use crate::valid::texts;

/// A team whose member list the test sets.
#[derive(Debug, Default)]
struct FakeTeam(Mutex<String>);

impl Brief for FakeTeam {
    fn brief(&self) -> Option<String> {
        None
    }

    fn facts(&self) -> Vec<EnvironmentFact> {
        vec![EnvironmentFact::new("Team members", &self.0.lock())]
    }
}

struct Fixture {
    setup: Setup,
    crew: Arc<FakeTeam>,
    cwd: PathBuf,
}

impl Fixture {
    fn new() -> Self {
        let setup = Setup::new(Vec::new());
        let cwd = setup.scratch.path().join("project");
        fs::create_dir_all(cwd.join(".git")).unwrap();
        let fixture = Self {
            setup,
            crew: Arc::default(),
            cwd,
        };
        fixture.set("main", "team-lead");
        fixture
    }

    fn set(&self, branch: &str, members: &str) {
        let head = format!("ref: refs/heads/{branch}\n");
        swarm_os::replace_alone(&self.cwd.join(".git/HEAD"), head.as_bytes()).unwrap();
        members.clone_into(&mut self.crew.0.lock());
    }

    /// Opens the session as a new process would.
    fn open(&self) -> Session {
        let transcript = self.setup.transcript();
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
        let mut parts = self.setup.parts();
        parts.system = vec![environment.section().to_owned()];
        parts.environment = Some(Arc::new(environment));
        parts.brief = Some(self.crew.clone());
        Session::open(transcript, parts).unwrap()
    }

    /// Runs a turn and returns its system prompt and the texts of its last user message.
    async fn turn(&self, session: &mut Session) -> (String, Vec<String>) {
        self.setup.model.play([say("done")]);
        session.deliver(vec![Injected::prompt("go on")]).unwrap();
        session.run_turn(on()).await;
        let request = self.setup.model.last_request();
        let system = request.system.iter().map(|block| block.text.clone());
        let told = texts(request.messages.last().unwrap());
        let told = told.into_iter().map(str::to_owned);
        (system.collect(), told.collect())
    }
}

#[tokio::test]
async fn changes_are_announced_once_and_the_section_survives_a_restart() {
    let fixture = Fixture::new();
    let mut session = fixture.open();
    let (first, told) = fixture.turn(&mut session).await;
    assert!(
        first.contains("\nBranch: main\nTeam members: team-lead\n"),
        "{first}"
    );
    assert_eq!(told, ["go on"]);

    fixture.set("fix", "team-lead, alice");
    let (_, told) = fixture.turn(&mut session).await;
    let changed = "<system-reminder>\nThe environment has changed:\nBranch: fix\nTeam members: team-lead, alice\n\
                   </system-reminder>";
    assert_eq!(told, [changed, "go on"]);
    let (_, told) = fixture.turn(&mut session).await;
    assert_eq!(told, ["go on"], "announced only once");

    let mut resumed = fixture.open();
    let (same, told) = fixture.turn(&mut resumed).await;
    assert_eq!(same, first, "the cached prompt is unchanged");
    assert_eq!(told, ["go on"], "the conversation contains the change");

    fixture.set("main", "team-lead, alice");
    let mut resumed = fixture.open();
    let (same, told) = fixture.turn(&mut resumed).await;
    assert_eq!(same, first);
    assert!(
        told[0].ends_with("changed:\nBranch: main\n</system-reminder>"),
        "{told:?}"
    );
}
