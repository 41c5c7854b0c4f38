//! Choice of a node.

use std::fmt;

use swarm_protocol::{AgentId, LifeRecord};
use swarm_store::NodeView;

use super::error::NodeError;

/// Whether a node takes orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeState {
    /// It does.
    Ready,
    /// Its members continue, but it takes no more.
    Draining,
    /// Its process is dead, or cannot reach the hub.
    Lost,
}

impl NodeState {
    /// Returns the state of a node.
    pub fn of(node: &NodeView) -> Self {
        match (&node.process, node.is_draining) {
            (None, _) => Self::Lost,
            (Some(_), true) => Self::Draining,
            (Some(_), false) => Self::Ready,
        }
    }
}

impl fmt::Display for NodeState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Ready => "ready",
            Self::Draining => "draining",
            Self::Lost => "lost",
        })
    }
}

/// Returns the node of this name, or else the one with this label and the most free slots.
///
/// # Errors
/// [`NodeError::Unknown`], [`NodeError::Unavailable`].
pub fn choose_node<'a>(nodes: &'a [NodeView], wanted: &str) -> Result<&'a NodeView, NodeError> {
    let has_label = |node: &&NodeView| {
        node.report
            .labels
            .iter()
            .any(|label| label.as_str() == wanted)
    };
    let mut candidates: Vec<&NodeView> = nodes
        .iter()
        .filter(|node| node.name.as_str() == wanted)
        .collect();
    if candidates.is_empty() {
        candidates = nodes.iter().filter(has_label).collect();
    }
    if candidates.is_empty() {
        return Err(NodeError::Unknown {
            wanted: wanted.to_owned(),
            nodes: nodes.iter().map(in_words).collect(),
        });
    }
    best_of(&candidates).ok_or_else(|| NodeError::Unavailable {
        wanted: wanted.to_owned(),
        nodes: candidates.iter().map(|node| in_words(node)).collect(),
    })
}

/// Returns the node with the most free slots among all.
///
/// # Errors
/// [`NodeError::NoneAvailable`].
pub fn choose_any(nodes: &[NodeView]) -> Result<&NodeView, NodeError> {
    let all: Vec<&NodeView> = nodes.iter().collect();
    best_of(&all).ok_or_else(|| NodeError::NoneAvailable(nodes.iter().map(in_words).collect()))
}

fn best_of<'a>(candidates: &[&'a NodeView]) -> Option<&'a NodeView> {
    let ready = candidates
        .iter()
        .filter(|node| NodeState::of(node) == NodeState::Ready && free_slots(node) > 0);
    let best = ready.max_by_key(|node| (free_slots(node), std::cmp::Reverse(&node.name)));
    best.copied()
}

/// Returns the node that reports a running member.
pub fn node_of<'a>(nodes: &'a [NodeView], member: &AgentId) -> Option<&'a NodeView> {
    let is_its = |node: &&NodeView| node.process.is_some() && node.report.members.contains(member);
    nodes.iter().find(is_its)
}

/// Returns the node on the machine of a process that has ended, if it is the only one there.
pub fn node_at<'a>(nodes: &'a [NodeView], ended: &LifeRecord) -> Option<&'a NodeView> {
    let is_there =
        |process: &LifeRecord| process.host == ended.host && process.pid_space == ended.pid_space;
    let mut there = nodes
        .iter()
        .filter(|node| node.process.as_ref().is_some_and(is_there));
    there.next().filter(|_| there.next().is_none())
}

fn free_slots(node: &NodeView) -> usize {
    let slots = usize::try_from(node.report.slots).unwrap_or(usize::MAX);
    slots.saturating_sub(node.report.members.len())
}

fn in_words(node: &NodeView) -> String {
    let state = NodeState::of(node);
    if state == NodeState::Ready && free_slots(node) == 0 {
        return format!("{} (all {} slots in use)", node.name, node.report.slots);
    }
    format!("{} ({state})", node.name)
}

