//! Changes of members' permissions: modes, and rules for a whole team. They are sent by mail, but
//! swarm's members only apply changes that a command has recorded in the journal and signed.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use swarm_permissions::{Behavior, Destination, Rule, RuleSet, RuleValue, Suggestion};
use swarm_protocol::{
    AnsweredBy, ControlFrame, Event, Grant, GrantSignature, LEAD_NAME, Member, MemberName,
    ModeSetRequest, PermissionMode, SpawnId, TeamConfig, TeamPermissionUpdate,
};
use swarm_store::{Draft, StoreError, Team, VerifyKey};

/// Origin of rules for a whole team.
pub const TEAM_RULE: &str = "team";

/// What the records of changes of rules, and few others, contain: the beginning of their types.
const RULE_CHANGES: &str = "\"team_rule_";

/// Tells a member to change its mode, up to its ceiling.
///
/// # Errors
/// Errors of the store; nothing is sent then.
pub async fn request_mode(
    team: &dyn Team,
    member: &MemberName,
    mode: PermissionMode,
    by: AnsweredBy,
) -> Result<(), StoreError> {
    let config = team.config().await?;
    let spawn_id = config.member(member).and_then(Member::spawn_id);
    let mode = mode.to_string();
    let by = team.signed(&Grant::mode(spawn_id, &mode), by).await?;
    team.journal(Event::ModeSet {
        member: member.clone(),
        spawn_id,
        mode: mode.clone(),
        by,
    })
    .await?;
    let frame = ControlFrame::ModeSetRequest(ModeSetRequest {
        mode,
        from: LEAD_NAME.to_owned(),
    });
    let draft = Draft::control(LEAD_NAME, &frame).urgent();
    team.send(member, draft).await.map(drop)
}

/// A change of a mode that a command has recorded in the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderedMode {
    /// The mode.
    pub mode: PermissionMode,
    /// The verified signature; `None` in a team without a key.
    pub signature: Option<GrantSignature>,
}

/// Returns the mode that a frame sets, if it is the last one recorded in the journal for this
/// spawn and signed with the private half of `key`.
///
/// # Errors
/// Errors of the store.
pub async fn ordered_mode(
    team: &dyn Team,
    spawn_id: SpawnId,
    frame: &ModeSetRequest,
    key: Option<&VerifyKey>,
) -> Result<Option<OrderedMode>, StoreError> {
    let events = team.events_with(&spawn_id.to_string()).await?;
    let last = events.iter().rev().find_map(|entry| match &entry.event {
        Event::ModeSet {
            spawn_id: Some(spawn),
            mode,
            by,
            ..
        } if *spawn == spawn_id => Some((mode, by)),
        _ => None,
    });
    let Some((mode, by)) = last.filter(|(mode, _)| **mode == frame.mode) else {
        return Ok(None);
    };
    let grant = Grant::mode(Some(spawn_id), mode);
    if key.is_some_and(|key| !key.verifies(team.name(), &grant, by)) {
        return Ok(None);
    }
    Ok(mode.parse().ok().map(|mode| OrderedMode {
        mode,
        signature: key.and(by.signature.clone()),
    }))
}

/// Adds an allow rule for all current and future members of the team. A rule about a directory is
/// also added to the roster, where other programs read it.
///
/// # Errors
/// Errors of the store.
pub async fn allow_for_team(
    team: &dyn Team,
    rule: &Rule,
    by: AnsweredBy,
) -> Result<(), StoreError> {
    let config = team.config().await?;
    let text = rule.to_string();
    let by = team.signed(&Grant::team_rule(&text), by).await?;
    team.journal(Event::TeamRuleAdded { rule: text, by })
        .await?;
    if let Some(path) = directory_of(rule) {
        team.add_allowed_path(&path, rule.tool()).await?;
    }
    let update = Suggestion::AddRules {
        rules: vec![value_of(rule)],
        behavior: Behavior::Allow,
        destination: Destination::Session,
    };
    announce(team, &config, rule, json!(update)).await
}

/// Revokes an allow rule of [`allow_for_team`]. Returns `false` if the team has no such rule.
///
/// # Errors
/// Errors of the store.
pub async fn disallow_for_team(
    team: &dyn Team,
    rule: &Rule,
    by: AnsweredBy,
) -> Result<bool, StoreError> {
    let key = team.verify_key().await?;
    let text = rule.to_string();
    if !granted_rules(team, key.as_ref()).await?.contains(&text) {
        return Ok(false);
    }
    let config = team.config().await?;
    let by = team.signed(&Grant::team_rule_removal(&text), by).await?;
    team.journal(Event::TeamRuleRemoved { rule: text, by })
        .await?;
    if let Some(path) = directory_of(rule) {
        team.remove_allowed_path(&path, rule.tool()).await?;
    }
    let update = RuleRemoval::RemoveRules {
        rules: vec![value_of(rule)],
        behavior: Behavior::Allow,
        destination: Destination::Session,
    };
    announce(team, &config, rule, json!(update)).await?;
    Ok(true)
}

/// The update of a revoked rule, in the form of Claude Code.
#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
enum RuleRemoval {
    RemoveRules {
        rules: Vec<RuleValue>,
        behavior: Behavior,
        destination: Destination,
    },
}

fn value_of(rule: &Rule) -> RuleValue {
    RuleValue {
        tool_name: rule.tool().to_owned(),
        rule_content: rule.content_text().map(str::to_owned),
    }
}

