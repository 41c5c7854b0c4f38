//! Runs the operations of a team in records such that they never block an asynchronous caller.

use tokio::runtime::Handle;

use super::call::Call;
use super::team::RecordsTeam;
use crate::blocking_pool::on_blocking_pool;
use crate::operations::asynchronous_team;

asynchronous_team!(RecordsTeam);

impl RecordsTeam {
    /// Runs an operation on the caller's thread. If it would have to wait before its first change, as
    /// for each request to a server that is not in this process, it is repeated on the blocking pool.
    async fn run<T: Send + 'static>(&self, operation: impl Fn(&Self) -> T + Send + 'static) -> T {
        if !self.space.is_local() && Handle::try_current().is_err() {
            // There is no pool.
            return operation(&self.called(false));
        }
        let attempt = self.called(true);
        let done = operation(&attempt);
        if !attempt.call.is_abandoned() {
            return done;
        }
        self.run_blocking(operation).await
    }

    /// Runs an operation on the blocking pool.
    pub(super) async fn run_blocking<T: Send + 'static>(
        &self,
        operation: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> T {
        let team = self.called(false);
        on_blocking_pool(move || operation(&team)).await
    }

    /// Returns the handle for a new execution of an operation, with the whole deadline.
    pub(super) fn called(&self, is_attempt: bool) -> Self {
        let mut team = self.clone();
        team.call = Call::new(&team.patience, is_attempt);
        team
    }

    /// Whether a reconciliation would change something.
    fn needs_reconcile(&self) -> Result<bool> {
        self.space.expect_leases();
        Ok(!self.findings(&*self.roster_seen()?, |_| true)?.is_empty())
    }

    fn team_name(&self) -> &TeamName {
        &self.team
    }

    pub(super) fn waiting_at_most(&self, at_most: Duration) -> Self {
        let mut team = self.clone();
        let patience = &mut team.patience;
        patience.at_most = at_most.min(patience.at_most);
        team
    }
}
