//! How a node has handled the worktrees that it keeps, and when it handles them again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use swarm_supervisor::LeftWorktree;
use tokio::time::Instant;

/// First and longest pause before a worktree that was kept for a passing reason is handled again.
const PAUSES: (Duration, Duration) = (Duration::from_secs(2), Duration::from_mins(1));

/// The worktrees that this process has kept, by path.
#[derive(Default)]
pub(super) struct KeptWorktrees(BTreeMap<PathBuf, Kept>);

struct Kept {
    /// The last commit that was merged on another machine then.
    merged: Option<String>,
    /// The reasons.
    why: Vec<String>,
    /// When it is handled again, and the pause before that.
    again: Option<(Instant, Duration)>,
}

impl KeptWorktrees {
    /// Returns when a worktree is handled again, of which `merged` is the last commit that was merged:
    /// now if that is news, later if the reason to keep it may pass.
    pub(super) fn due(&self, path: &Path, merged: Option<&str>, now: Instant) -> Option<Instant> {
        let before = self.0.get(path);
        let is_known = before.is_some_and(|before| before.merged.as_deref() == merged);
        if merged.is_some() && !is_known {
            return Some(now);
        }
        before?.again.map(|(at, _)| at)
    }

    /// Notes that a worktree was handled. Returns whether the outcome is news.
    pub(super) fn note(
        &mut self,
        left: &LeftWorktree,
        merged: Option<String>,
        now: Instant,
    ) -> bool {
        let before = self.0.remove(&left.path);
        if !left.kept {
            return true;
        }
        let is_same = |before: &Kept| before.merged == merged && before.why == left.why;
        let is_news = !before.as_ref().is_some_and(is_same);
        let pause = before.and_then(|before| before.again);
        let pause = pause.map_or(PAUSES.0, |(_, pause)| PAUSES.1.min(pause * 2));
        let kept = Kept {
            merged,
            why: left.why.clone(),
            again: left.may_pass.then(|| (now + pause, pause)),
        };
        self.0.insert(left.path.clone(), kept);
        is_news
    }
}

#[cfg(test)]
mod tests {
    use swarm_protocol::MemberName;

    use super::*;

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
        let path = Path::new("/w/bob");
        assert_eq!(all.due(path, None, now), None);
        assert_eq!(all.due(path, Some("a"), now), Some(now), "by nobody yet");
        assert!(all.note(&left("1 commit", false), None, now));
        assert_eq!(all.due(path, None, now), None);
        assert_eq!(all.due(path, Some("a"), now), Some(now));
        assert!(all.note(&left("1 commit", false), Some("a".to_owned()), now));
        assert_eq!(all.due(path, Some("a"), now), None);
        assert_eq!(all.due(path, Some("b"), now), Some(now));
    }

    #[test]
    fn a_reason_that_may_pass_is_looked_at_again_with_growing_pauses() {
        let (mut all, now) = (KeptWorktrees::default(), Instant::now());
        let path = Path::new("/w/bob");
        let merged = || Some("a".to_owned());
        assert!(all.note(&left("in use", true), merged(), now));
        let first = all.due(path, Some("a"), now);
        assert_eq!(first, Some(now + PAUSES.0));
        assert!(!all.note(&left("in use", true), merged(), now), "no news");
        assert_eq!(all.due(path, Some("a"), now), Some(now + 2 * PAUSES.0));
        let removed = LeftWorktree {
            kept: false,
            ..left("", false)
        };
        assert!(all.note(&removed, merged(), now));
        assert!(all.0.is_empty());
    }
}
