//! Members on other machines.

use std::ffi::OsString;
use std::fmt;
use std::io::{self, IsTerminal as _};

use swarm_os::Liveness;
use swarm_protocol::{AgentId, LifeRecord, MemberName, TeamName};
use swarm_store::{BlockOn as _, NodeView, Team};
use swarm_supervisor::{node_at, node_of, started_elsewhere};

use crate::failure::{Failure, Result};
use crate::output::quoted;
use crate::own_process::host_name;

/// Where a member runs, or ran last, if that is not here.
#[derive(Debug)]
pub(in crate::commands) struct Elsewhere {
    /// The machine.
    pub(in crate::commands) host: String,
    /// The node on that machine, if there is one. A node that cannot be looked up is not known.
    pub(in crate::commands) node: Option<NodeView>,
    pub(in crate::commands) has_ended: bool,
}

impl fmt::Display for Elsewhere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.node {
            Some(node) => write!(f, "node {} ({})", node.name, self.host),
            None => f.write_str(&self.host),
        }
    }
}

impl Elsewhere {
    /// Returns where a member is, if it is not here.
    pub(in crate::commands) fn of(team: &dyn Team, name: &MemberName) -> Result<Option<Self>> {
        if !team.is_remote() {
            return Ok(None);
        }
        let Some(life) = team.life_record(name).block_on() else {
            return Ok(None);
        };
        let this_host = host_name();
        let started = started_elsewhere(team, name, &life, &this_host);
        let Some(host) = started.block_on() else {
            return Ok(None);
        };
        let has_ended = team.lease(name).block_on()? == Liveness::Dead;
        Ok(Some(Self {
            node: node(team, name, &life, has_ended),
            host,
            has_ended,
        }))
    }

    /// Returns the command that runs a command of swarm in the terminal of that machine. If it is
    /// not known to be reachable, the error says what to run there.
    pub(in crate::commands) fn over_ssh(
        &self,
        team: &TeamName,
        name: &MemberName,
        words: &[&str],
    ) -> Result<Vec<OsString>> {
        let shell = self
            .node
            .as_ref()
            .and_then(|node| node.report.shell.as_ref());
        let Some((shell, ssh)) = shell.and_then(|shell| Some((shell, shell.ssh.as_ref()?))) else {
            return Err(self.refusal(team, name, words));
        };
        let root = format!("CLAUDE_CONFIG_DIR={}", shell.root.display());
        let program = shell.program.display().to_string();
        let there = ["env", &root, &program]
            .into_iter()
            .chain(words.iter().copied());
        let there: Vec<String> = there.chain(["--team", team.as_str()]).map(quoted).collect();
        // A pane always needs a terminal. Other output has one there if there is one here.
        let needs_terminal = words.first() == Some(&"attach") || io::stdin().is_terminal();
        let terminal = needs_terminal.then_some("-t");
        let words = ["ssh"].into_iter().chain(terminal);
        Ok(words
            .chain(["--", ssh.as_str(), &there.join(" ")])
            .map(OsString::from)
            .collect())
    }

    /// Returns the error of a command that only works on that machine.
    pub(in crate::commands) fn refusal(
        &self,
        team: &TeamName,
        name: &MemberName,
        words: &[&str],
    ) -> Failure {
        let runs = if self.has_ended { "ran" } else { "runs" };
        let message = format!("{name} {runs} on {self}, where its pane and its output are");
        let mut hint = format!("run `swarm {} --team {team}` there", words.join(" "));
        if self.node.is_some() {
            hint += ", or let the node join with `--ssh HOST`";
        }
        Failure::environment(message).with_hint(hint)
    }
}

/// Returns the node of a member. On the machine of a process that has ended, any node has its output.
fn node(
    team: &dyn Team,
    name: &MemberName,
    life: &LifeRecord,
    has_ended: bool,
) -> Option<NodeView> {
    let nodes = team.orders()?.nodes().nodes().block_on().ok()?;
    let id = AgentId::new(name.clone(), team.name().clone());
    let ended = || node_at(&nodes, life).filter(|_| has_ended);
    node_of(&nodes, &id).or_else(ended).cloned()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use swarm_protocol::{NodeReport, NodeShell, UnixMs};

    use super::*;

    fn on_node(ssh: Option<&str>) -> Elsewhere {
        let report = NodeReport {
            host: "build".to_owned(),
            version: "1".to_owned(),
            slots: 1,
            labels: BTreeSet::new(),
            clock_ahead_ms: 0,
            since: UnixMs(1),
            members: Vec::new(),
            shell: Some(NodeShell {
                ssh: ssh.map(|ssh| ssh.parse().unwrap()),
                program: "/opt/my swarm".into(),
                root: "/home/a/.claude".into(),
            }),
            known_commits: Vec::new(),
        };
        Elsewhere {
            host: "build".to_owned(),
            node: Some(NodeView {
                name: "box".parse().unwrap(),
                report,
                is_draining: false,
                process: None,
            }),
            has_ended: false,
        }
    }

    fn attach(elsewhere: &Elsewhere) -> Result<Vec<OsString>> {
        let team = "demo".parse().unwrap();
        elsewhere.over_ssh(&team, &"bob".parse().unwrap(), &["attach", "bob"])
    }

    #[test]
    fn a_machine_that_told_its_address_is_reached_by_ssh() {
        let mut words = attach(&on_node(Some("alice@build"))).unwrap();
        let last = words.pop().unwrap();
        assert_eq!(
            last,
            "env CLAUDE_CONFIG_DIR=/home/a/.claude '/opt/my swarm' attach bob --team demo"
        );
        assert_eq!(words, ["ssh", "-t", "--", "alice@build"]);
    }

    #[test]
    fn without_an_address_the_error_says_what_to_type_there() {
        let mut elsewhere = on_node(None);
        let refused = attach(&elsewhere).unwrap_err();
        assert_eq!(
            refused.message,
            "bob runs on node box (build), where its pane and its output are"
        );
        let hint = refused.hint.unwrap();
        assert_eq!(
            hint,
            "run `swarm attach bob --team demo` there, or let the node join with `--ssh HOST`"
        );
        (elsewhere.node, elsewhere.has_ended) = (None, true);
        let refused = attach(&elsewhere).unwrap_err();
        assert_eq!(
            refused.message,
            "bob ran on build, where its pane and its output are"
        );
    }
}
