//! Who types into a terminal that answers requests.

use std::sync::Arc;

use swarm_config::AnswerInPlace;
use swarm_os::Liveness;
use swarm_protocol::{MemberName, ShellGuards, TeamName};
use swarm_store::{BlockOn as _, MemberView, TeamStore, TeamView};

use crate::app::App;
use crate::identity::Acting;

/// Environment variables of terminals that other programs can type into, with the name of the
/// terminal.
const SHARED_TERMINALS: [(&str, &str); 6] = [
    ("TMUX", "tmux"),
    ("STY", "screen"),
    ("ZELLIJ", "zellij"),
    ("KITTY_LISTEN_ON", "kitty with remote control"),
    ("WEZTERM_UNIX_SOCKET", "WezTerm"),
    ("NVIM", "Neovim"),
];

/// The caller of the commands that are typed into a terminal. In a terminal that other programs can
/// type into, it is only a person for certain while the sandbox keeps every agent away from it.
pub(super) struct TerminalActor {
    acting: Acting,
    policy: AnswerInPlace,
    /// Name of the terminal if other programs can type into it.
    shared: Option<&'static str>,
    /// Whether the lead in this process, if any, has a shell that can reach the terminal.
    lead_reaches: bool,
    store: Arc<dyn TeamStore>,
}

impl TerminalActor {
    /// Creates the actor of this terminal; `lead` are the restrictions of the lead that runs in this
    /// process.
    pub(super) fn new(app: &App, acting: Acting, lead: Option<&ShellGuards>) -> Self {
        let shared = SHARED_TERMINALS.iter();
        let shared = shared.filter(|(name, _)| app.env.get(name).is_some());
        Self {
            acting,
            policy: app.settings.answer_in_place,
            shared: shared.map(|(_, place)| *place).next(),
            lead_reaches: lead.is_some_and(|guards| !guards.cut_terminals()),
            store: Arc::clone(&app.store),
        }
    }

    /// Returns who types at this moment, while this team exists.
    pub(super) fn now(&self, team: Option<&TeamName>) -> Acting {
        match (&self.acting, self.why_not(team)) {
            (Acting::Person, Some(why)) => Acting::PersonOrAgent(why),
            (acting, _) => acting.clone(),
        }
    }

    /// Returns whether dialogs show requests here. A key may still be refused: see [`Self::now`].
    pub(super) fn shows_dialogs(&self) -> bool {
        self.acting == Acting::Person && self.policy != AnswerInPlace::Never
    }

    fn why_not(&self, team: Option<&TeamName>) -> Option<String> {
        match self.policy {
            AnswerInPlace::Always => None,
            AnswerInPlace::Never => Some("`permissions.answer_in_place` is `never`".to_owned()),
            AnswerInPlace::Auto => {
                let place = self.shared?;
                let who = self.who_reaches(team)?;
                Some(format!(
                    "this terminal is in {place}, where {who} can also type"
                ))
            }
        }
    }

    /// Returns an agent whose shell can type into a terminal of this user, in any team.
    fn who_reaches(&self, own: Option<&TeamName>) -> Option<String> {
        if self.lead_reaches {
            return Some("the lead's shell".to_owned());
        }
        let unknown = || Some("an agent's shell".to_owned());
        let Ok(teams) = self.store.teams().block_on() else {
            return unknown();
        };
        teams.iter().find_map(|team| {
            let is_own = own == Some(team);
            match self.store.team(team).view().block_on() {
                Ok(view) => {
                    let name = unconfined(&view, is_own)?;
                    let of = if is_own {
                        String::new()
                    } else {
                        format!(" of the team {team}")
                    };
                    Some(format!("the shell of {name}{of}"))
                }
                Err(_) if is_own => unknown(),
                Err(_) => None,
            }
        })
    }
}

/// Returns a running member whose shell is not confined. Members of other programs count in the own
/// team only, because nothing shows whether those of other teams still run.
fn unconfined(view: &TeamView, is_own: bool) -> Option<&MemberName> {
    let reaches = |member: &&MemberView| match member.liveness {
        Liveness::Alive => !member.process.as_ref().is_some_and(|life| life.confined),
        Liveness::Dead => false,
        Liveness::Foreign if !is_own => false,
        // A person leads, or a teammate of swarm has not started yet.
        Liveness::Foreign if member.member.name.is_lead() => view.config.lead_process.is_some(),
        Liveness::Foreign => member.member.swarm.is_none(),
    };
    let found = view.members.iter().find(reaches)?;
    Some(&found.member.name)
}