/// Returns the directory that a rule is about, if it is about everything below one.
fn directory_of(rule: &Rule) -> Option<String> {
    let path = rule
        .content_text()?
        .strip_suffix("/**")?
        .strip_prefix("//")?;
    Some(format!("/{path}"))
}

/// Tells the members about a change of a rule.
async fn announce(
    team: &dyn Team,
    config: &TeamConfig,
    rule: &Rule,
    permission_update: Value,
) -> Result<(), StoreError> {
    let frame = ControlFrame::TeamPermissionUpdate(TeamPermissionUpdate {
        permission_update,
        directory_path: directory_of(rule).unwrap_or_default(),
        tool_name: rule.tool().to_owned(),
    });
    let is_led = config.lead_process.is_some();
    let members = config.members.iter().map(|member| &member.name);
    let letters: Vec<(MemberName, Draft)> = members
        .filter(|name| is_led || !name.is_lead())
        .map(|name| {
            let draft = Draft::control(LEAD_NAME, &frame).urgent();
            (name.clone(), draft)
        })
        .collect();
    // A failure for one member does not affect the others.
    let sent = team.post_all(&letters).await?.into_iter();
    sent.map(|sent| sent.map(drop)).fold(Ok(()), Result::and)
}

/// A change of rules for a whole team that a command has recorded in the journal.
#[derive(Debug, Clone)]
pub enum OrderedRules {
    /// The rules apply to all members.
    Granted(Vec<Rule>),
    /// The rules do not apply any more.
    Revoked(Vec<Rule>),
}

/// Returns the rules that a frame grants or revokes, if that is their last change in the journal and
/// signed with the private half of `key`; `None` for other frames.
///
/// # Errors
/// Errors of the store.
pub async fn ordered_rules(
    team: &dyn Team,
    frame: &TeamPermissionUpdate,
    key: Option<&VerifyKey>,
) -> Result<Option<OrderedRules>, StoreError> {
    let update = &frame.permission_update;
    let (rules, is_granted) = if let Ok(Suggestion::AddRules {
        rules,
        behavior: Behavior::Allow,
        ..
    }) = Suggestion::deserialize(update)
    {
        (rules, true)
    } else if let Ok(RuleRemoval::RemoveRules {
        rules,
        behavior: Behavior::Allow,
        ..
    }) = RuleRemoval::deserialize(update)
    {
        (rules, false)
    } else {
        return Ok(None);
    };
    let rules: Result<Vec<_>, _> = rules.iter().map(RuleValue::rule).collect();
    let Ok(rules) = rules else {
        return Ok(None);
    };
    let changed = changed_rules(team, key).await?;
    let is_recorded = |rule: &Rule| changed.contains(&(rule.to_string(), is_granted));
    if !rules.iter().all(is_recorded) {
        return Ok(None);
    }
    Ok(Some(if is_granted {
        OrderedRules::Granted(rules)
    } else {
        OrderedRules::Revoked(rules)
    }))
}

/// Returns the team's rules, for a member that joins. With `key`, rules that are not signed with its
/// private half are ignored.
///
/// # Errors
/// [`StoreError::Damaged`] if one of them is invalid; errors of the store.
pub async fn team_rules(team: &dyn Team, key: Option<&VerifyKey>) -> Result<RuleSet, StoreError> {
    let mut rules = RuleSet::default();
    for text in granted_rules(team, key).await? {
        let rule = Rule::parse(&text).map_err(|error| StoreError::Damaged {
            path: team.location().into(),
            reason: format!("a rule in its journal: {error}"),
        })?;
        rules.add(Behavior::Allow, rule, TEAM_RULE);
    }
    Ok(rules)
}

/// Returns the rules that the journal grants to the team, as [`team_rules`], but not parsed.
async fn granted_rules(
    team: &dyn Team,
    key: Option<&VerifyKey>,
) -> Result<Vec<String>, StoreError> {
    let changed = changed_rules(team, key).await?.into_iter();
    let granted = changed.filter_map(|(rule, is_granted)| is_granted.then_some(rule));
    Ok(granted.collect())
}

/// Returns all rules of the journal, and whether the last change of each grants it.
async fn changed_rules(
    team: &dyn Team,
    key: Option<&VerifyKey>,
) -> Result<Vec<(String, bool)>, StoreError> {
    let events = team.events_with(RULE_CHANGES).await?;
    let mut rules: Vec<(String, bool)> = Vec::new();
    let mut signatures = HashSet::new();
    for entry in events {
        let (rule, by, is_granted) = match entry.event {
            Event::TeamRuleAdded { rule, by } => (rule, by, true),
            Event::TeamRuleRemoved { rule, by } => (rule, by, false),
            _ => continue,
        };
        let grant = if is_granted {
            Grant::team_rule(&rule)
        } else {
            Grant::team_rule_removal(&rule)
        };
        if key.is_some_and(|key| !key.verifies(team.name(), &grant, &by)) {
            tracing::warn!(team = %team.name(), rule, "ignored a team rule without a valid signature");
            continue;
        }
        // The copy of an earlier change is a replay.
        let signature = by.signature.map(|signature| signature.id);
        if signature.is_some_and(|id| !signatures.insert(id)) {
            continue;
        }
        match rules.iter_mut().find(|(known, _)| *known == rule) {
            Some((_, last)) => *last = is_granted,
            None => rules.push((rule, is_granted)),
        }
    }
    Ok(rules)
}
