//! Admits a member's model requests as far as budgets allow, and records them. With strict budgets,
//! the most that a request can use is reserved in the team's files before it is sent: the order of
//! the file decides which of several requests gets the rest of a budget.

use std::any::Any;
use std::sync::Arc;

use async_trait::async_trait;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use swarm_model::{Admission, ModelRequest, RequestMeter};
use swarm_os::Liveness;
use swarm_protocol::{
    Budget, Budgets, CostRecord, MemberName, Money, ReservationId, ReservationMark, Usage,
};
use swarm_store::{BlockOn as _, Draft, StoreError, Team, Topic};
use swarm_team::{BudgetUse, TeamSpending, uses_of};
use tokio::runtime::Handle;

use crate::SpendingMeter;
use crate::either_change::EitherChange;
use crate::spending::Accounts;

/// Budget that is set aside for a request. Dropping it releases it.
struct ReservedBudget {
    meter: Arc<SpendingMeter>,
    id: ReservationId,
}

impl Drop for ReservedBudget {
    fn drop(&mut self) {
        let (meter, id) = (Arc::clone(&self.meter), self.id);
        let release = move || meter.log(|meter| meter.release(id));
        match Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(release)),
            // The next process of this member releases it.
            Err(error) => tracing::warn!(%error, "a reserved budget was not released"),
        }
    }
}

/// Why a request is held, for display.
type Refusal = String;

impl SpendingMeter {
    /// Returns what is kept for a request to a model that uses at most `most`, without which nothing
    /// is reserved.
    fn admission(
        self: &Arc<Self>,
        model: &str,
        most: Option<Usage>,
    ) -> Result<Result<Option<ReservedBudget>, Refusal>, StoreError> {
        if let Some(reason) = self.reason(model)? {
            return Ok(Err(reason));
        }
        match most {
            Some(most) => self.reserve(model, most),
            None => Ok(Ok(None)),
        }
    }

    fn reserve(
        self: &Arc<Self>,
        model: &str,
        most: Usage,
    ) -> Result<Result<Option<ReservedBudget>, Refusal>, StoreError> {
        let mut accounts = self.accounts()?;
        let budgets = self.budgets(&accounts)?;
        if !self.may_limit(&budgets) {
            return Ok(Ok(None));
        }
        let id = ReservationId::random();
        let record = CostRecord {
            task: self.task(&accounts)?,
            model: model.to_owned(),
            usage: most,
            usd: self.highest_cost(model, most),
            reservation: Some(ReservationMark::Reserved(id)),
            ..self.release_of(id)
        };
        // Looked at before anything is written, so that a held request writes nothing.
        let mut ahead = accounts.spending.clone();
        ahead.add(&record);
        let mut full = self.without_room(&accounts, &ahead, &record, &budgets);
        let mut reserved = None;
        if full.is_none() {
            reserved = Some(ReservedBudget {
                meter: Arc::clone(self),
                id,
            });
            if let Some(team) = accounts.team.clone() {
                let own = std::slice::from_ref(&record);
                team.record_costs(own).block_on()?;
                for new in accounts.spending.read_on(&*team)? {
                    accounts.spending.add(&new);
                    if new.reservation == record.reservation {
                        // Those before it in the file come first.
                        let spending = &accounts.spending;
                        full = self.without_room(&accounts, spending, &record, &budgets);
                    }
                }
            } else {
                accounts.spending.add(&record);
                accounts.kept.push(record.clone());
            }
        }
        let Some(full) = full else {
            accounts.without_room = None;
            return Ok(Ok(reserved));
        };
        let reason = self.no_room(&full, &record);
        let key = Some((full.scope, full.budget));
        let is_new = accounts.without_room != key;
        accounts.without_room = key;
        let team = accounts.team.clone();
        drop(accounts);
        drop(reserved);
        if let Some(team) = team.filter(|_| is_new && !self.name.is_lead()) {
            self.tell_lead(&*team, &reason);
        }
        Ok(Err(reason))
    }

    /// Returns a budget that is exceeded if everything in `spending` that is reserved is used.
    fn without_room(
        &self,
        accounts: &Accounts,
        spending: &TeamSpending,
        record: &CostRecord,
        budgets: &Budgets,
    ) -> Option<BudgetUse> {
        let spending = spending.with_reserved(|reserved| {
            reserved.member == self.name || is_running(accounts, &reserved.member)
        });
        let uses = uses_of(&self.name, record.task, &spending, budgets, &self.defaults);
        uses.into_iter().find(BudgetUse::is_exceeded)
    }

    /// Returns the most that tokens can cost; `None` without a price.
    fn highest_cost(&self, model: &str, most: Usage) -> Option<Money> {
        let price = self.models.price(model)?;
        let written = Usage {
            input_tokens: 0,
            cache_creation_input_tokens: most.input_tokens,
            ..most
        };
        let costs = [most, written].map(|usage| price.cost(usage, self.cache));
        costs.into_iter().max()
    }

