//! How a node has handled the worktrees that it keeps, and when it handles them again.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use swarm_protocol::SpawnId;
use swarm_supervisor::LeftWorktree;
use swarm_worktree::Record;
use tokio::time::Instant;

/// First and longest pause before a worktree that was kept for a passing reason is handled again.
const PAUSES: (Duration, Duration) = (Duration::from_secs(2), Duration::from_mins(1));

/// The worktrees that this process has kept, by path.
#[derive(Default)]
pub(super) struct KeptWorktrees(BTreeMap<PathBuf, Kept>);

struct Kept {
    /// The spawn that has left it. Another one has used the worktree since.
    spawn: Option<SpawnId>,
    /// The last commit that was merged on another machine then.
    merged: Option<String>,
    /// The reasons.
    why: Vec<String>,
    /// When it is handled again, and the pause before that.
    again: Option<(Instant, Duration)>,
}

impl KeptWorktrees {
    /// Returns when a worktree is handled, of which `merged` is the last commit that was merged: now if
    /// this process has not handled it since its spawn has left, or if that commit is news; later if the
    /// reason to keep it may pass.
    pub(super) fn due(
        &self,
        record: &Record,
        merged: Option<&str>,
        now: Instant,
    ) -> Option<Instant> {
        let before = self.0.get(&record.path).filter(|kept| kept.is_of(record));
        match before {
            Some(before) if merged.is_none() || before.merged.as_deref() == merged => {
                before.again.map(|(at, _)| at)
            }
            _ => Some(now),
        }
    }

    /// Notes that a worktree was handled. Returns whether the outcome is news: a process that has
    /// released and kept a worktree has named it.
    pub(super) fn note(
        &mut self,
        record: &Record,
        left: &LeftWorktree,
        merged: Option<String>,
        now: Instant,
    ) -> bool {
        let before = self.0.remove(&record.path);
        if !left.kept {
            return true;
        }
        let before = before.filter(|before| before.is_of(record));
        let is_news = match &before {
            Some(before) => before.merged != merged || before.why != left.why,
            None => record.in_use,
        };
        let pause = before.and_then(|before| before.again);
        let pause = pause.map_or(PAUSES.0, |(_, pause)| PAUSES.1.min(pause * 2));
        let kept = Kept {
            spawn: record.owner.spawn_id,
            merged,
            why: left.why.clone(),
            again: left.may_pass.then(|| (now + pause, pause)),
        };
        self.0.insert(record.path.clone(), kept);
        is_news
    }
}

impl Kept {
    fn is_of(&self, record: &Record) -> bool {
        self.spawn == record.owner.spawn_id
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use swarm_protocol::MemberName;

    use super::*;

    /// A worktree that a spawn has left.
    fn record(in_use: bool) -> Record {
        let record = json!({
            "version": 1, "slug": "bob", "path": "/w/bob", "branch": "worktree-bob",
            "base": {"sha": ""}, "from": "/w", "createdAt": 1, "stage": "ready", "inUse": in_use,
            "owner": {"team": "demo", "member": "bob", "spawnId": SpawnId::random()},
        });
        serde_json::from_value(record).unwrap()
    }

    fn left(why: &str, may_pass: bool) -> LeftWorktree {
        LeftWorktree {
            member: MemberName::parse("bob").unwrap(),
            slug: "bob".to_owned(),
            path: PathBuf::from("/w/bob"),
            host: None,
            branch: "worktree-bob".to_owned(),
            kept: true,
            why: vec![why.to_owned()],
            can_be_merged: false,
            may_pass,
        }
    }

    #[test]
    fn a_worktree_is_handled_again_when_its_work_is_merged() {
        let (mut all, now) = (KeptWorktrees::default(), Instant::now());
        let (bob, merged) = (record(true), || Some("a".to_owned()));
        assert_eq!(all.due(&bob, None, now), Some(now), "by nobody yet");
        assert!(all.note(&bob, &left("1 commit", false), None, now));
        assert_eq!(all.due(&bob, None, now), None);
        assert_eq!(all.due(&bob, Some("a"), now), Some(now));
        assert!(all.note(&bob, &left("1 commit", false), merged(), now));
        assert_eq!(all.due(&bob, Some("a"), now), None);
        assert_eq!(all.due(&bob, None, now), None, "the hub did not answer");
        assert_eq!(all.due(&bob, Some("b"), now), Some(now));
    }

    #[test]
    fn a_reason_that_may_pass_is_looked_at_again_with_growing_pauses() {
        let (mut all, now) = (KeptWorktrees::default(), Instant::now());
        let (bob, merged) = (record(true), || Some("a".to_owned()));
        assert!(all.note(&bob, &left("in use", true), merged(), now));
        assert_eq!(all.due(&bob, Some("a"), now), Some(now + PAUSES.0));
        let is_news = all.note(&bob, &left("in use", true), merged(), now);
        assert!(!is_news);
        assert_eq!(all.due(&bob, Some("a"), now), Some(now + 2 * PAUSES.0));
        let removed = LeftWorktree {
            kept: false,
            ..left("", false)
        };
        assert!(all.note(&bob, &removed, merged(), now));
        assert!(all.0.is_empty());
    }

    #[test]
    fn what_another_process_has_kept_is_handled_once_and_not_named_again() {
        let (mut all, now) = (KeptWorktrees::default(), Instant::now());
        let bob = record(false);
        assert_eq!(all.due(&bob, None, now), Some(now));
        assert!(!all.note(&bob, &left("in use", true), None, now));
        assert_eq!(all.due(&bob, None, now), Some(now + PAUSES.0));
        assert!(all.note(&bob, &left("1 commit", false), None, now));
        assert_eq!(all.due(&bob, None, now), None);
    }

    #[test]
    fn a_later_spawn_in_the_same_worktree_is_another_departure() {
        let (mut all, now) = (KeptWorktrees::default(), Instant::now());
        let [first, second] = [record(true), record(true)];
        for _ in 0..2 {
            all.note(&first, &left("in use", true), None, now);
        }
        assert_eq!(all.due(&second, None, now), Some(now));
        assert!(all.note(&second, &left("in use", true), None, now));
        assert_eq!(all.due(&second, None, now), Some(now + PAUSES.0));
    }
}