#[cfg(test)]
mod tests {
    use swarm_protocol::{LifeKind, MemberName, NodeName, NodeReport, SpawnId, UnixMs};

    use super::*;

    fn node(name: &str, slots: u32, label: &str, state: NodeState) -> NodeView {
        let process = LifeRecord {
            host: "here".to_owned(),
            ..LifeRecord::new(LifeKind::Process, 1, "1", SpawnId::random())
        };
        NodeView {
            name: NodeName::parse(name).unwrap(),
            report: NodeReport {
                host: "here".to_owned(),
                version: "1".to_owned(),
                slots,
                labels: [label.parse().unwrap()].into(),
                clock_ahead_ms: 0,
                since: UnixMs(1),
                members: Vec::new(),
                shell: None,
                known_commits: Vec::new(),
            },
            is_draining: state == NodeState::Draining,
            process: (state != NodeState::Lost).then_some(process),
        }
    }

    fn chosen(nodes: &[NodeView], wanted: &str) -> Result<String, String> {
        let chosen = choose_node(nodes, wanted);
        chosen
            .map(|node| node.name.to_string())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_name_goes_before_a_label_and_the_freest_node_of_a_label_is_chosen() {
        let mut nodes = [
            node("gpu", 1, "big", NodeState::Ready),
            node("a", 4, "gpu", NodeState::Ready),
            node("b", 5, "gpu", NodeState::Ready),
            node("c", 9, "gpu", NodeState::Lost),
        ];
        assert_eq!(chosen(&nodes, "gpu"), Ok("gpu".to_owned()));
        assert_eq!(chosen(&nodes[1..], "gpu"), Ok("b".to_owned()));
        let id = |name| AgentId::new(MemberName::parse(name).unwrap(), "demo".parse().unwrap());
        nodes[2].report.members = vec![id("x"), id("y")];
        assert_eq!(chosen(&nodes[1..], "gpu"), Ok("a".to_owned()));
        assert_eq!(choose_any(&nodes).unwrap().name.as_str(), "a");
        assert_eq!(node_of(&nodes, &id("y")).unwrap().name.as_str(), "b");
        let mut ended = nodes[1].process.clone().unwrap();
        assert!(node_at(&nodes, &ended).is_none(), "there are several");
        assert_eq!(node_at(&nodes[..1], &ended).unwrap().name.as_str(), "gpu");
        ended.host = "elsewhere".to_owned();
        assert!(node_at(&nodes[..1], &ended).is_none());
        nodes[2].process = None;
        assert!(node_of(&nodes, &id("y")).is_none(), "its node is lost");
    }

    #[test]
    fn without_a_node_the_error_says_what_there_is() {
        let none = chosen(&[], "gpu").unwrap_err();
        assert_eq!(
            none,
            "no node has the name or label `gpu`; no node has joined the hub"
        );
        let nodes = [
            node("a", 0, "x", NodeState::Ready),
            node("b", 1, "x", NodeState::Draining),
            node("c", 1, "y", NodeState::Lost),
        ];
        assert_eq!(
            chosen(&nodes, "z").unwrap_err(),
            "no node has the name or label `z`; nodes: a (all 0 slots in use), b (draining), c (lost)"
        );
        assert_eq!(
            chosen(&nodes, "x").unwrap_err(),
            "no node for `x` takes a member now: a (all 0 slots in use), b (draining)"
        );
        assert_eq!(
            chosen(&nodes, "c").unwrap_err(),
            "no node for `c` takes a member now: c (lost)"
        );
        let any = |nodes: &[NodeView]| choose_any(nodes).unwrap_err().to_string();
        assert_eq!(
            any(&nodes[2..]),
            "no node takes a member now; nodes: c (lost)"
        );
        assert_eq!(
            any(&[]),
            "no node takes a member now; no node has joined the hub"
        );
    }
}