    fn no_room(&self, full: &BudgetUse, record: &CostRecord) -> Refusal {
        let most = match (full.budget, record.usd) {
            (Budget::Money(_), Some(usd)) => usd.to_string(),
            _ => format!("{} tokens", record.usage.total()),
        };
        let (scope, budget, raise) = (&full.scope, full.budget, self.raise(full.budget));
        format!(
            "the budget of {scope} ({budget}) has no room for the most that the next request can use ({most}); {raise}"
        )
    }

    fn tell_lead(&self, team: &dyn Team, reason: &str) {
        let draft = Draft::system(format!("{} waits: {reason}", self.name))
            .with_summary(format!("{} waits for a budget", self.name));
        if let Err(error) = team.send(&MemberName::lead(), draft).block_on() {
            tracing::warn!(team = %team.name(), %error, "the lead was not told about a budget");
        }
    }

    fn release(&self, id: ReservationId) -> Result<(), StoreError> {
        let mut accounts = self.accounts()?;
        let record = self.release_of(id);
        let Some(team) = accounts.team.clone() else {
            accounts.spending.add(&record);
            accounts.kept.push(record);
            return Ok(());
        };
        team.record_costs(std::slice::from_ref(&record))
            .block_on()?;
        for new in accounts.spending.read_on(&*team)? {
            accounts.spending.add(&new);
        }
        Ok(())
    }
}

/// Returns whether a member may still use what it has reserved.
fn is_running(accounts: &Accounts, name: &MemberName) -> bool {
    let lease = |team: &Arc<dyn Team>| team.lease(name).block_on();
    !matches!(
        accounts.team.as_ref().map(lease),
        Some(Ok(Liveness::Dead | Liveness::Foreign))
    )
}

/// Runs work with the accounts on the blocking pool, because it reads and writes files under locks.
/// Once begun it runs to completion, even if nobody awaits it any more.
async fn apart<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.inspect_err(|error| tracing::error!(%error, "model requests are not accounted for"))
        .ok()
}

#[async_trait]
impl RequestMeter for SpendingMeter {
    async fn admit(
        self: Arc<Self>,
        model: &str,
        request: &ModelRequest,
    ) -> Result<Admission, String> {
        if self.is_unlimited().await {
            return Ok(None);
        }
        let window = self.models.window(model);
        let most = self.defaults.strict.then(|| request.most_tokens(window));
        let (meter, model) = (Arc::clone(&self), model.to_owned());
        match apart(move || meter.admission(&model, most)).await {
            Some(Ok(Ok(reserved))) => {
                Ok(reserved.map(|reserved| Box::new(reserved) as Box<dyn Any + Send>))
            }
            Some(Ok(Err(reason))) => Err(reason),
            // Without the accounts no budget can be applied; a full disk must not stop a team that
            // has none.
            Some(Err(error)) => {
                tracing::error!(member = %self.name, %error, "budgets not read");
                Ok(None)
            }
            None => Ok(None),
        }
    }

    async fn used_up(self: Arc<Self>) -> Option<String> {
        let meter = Arc::clone(&self);
        apart(move || meter.full_budget())
            .await?
            .inspect_err(|error| tracing::error!(member = %self.name, %error, "budgets not read"))
            .ok()?
    }

    async fn unpriced(self: Arc<Self>, model: &str) -> Option<String> {
        let (meter, model) = (Arc::clone(&self), model.to_owned());
        apart(move || meter.unpriced_budget(&model))
            .await?
            .inspect_err(|error| tracing::error!(member = %self.name, %error, "budgets not read"))
            .ok()?
    }

    async fn changed(self: Arc<Self>) -> BoxFuture<'static, ()> {
        let Some(owner) = self.owner.get() else {
            return std::future::pending().boxed();
        };
        let context = Arc::clone(&owner.context);
        // The budget can only be raised in a team.
        let team = match apart(move || context.team_or_found()).await {
            Some(Ok(team)) => team,
            Some(Err(error)) => {
                tracing::error!(%error, "no team for a lead whose budget is used up");
                return std::future::pending().boxed();
            }
            None => return std::future::pending().boxed(),
        };
        if !self.defaults.strict {
            let mut budgets = team.watch(&owner.watcher, &Topic::Budgets);
            return async move { budgets.changed().await }.boxed();
        }
        // Another request releases what it has not used.
        let topics = [Topic::Budgets, Topic::Costs];
        let mut either = EitherChange::watch(&*team, &owner.watcher, topics);
        async move { either.changed().await }.boxed()
    }

    async fn record(self: Arc<Self>, model: &str, agent: &str, usage: Usage) {
        if usage.total() > 0 {
            let (model, agent) = (model.to_owned(), agent.to_owned());
            let enter = move || self.log(|meter| meter.enter(&model, &agent, usage));
            apart(enter).await;
        }
    }
}
