//! Who waits for whom. No I/O.

use std::collections::{BTreeMap, BTreeSet};

use swarm_protocol::{Task, TaskId};

/// For each task the tasks that it waits for. Another program may have noted an edge on one side only; either counts.
#[derive(Debug, Clone, Default)]
pub(super) struct Graph {
    waits_for: BTreeMap<TaskId, BTreeSet<TaskId>>,
}

impl Graph {
    pub(super) fn of<'t>(tasks: impl IntoIterator<Item = &'t Task>) -> Self {
        let mut graph = Self::default();
        for task in tasks {
            for blocker in &task.blocked_by {
                graph.add(task.id, *blocker);
            }
            for blocked in &task.blocks {
                graph.add(*blocked, task.id);
            }
        }
        graph
    }

    /// Lets `task` wait for `blocker`, without a check.
    fn add(&mut self, task: TaskId, blocker: TaskId) {
        self.waits_for.entry(task).or_default().insert(blocker);
    }

    /// Lets `task` wait for `blocker`, unless that closes a circle: then nothing changes and the tasks on it are
    /// returned, each waiting for the next, the first also last.
    pub(super) fn connect(&mut self, task: TaskId, blocker: TaskId) -> Result<(), Vec<TaskId>> {
        if let Some(way) = self.way(blocker, task) {
            return Err(std::iter::once(task).chain(way).collect());
        }
        self.add(task, blocker);
        Ok(())
    }

    /// The tasks from `from` to `to` along the edges, both included.
    fn way(&self, from: TaskId, to: TaskId) -> Option<Vec<TaskId>> {
        let mut came_from: BTreeMap<TaskId, TaskId> = BTreeMap::new();
        let mut open = vec![from];
        while let Some(at) = open.pop() {
            if at == to {
                let mut way = vec![to];
                let mut step = to;
                while step != from {
                    step = *came_from.get(&step)?;
                    way.push(step);
                }
                way.reverse();
                return Some(way);
            }
            for next in self.waits_for.get(&at).into_iter().flatten() {
                if *next != from && !came_from.contains_key(next) {
                    came_from.insert(*next, at);
                    open.push(*next);
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn id(number: u64) -> TaskId {
        TaskId::new(number)
    }

    #[test]
    fn the_way_round_is_told() {
        let mut graph = Graph::default();
        graph.connect(id(2), id(1)).unwrap();
        graph.connect(id(3), id(2)).unwrap();
        assert_eq!(
            graph.connect(id(1), id(3)),
            Err(vec![id(1), id(3), id(2), id(1)])
        );
        assert_eq!(graph.connect(id(4), id(4)), Err(vec![id(4), id(4)]));
        graph.connect(id(3), id(1)).unwrap();
    }

    /// Takes away tasks that wait for nobody until nothing is left: that succeeds only without circles.
    fn is_acyclic(edges: &[(u64, u64)]) -> bool {
        let mut left: BTreeSet<(u64, u64)> = edges.iter().copied().collect();
        loop {
            let waiting: BTreeSet<u64> = left.iter().map(|edge| edge.0).collect();
            let before = left.len();
            left.retain(|edge| waiting.contains(&edge.1));
            if left.is_empty() || left.len() == before {
                return left.is_empty();
            }
        }
    }

    proptest! {
        #[test]
        fn t2_an_edge_is_refused_exactly_when_it_closes_a_circle(
            edges in prop::collection::vec((1u64..9, 1u64..9), 0..40),
        ) {
            let mut graph = Graph::default();
            let mut kept = Vec::new();
            for (task, blocker) in edges {
                let mut with_it = kept.clone();
                with_it.push((task, blocker));
                match graph.connect(id(task), id(blocker)) {
                    Ok(()) => {
                        prop_assert!(is_acyclic(&with_it));
                        kept = with_it;
                    }
                    Err(circle) => {
                        prop_assert!(!is_acyclic(&with_it));
                        prop_assert_eq!(circle.first(), circle.last());
                        prop_assert_eq!(&circle[..2], &[id(task), id(blocker)][..]);
                        for pair in circle.windows(2).skip(1) {
                            let edge = (pair[0].number(), pair[1].number());
                            prop_assert!(kept.contains(&edge), "{:?}", edge);
                        }
                    }
                }
            }
        }
    }
}
