//! The commit that a worktree is based on.

use swarm_protocol::word_list;

use crate::git::Call;
use crate::repository::{Repository, unsuitable};
use crate::view::Checkout;
use crate::{Base, GitError, Result};

/// The command that names the upstream of the branch.
const UPSTREAM: [&str; 4] = word_list("rev-parse --abbrev-ref --symbolic-full-name @{upstream}");

impl Base {
    /// Returns the commit of the caller's checkout, without network access.
    pub(crate) fn of_checkout(repository: &Repository) -> Result<Self> {
        let checkout = Checkout::at(repository, &repository.top)?;
        let at = checkout.git();
        let (Some(0), out, _) = at.status(&["rev-parse", "--verify", "-q", "HEAD^{commit}"])?
        else {
            let why = "it has no commit yet; create one";
            return Err(unsuitable(&repository.top, why));
        };
        let sha = String::from_utf8_lossy(&out).trim().to_owned();
        let branch = match at.status(&["symbolic-ref", "-q", "HEAD"])? {
            (Some(0), out, _) => String::from_utf8_lossy(&out)
                .trim()
                .strip_prefix("refs/heads/")
                .map(str::to_owned),
            _ => None,
        };
        let mut base = Self {
            sha,
            branch,
            ..Self::default()
        };
        if base.branch.is_some() {
            base.compare(&at)?;
        }
        Ok(base)
    }

    fn compare(&mut self, at: &Call<'_>) -> Result<(), GitError> {
        let named = at.status(&UPSTREAM)?;
        // There is nothing to compare without an upstream, or if it was never fetched.
        let (Some(0), out, _) = named else {
            return Ok(());
        };
        let counted = at.line(&["rev-list", "--left-right", "--count", "@{upstream}...HEAD"])?;
        let mut numbers = counted.split_whitespace().map(|n| n.parse().unwrap_or(0));
        self.upstream = Some(String::from_utf8_lossy(&out).trim().to_owned());
        self.behind = numbers.next().unwrap_or(0);
        self.ahead = numbers.next().unwrap_or(0);
        Ok(())
    }
}
