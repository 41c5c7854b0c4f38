//! Accounts for a member's model requests and holds them while a budget is used up.

use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use swarm_os::DirectoryWatcher;
use swarm_permissions::{AgentConfig, ModelNames};
use swarm_protocol::{
    Budget, BudgetScope, Budgets, CacheLifetime, CostRecord, DefaultBudgets, MemberName,
    ReservationId, ReservationMark, RunBudget, TaskId, Usage, partial_debug,
};
use swarm_store::{BlockOn as _, Draft, StoreError, Team};
use swarm_team::{BudgetUse, CostSum, MemberContext, TeamSpending, current_task, uses_of};

use crate::reporter::Reporter;

/// Percentages of a budget at which the lead is informed.
const TELL_AT: [u64; 2] = [80, 100];

/// Accounts for all requests of a process: those of the member, its sub-agents, its forks and its
/// hooks. They are recorded in the team's files; those of a lead without a team are kept until it
/// has one.
pub struct SpendingMeter {
    pub(crate) name: MemberName,
    pub(crate) models: ModelNames,
    pub(crate) cache: CacheLifetime,
    pub(crate) defaults: DefaultBudgets,
    /// Budget of the run, of a lead.
    run: Option<Budget>,
    pub(crate) owner: OnceLock<Owner>,
    accounts: Mutex<Accounts>,
}

/// The member whose requests are accounted for.
pub(crate) struct Owner {
    pub(crate) context: Arc<MemberContext>,
    pub(crate) watcher: Arc<DirectoryWatcher>,
    reporter: Arc<Reporter>,
}

#[derive(Default)]
pub(crate) struct Accounts {
    pub(crate) team: Option<Arc<dyn Team>>,
    /// The costs of the team, or of this process while it has none.
    pub(crate) spending: TeamSpending,
    /// Records of a process without a team.
    pub(crate) kept: Vec<CostRecord>,
    /// What the team had spent before this process.
    before: CostSum,
    /// The budget that last had no room for a reservation. The lead was informed about it.
    pub(crate) without_room: Option<(BudgetScope, Budget)>,
}

partial_debug!(SpendingMeter: name);

impl Accounts {
    /// Returns whether they are those of a team, or of none.
    fn are_of(&self, team: Option<&Arc<dyn Team>>) -> bool {
        self.team.as_ref().map(|own| own.name()) == team.map(|team| team.name())
    }

    /// Adds what was stored since the last call.
    fn read_on(&mut self) -> Result<(), StoreError> {
        if let Some(team) = &self.team {
            for record in self.spending.read_on(&**team)? {
                self.spending.add(&record);
            }
        }
        Ok(())
    }
}

impl SpendingMeter {
    /// Creates the meter of a member. `run` is the budget of the run that it leads.
    pub fn new(name: MemberName, agent_config: &AgentConfig, run: Option<Budget>) -> Self {
        Self {
            name,
            models: agent_config.models.clone(),
            cache: agent_config.requests.cache,
            defaults: agent_config.budgets,
            run,
            owner: OnceLock::new(),
            accounts: Mutex::default(),
        }
    }

    /// Connects the meter to its member. Only the first call has an effect.
    pub(crate) fn attach(
        self: &Arc<Self>,
        context: &Arc<MemberContext>,
        watcher: &Arc<DirectoryWatcher>,
        reporter: &Arc<Reporter>,
    ) {
        let owner = Owner {
            context: Arc::clone(context),
            watcher: Arc::clone(watcher),
            reporter: Arc::clone(reporter),
        };
        drop(self.owner.set(owner));
        let meter = Arc::clone(self);
        // What the team had spent before; the next use waits for it.
        tokio::task::spawn_blocking(move || meter.log(|meter| meter.accounts().map(drop)));
    }

    /// Returns what the team, or a lead without one, has spent since this process began.
    pub fn since_start(&self) -> CostSum {
        self.log(|meter| meter.accounts().map(drop));
        let accounts = self.accounts.lock();
        accounts.spending.total.since(&accounts.before)
    }

    /// Like [`Self::since_start`], as far as it is known without reading files; `None` while the
    /// accounts are in use.
    pub fn known_since_start(&self) -> Option<CostSum> {
        let accounts = self.accounts.try_lock()?;
        Some(accounts.spending.total.since(&accounts.before))
    }

    /// Returns the costs of the team, or of this process while it has none.
    pub fn spending(&self) -> TeamSpending {
        self.log(|meter| meter.accounts().map(drop));
        self.accounts.lock().spending.clone()
    }

