//! Dependencies between tasks. No I/O.

use std::collections::{BTreeMap, BTreeSet};

use swarm_protocol::{Task, TaskId};

/// The blockers of each task. Another program may record an edge on one side only; either side
/// counts.
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

    /// Adds an edge without a check.
    fn add(&mut self, task: TaskId, blocker: TaskId) {
        self.waits_for.entry(task).or_default().insert(blocker);
    }

    /// Makes `task` depend on `blocker`. If that would form a cycle, changes nothing and returns
    /// the tasks of the cycle, each blocked by the next, with the first repeated at the end.
    pub(super) fn connect(&mut self, task: TaskId, blocker: TaskId) -> Result<(), Vec<TaskId>> {
        if let Some(way) = self.way(blocker, task) {
            return Err(std::iter::once(task).chain(way).collect());
        }
        self.add(task, blocker);
        Ok(())
    }

    /// [`Graph::connect`] for many edges, in time proportional to their number if they form no
    /// cycle.
    pub(super) fn connect_all(mut self, edges: &[(TaskId, TaskId)]) -> Result<(), Vec<TaskId>> {
        let mut with_all = self.clone();
        for (task, blocker) in edges {
            with_all.add(*task, *blocker);
        }
        if with_all.is_without_circles() {
            return Ok(());
        }
        // There is a cycle, which may be older than these edges.
        edges
            .iter()
            .try_for_each(|(task, blocker)| self.connect(*task, *blocker))
    }

    /// Removes tasks without blockers until none are left, which succeeds only without cycles.
    fn is_without_circles(&self) -> bool {
        let mut waits: BTreeMap<TaskId, usize> = BTreeMap::new();
        let mut awaited_by: BTreeMap<TaskId, Vec<TaskId>> = BTreeMap::new();
        for (task, blockers) in &self.waits_for {
            *waits.entry(*task).or_default() += blockers.len();
            for blocker in blockers {
                waits.entry(*blocker).or_default();
                awaited_by.entry(*blocker).or_default().push(*task);
            }
        }
        let mut free: Vec<TaskId> = waits
            .iter()
            .filter_map(|(task, count)| (*count == 0).then_some(*task))
            .collect();
        let mut taken = 0;
        while let Some(task) = free.pop() {
            taken += 1;
            for other in awaited_by.get(&task).into_iter().flatten() {
                if let Some(count) = waits.get_mut(other) {
                    *count -= 1;
                    if *count == 0 {
                        free.push(*other);
                    }
                }
            }
        }
        taken == waits.len()
    }

    /// Returns a path from `from` to `to` along the edges, both included.
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

/// Adds the missing IDs in order; returns whether any were missing.
pub(crate) fn add_edges(to: &mut Vec<TaskId>, ids: impl IntoIterator<Item = TaskId>) -> bool {
    let before = to.len();
    for id in ids {
        if !to.contains(&id) {
            to.push(id);
        }
    }
    to.len() > before
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn id(number: u64) -> TaskId {
        TaskId::new(number)
    }

    #[test]
    fn many_edges_are_rejected_for_a_new_cycle_but_not_for_an_old_one() {
        let edges = |numbers: &[(u64, u64)]| -> Vec<_> {
            let pairs = numbers.iter().map(|pair| (id(pair.0), id(pair.1)));
            pairs.collect()
        };
        let fresh = Graph::default;
        fresh()
            .connect_all(&edges(&[(2, 1), (3, 2), (3, 1), (1, 7)]))
            .unwrap();
        assert_eq!(
            fresh().connect_all(&edges(&[(2, 1), (3, 2), (1, 3)])),
            Err(vec![id(1), id(3), id(2), id(1)])
        );
        assert!(fresh().connect_all(&edges(&[(4, 4)])).is_err());
        let mut old = Graph::default();
        old.add(id(8), id(9));
        old.add(id(9), id(8));
        old.clone().connect_all(&edges(&[(2, 1)])).unwrap();
        old.connect_all(&edges(&[(2, 1), (1, 2)])).unwrap_err();
        let chain: Vec<_> = (1..20_000).map(|n| (id(n + 1), id(n))).collect();
        fresh().connect_all(&chain).unwrap();
    }

    #[test]
    fn the_error_lists_the_cycle() {
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

    /// Removes tasks without blockers until none are left, which succeeds only without cycles.
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
