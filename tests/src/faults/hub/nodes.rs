//! Nodes on the machines: the real program, with one real member each, which a scripted model answers.
//! Nodes and members are killed, and started again; another machine gives the orders.

use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};
use swarm_os::Liveness;
use swarm_protocol::MemberName;
use swarm_store::{BlockOn as _, Draft, Team};

use super::machines::Machines;
use crate::faults::dice::Dice;
use crate::faults::ground::{TEAM, name};
use crate::faults::workers::Programs;
use crate::stage::{Running, World};

/// A turn takes a moment, so that kills meet some.
const SCENARIO: &str = "[[turn]]\n[[turn.step]]\nwait_ms = 300\nsay = \"done\"\n";

/// The nodes, and the machine that gives them orders.
pub(super) struct Nodes {
    all: Vec<Node>,
    desk: World,
    /// Number of messages to their members.
    letters: usize,
    /// Number of nodes and of members that were killed.
    kills: (usize, usize),
}

struct Node {
    name: String,
    member: MemberName,
    url: String,
    /// Runs a program on its machine.
    prefix: Vec<String>,
    process: Running,
    /// The order that starts the member again.
    order: Option<Running>,
    /// Numbers of the messages to the member.
    letters: Vec<usize>,
    world: World,
}

impl Nodes {
    /// Starts nodes on the first machines.
    pub(super) fn start(machines: &Machines, programs: &Programs, count: usize) -> Self {
        let desk = World::new(&programs.swarm, &programs.links);
        if count > 0 {
            let url = machines.server.url();
            desk.swarm(&["team", "join", TEAM, "--hub", &url]).ok();
        }
        let nodes = (0..count).map(|at| Node::start(machines, programs, at));
        Self {
            all: nodes.collect(),
            desk,
            letters: 0,
            kills: (0, 0),
        }
    }

    /// Starts again what has ended.
    pub(super) fn restart_ended(&mut self, team: &dyn Team) {
        for node in &mut self.all {
            node.restart_ended(team, &self.desk);
        }
    }

    /// Sends a message to one of the members, if it has been started once.
    pub(super) fn write(&mut self, team: &dyn Team, dice: &mut Dice) {
        if self.all.is_empty() {
            return;
        }
        let node = dice.below(self.all.len());
        let node = &mut self.all[node];
        if team.liveness(&node.member).block_on().is_ok() {
            let draft = Draft::person(text(self.letters));
            team.send(&node.member, draft).block_on().expect("a send");
            node.letters.push(self.letters);
            self.letters += 1;
        }
    }

    /// Kills a node or a member, in turns.
    pub(super) fn kill(&mut self, dice: &mut Dice) {
        if self.all.is_empty() {
            return;
        }
        let node = dice.below(self.all.len());
        let node = &mut self.all[node];
        if self.kills.0 <= self.kills.1 {
            if !node.process.has_ended() {
                node.process.signal(Signal::KILL);
                self.kills.0 += 1;
            }
        } else if let Some(pid) = node.pid_of_member()
            // It may have ended meanwhile.
            && kill_process(pid, Signal::KILL).is_ok()
        {
            self.kills.1 += 1;
        }
    }

    /// Returns whether all nodes and members run, and the members have read their messages.
    pub(super) fn is_done(&mut self, team: &dyn Team) -> bool {
        self.restart_ended(team);
        self.all.iter().all(|node| {
            let unread = team.take_unread(&node.member).block_on();
            let has_read = unread.is_ok_and(|unread| unread.is_empty());
            has_read && node.is_ready() && node.lives(team)
        })
    }

    /// Stops everything. Returns the number of messages, each of which is in a transcript once, and of
    /// killed nodes and members.
    ///
    /// # Panics
    /// If a message is missing or doubled, or a process is left.
    pub(super) fn finish(self) -> (usize, (usize, usize)) {
        for node in self.all {
            let member = node.member.as_str();
            self.desk.swarm(&["kill", member, "--team", TEAM]).ok();
            node.process.signal(Signal::INT);
            node.process.wait().ok();
            let transcripts = transcripts(&node.world.root());
            for letter in node.letters {
                // The whole message, which follows its summary.
                let line = format!("\\n{}\\n", text(letter));
                let times = transcripts.matches(&line).count();
                assert_eq!(times, 1, "how often {member} has read message {letter}");
            }
        }
        (self.letters, self.kills)
    }
}

impl Node {
    fn start(machines: &Machines, programs: &Programs, at: usize) -> Self {
        let (name, member) = (format!("box{at}"), self::name(&format!("n{at}")));
        let world = World::new(&programs.swarm, &programs.links);
        world.write("scenario.toml", SCENARIO);
        let (prefix, url) = (machines.links[at].prefix(), machines.links[at].url());
        Self {
            process: join(&world, &prefix, &url, &name),
            order: None,
            letters: Vec::new(),
            name,
            member,
            url,
            prefix,
            world,
        }
    }

    fn restart_ended(&mut self, team: &dyn Team, desk: &World) {
        if self.process.has_ended() {
            self.process = join(&self.world, &self.prefix, &self.url, &self.name);
        }
        let is_ordered = self.order.as_mut().is_some_and(|order| !order.has_ended());
        if is_ordered || !self.is_ready() || self.lives(team) {
            return;
        }
        let scenario = self.world.directory().join("scenario.toml");
        let model = format!("scripted/{}", scenario.display());
        self.order = Some(desk.start(&[
            "spawn",
            self.member.as_str(),
            "--on",
            &self.name,
            "--team",
            TEAM,
            "--prompt",
            "hello",
            "--model",
            &model,
            "--backend",
            "headless",
        ]));
    }

    /// Returns whether the node holds its lease, as far as it has noticed.
    fn is_ready(&self) -> bool {
        let said = self.process.stdout();
        said.rfind(" joined ") > said.rfind("joining again")
    }

    fn lives(&self, team: &dyn Team) -> bool {
        let life = team.liveness(&self.member).block_on();
        life.is_ok_and(|life| life == Liveness::Alive)
    }

    fn pid_of_member(&self) -> Option<Pid> {
        let wanted = format!("--agent-id {}@", self.member);
        let processes = self.world.processes().into_iter();
        let mut its = processes.filter(|(_, line)| line.contains(&wanted));
        Pid::from_raw(its.next()?.0)
    }
}

fn join(world: &World, prefix: &[String], url: &str, name: &str) -> Running {
    let prefix: Vec<&str> = prefix.iter().map(String::as_str).collect();
    let join = ["node", "join", url, "--name", name];
    if prefix.is_empty() {
        world.start(&join)
    } else {
        world.start_under(&prefix, &join, &[])
    }
}

/// Returns the text of a message.
fn text(number: usize) -> String {
    format!("letter {number}.")
}

/// Returns the content of all transcripts below a directory.
fn transcripts(directory: &Path) -> String {
    let mut found = String::new();
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()) {
        if path.is_dir() {
            found += &transcripts(&path);
        } else if path.extension().is_some_and(|kind| kind == "jsonl") {
            found += &std::fs::read_to_string(path).unwrap_or_default();
        }
    }
    found
}