    /// Returns the accounts as they are stored.
    pub(crate) fn accounts(&self) -> Result<parking_lot::MutexGuard<'_, Accounts>, StoreError> {
        let mut accounts = self.joined()?;
        accounts.read_on()?;
        Ok(accounts)
    }

    /// Returns the member's team, if it is in one.
    fn team(&self) -> Option<Arc<dyn Team>> {
        self.owner.get().and_then(|owner| owner.context.team())
    }

    /// Returns the accounts as they were read last, in the member's team.
    fn joined(&self) -> Result<parking_lot::MutexGuard<'_, Accounts>, StoreError> {
        let mut accounts = self.accounts.lock();
        let team = self.team();
        if team.is_some() && !accounts.are_of(team.as_ref()) {
            self.join(&mut accounts, team)?;
        }
        Ok(accounts)
    }

    /// Continues in the files of a team.
    fn join(&self, accounts: &mut Accounts, team: Option<Arc<dyn Team>>) -> Result<(), StoreError> {
        let Some(found) = team.clone() else {
            return Ok(());
        };
        let mut spending = TeamSpending::of(&*found)?;
        let before = spending.total.clone();
        // Those of an earlier process of this member, which cannot release them any more.
        let stale = spending.reservations_of(&self.name);
        let stale: Vec<_> = stale.into_iter().map(|id| self.release_of(id)).collect();
        if !stale.is_empty() {
            found.record_costs(&stale).block_on()?;
        }
        if self.name.is_lead() {
            found.set_run_budget(self.run_budget(&before)).block_on()?;
        }
        found.record_costs(&accounts.kept).block_on()?;
        for record in spending.read_on(&*found)? {
            spending.add(&record);
        }
        *accounts = Accounts {
            team,
            spending,
            before,
            ..Accounts::default()
        };
        Ok(())
    }

    fn run_budget(&self, before: &CostSum) -> Option<RunBudget> {
        let limit = self.run?;
        Some(RunBudget {
            limit,
            usd_before: before.usd,
            tokens_before: before.usage.total(),
        })
    }

    pub(crate) fn budgets(&self, accounts: &Accounts) -> Result<Budgets, StoreError> {
        match &accounts.team {
            Some(team) => team.budgets().block_on(),
            None => Ok(Budgets {
                run: self.run_budget(&accounts.before),
                ..Budgets::default()
            }),
        }
    }

    pub(crate) fn task(&self, accounts: &Accounts) -> Result<Option<TaskId>, StoreError> {
        match &accounts.team {
            Some(team) => current_task(&**team, &self.name),
            None => Ok(None),
        }
    }

    /// Returns the use of the budgets that apply to this member.
    fn uses(&self) -> Result<Vec<BudgetUse>, StoreError> {
        let mut accounts = self.joined()?;
        let budgets = self.budgets(&accounts)?;
        if !self.may_limit(&budgets) {
            return Ok(Vec::new());
        }
        accounts.read_on()?;
        let task = self.task(&accounts)?;
        let spending = &accounts.spending;
        Ok(uses_of(
            &self.name,
            task,
            spending,
            &budgets,
            &self.defaults,
        ))
    }

    /// Returns whether no budget limits requests. Does not wait, and reads no accounts; `false` also means
    /// that they have to be read first.
    pub(crate) async fn is_unlimited(&self) -> bool {
        // That of the run is the only one without a team.
        if self.run.is_some() || self.may_limit(&Budgets::default()) {
            return false;
        }
        let team = self.team();
        let accounts = self.accounts.try_lock();
        let has_joined = accounts.is_some_and(|accounts| accounts.are_of(team.as_ref()));
        match team {
            _ if !has_joined => false,
            Some(team) => {
                let budgets = team.budgets().await;
                budgets.is_ok_and(|budgets| !self.may_limit(&budgets))
            }
            None => true,
        }
    }

    /// Returns whether one of these budgets, or a default, may limit requests.
    pub(crate) fn may_limit(&self, budgets: &Budgets) -> bool {
        *budgets != Budgets::default() || !self.defaults.is_empty()
    }

    /// Returns why no request may be sent, whatever its model.
    pub(crate) fn full_budget(&self) -> Result<Option<String>, StoreError> {
        let uses = self.uses()?;
        let full = uses.iter().find(|one| one.is_used_up());
        Ok(full.map(|full| self.over(full)))
    }

    /// Returns why no request to a model may be sent.
    pub(crate) fn reason(&self, model: &str) -> Result<Option<String>, StoreError> {
        let uses = self.uses()?;
        let full = uses.iter().find(|one| one.is_used_up());
        let full = full.map(|full| self.over(full));
        Ok(full.or_else(|| self.unpriced_of(&uses, model)))
    }

    /// Returns why a budget in money cannot be applied to requests to a model.
    pub(crate) fn unpriced_budget(&self, model: &str) -> Result<Option<String>, StoreError> {
        Ok(self.unpriced_of(&self.uses()?, model))
    }

    fn unpriced_of(&self, uses: &[BudgetUse], model: &str) -> Option<String> {
        let is_money = |one: &&BudgetUse| matches!(one.budget, Budget::Money(_));
        let limited = uses.iter().find(is_money);
        let unpriced = limited.filter(|_| self.models.price(model).is_none());
        unpriced.map(|one| {
            format!(
                "{model} has no price, so the budget of {} ({}) cannot be applied; add the price to [model.prices] in \
                 swarm.toml and start {} again",
                one.scope, one.budget, self.name
            )
        })
    }

    fn over(&self, used: &BudgetUse) -> String {
        let (scope, raise) = (&used.scope, self.raise(used.budget));
        format!("the budget of {scope} is used up ({used}); {raise}")
    }

    /// Describes how a person raises a budget.
    pub(crate) fn raise(&self, budget: Budget) -> String {
        let more = match budget {
            Budget::Money(_) => "+2$",
            Budget::Tokens(_) => "+500k-tokens",
        };
        format!("`swarm continue {} --budget {more}` raises it", self.name)
    }

    pub(crate) fn enter(&self, model: &str, agent: &str, usage: Usage) -> Result<(), StoreError> {
        let mut accounts = self.joined()?;
        let price = self.models.price(model);
        let record = CostRecord {
            at: self.now(),
            member: self.name.clone(),
            agent: self.sub_agent(agent),
            task: self.task(&accounts).unwrap_or_default(),
            model: model.to_owned(),
            usage,
            usd: price.map(|price| price.cost(usage, self.cache)),
            price: price.and_then(|price| price.as_of.clone()),
            reservation: None,
        };
        let Some(team) = accounts.team.clone() else {
            let told = self.add(&mut accounts, &record, &record)?;
            accounts.kept.push(record);
            drop(accounts);
            self.tell(None, &told);
            return Ok(());
        };
        team.record_costs(std::slice::from_ref(&record))
            .block_on()?;
        let mut told = Vec::new();
        for new in accounts.spending.read_on(&*team)? {
            told.extend(self.add(&mut accounts, &new, &record)?);
        }
        drop(accounts);
        self.tell(Some(&*team), &told);
        Ok(())
    }

    /// Adds a record. If it is this process's `own`, returns the budgets of which it has used up
    /// one of the parts about which the lead is informed: the order of the file decides whose request
    /// that was.
    fn add(
        &self,
        accounts: &mut Accounts,
        record: &CostRecord,
        own: &CostRecord,
    ) -> Result<Vec<BudgetUse>, StoreError> {
        if record != own {
            accounts.spending.add(record);
            return Ok(Vec::new());
        }
        let budgets = self.budgets(accounts)?;
        let uses = |accounts: &Accounts| {
            let spending = &accounts.spending;
            uses_of(&self.name, own.task, spending, &budgets, &self.defaults)
        };
        let before = uses(accounts);
        accounts.spending.add(record);
        let crossed = |(before, after): &(BudgetUse, BudgetUse)| {
            let passes = |at: &u64| before.percent() < *at && after.percent() >= *at;
            TELL_AT.iter().any(passes)
        };
        let pairs = before.into_iter().zip(uses(accounts));
        Ok(pairs.filter(crossed).map(|(_, after)| after).collect())
    }

    /// Tells the lead how much of budgets is used.
    fn tell(&self, team: Option<&dyn Team>, uses: &[BudgetUse]) {
        for used in uses {
            let text = self.news(used);
            match team {
                // A lead that is held reads no mail.
                Some(team) if !(self.name.is_lead() && used.is_used_up()) => {
                    let draft = Draft::system(text.as_str()).with_summary(text.as_str());
                    if let Err(error) = team.send(&MemberName::lead(), draft).block_on() {
                        tracing::warn!(team = %team.name(), %error, "the lead was not told about a budget");
                    }
                }
                _ => {
                    if let Some(owner) = self.owner.get() {
                        owner.reporter.notice(text);
                    }
                }
            }
        }
    }

    fn news(&self, used: &BudgetUse) -> String {
        let (scope, percent) = (&used.scope, used.percent());
        if !used.is_used_up() {
            return format!("{percent} % of the budget of {scope} is used: {used}.");
        }
        let who = match scope {
            BudgetScope::Member(name) => format!("{name} sends no request"),
            BudgetScope::Task(_) => format!("{} sends no request", self.name),
            BudgetScope::Run | BudgetScope::Team => "no member sends a request".to_owned(),
        };
        format!(
            "The budget of {scope} is used up: {used}. From now on {who} until a person raises it with \
             `swarm continue {} --budget +AMOUNT`. Its work is kept.",
            self.name
        )
    }

    /// Returns the record that releases a reservation.
    pub(crate) fn release_of(&self, id: ReservationId) -> CostRecord {
        CostRecord {
            at: self.now(),
            member: self.name.clone(),
            agent: None,
            task: None,
            model: String::new(),
            usage: Usage::default(),
            usd: None,
            price: None,
            reservation: Some(ReservationMark::Released(id)),
        }
    }

    pub(crate) fn now(&self) -> swarm_protocol::UnixMs {
        let owner = self.owner.get();
        owner.map_or_else(
            || swarm_protocol::Clock::now(&swarm_protocol::SystemClock),
            |owner| owner.context.clock.now(),
        )
    }

    /// Returns the type of a sub-agent, or `hook`, from the name of an agent in a request.
    fn sub_agent(&self, agent: &str) -> Option<String> {
        if agent == self.name.as_str() {
            return None;
        }
        let own = format!("{}/", self.name);
        Some(agent.strip_prefix(&own).unwrap_or(agent).to_owned())
    }

    pub(crate) fn log(&self, work: impl FnOnce(&Self) -> Result<(), StoreError>) {
        if let Err(error) = work(self) {
            tracing::error!(member = %self.name, %error, "the costs of model requests cannot be read or recorded");
        }
    }
}
