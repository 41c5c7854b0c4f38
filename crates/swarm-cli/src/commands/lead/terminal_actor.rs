//! Who types into a terminal that answers requests.

use std::sync::Arc;

use swarm_config::Environment;
use swarm_os::Liveness;
use swarm_protocol::{AnswerInPlace, LifeRecord, MemberName, ShellGuards, TeamName};
use swarm_store::{BlockOn as _, MemberView, TeamStore, TeamView};

use crate::app::App;
use crate::identity::Acting;

/// Environment variables of terminals that other programs can type into, with the name of the
/// terminal.
const SHARED_TERMINALS: [(&str, &str); 7] = [
    ("TMUX", "tmux"),
    ("STY", "screen"),
    ("ZELLIJ", "zellij"),
    ("KITTY_LISTEN_ON", "kitty with remote control"),
    ("WEZTERM_UNIX_SOCKET", "WezTerm"),
    ("NVIM", "Neovim"),
    ("NVIM_LISTEN_ADDRESS", "Neovim"),
];

/// A terminal that other programs can type into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SharedTerminal {
    place: &'static str,
    /// Whether it accepts TCP connections, and not only those of Unix sockets.
    listens_on_tcp: bool,
}

impl SharedTerminal {
    /// Returns the terminal that is easiest to reach, from the environment.
    fn find<'a>(variable: impl Fn(&str) -> Option<&'a str>) -> Option<Self> {
        let found = SHARED_TERMINALS.iter().filter_map(|&(name, place)| {
            let listens_on_tcp = is_tcp_address(variable(name)?);
            Some(Self {
                place,
                listens_on_tcp,
            })
        });
        found.min_by_key(|terminal| !terminal.listens_on_tcp)
    }
}

/// Whether an address of kitty (`tcp:HOST:PORT`, `unix:…`) or Neovim (`HOST:PORT`, a path or a name) is
/// one of TCP.
fn is_tcp_address(address: &str) -> bool {
    let is_unix = address.starts_with("unix:") || address.contains('/');
    !is_unix && address.contains(':')
}

/// The caller of the commands that are typed into a terminal. In a terminal that other programs can
/// type into, it is only a person for certain while the sandbox keeps every agent away from it.
pub(super) struct TerminalActor {
    acting: Acting,
    policy: AnswerInPlace,
    /// The terminal, if other programs can type into it.
    shared: Option<SharedTerminal>,
    /// Whether the lead in this process, if any, has a shell that can reach the terminal.
    lead_reaches: bool,
    store: Arc<dyn TeamStore>,
}

impl TerminalActor {
    /// Creates the actor of this terminal; `lead` are the restrictions of the lead that runs in this
    /// process.
    pub(super) fn new(app: &App, acting: Acting, lead: Option<&ShellGuards>) -> Self {
        let shared = SharedTerminal::find(|name| app.env.get(name));
        let on_tcp = shared.is_some_and(|terminal| terminal.listens_on_tcp);
        let is_cut =
            |guards: &ShellGuards| guards.cut_terminals() && (!on_tcp || guards.cut_loopback());
        Self {
            acting,
            policy: app.settings.answer_in_place,
            shared,
            lead_reaches: lead.is_some_and(|guards| !is_cut(guards)),
            store: Arc::clone(&app.store),
        }
    }

    /// Creates the actor of a teammate's pane, which programs control in any case. A person has started
    /// the teammate unless `policy` is `Never`.
    pub(super) fn of_pane(
        env: &Environment,
        policy: AnswerInPlace,
        store: Arc<dyn TeamStore>,
    ) -> Self {
        let shared = SharedTerminal::find(|name| env.get(name)).unwrap_or(SharedTerminal {
            place: "a terminal that programs control",
            listens_on_tcp: false,
        });
        Self {
            acting: Acting::Person,
            policy,
            shared: Some(shared),
            // The teammate is a member of its team.
            lead_reaches: false,
            store,
        }
    }

    /// Returns who types at this moment, while this team exists. Inside a shared terminal it reads every
    /// team, so it is called when a request appears or a key has a command to run, not for text. An
    /// earlier result could be of a time without the agent that types now.
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
                let SharedTerminal {
                    place,
                    listens_on_tcp,
                } = self.shared?;
                let who = self.who_reaches(team, listens_on_tcp)?;
                Some(format!(
                    "this terminal is in {place}, where {who} can also type"
                ))
            }
        }
    }

    /// Returns an agent whose shell can type into a terminal of this user, in any team.
    fn who_reaches(&self, own: Option<&TeamName>, on_tcp: bool) -> Option<String> {
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
                    let name = unconfined(&view, is_own, on_tcp)?;
                    let of = if is_own {
                        String::new()
                    } else {
                        format!(" of team {team}")
                    };
                    Some(format!("the shell of {name}{of}"))
                }
                Err(_) if is_own => unknown(),
                Err(_) => None,
            }
        })
    }
}

/// Returns a running member whose shell is not confined, or could connect to a terminal that listens on
/// TCP. Members of other programs count in the own
/// team only, because nothing shows whether those of other teams still run.
fn unconfined(view: &TeamView, is_own: bool, on_tcp: bool) -> Option<&MemberName> {
    let is_cut = |life: &LifeRecord| life.confined && (!on_tcp || life.off_loopback);
    let reaches = |member: &&MemberView| match member.liveness {
        Liveness::Alive => !member.process.as_ref().is_some_and(is_cut),
        Liveness::Dead => false,
        Liveness::Foreign if !is_own => false,
        // A person leads, or a teammate of swarm has not started yet.
        Liveness::Foreign if member.member.name.is_lead() => view.config.lead_process.is_some(),
        Liveness::Foreign => member.member.swarm.is_none(),
    };
    let found = view.members.iter().find(reaches)?;
    Some(&found.member.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_that_listens_on_tcp_counts_before_others() {
        let find = |set: &[(&str, &'static str)]| {
            SharedTerminal::find(|name| {
                let mut set = set.iter();
                set.find(|(known, _)| *known == name)
                    .map(|(_, value)| *value)
            })
        };
        assert_eq!(find(&[]), None);
        let (tmux, on_unix) = (
            ("TMUX", "/tmp/tmux-0/default,1,0"),
            ("KITTY_LISTEN_ON", "unix:@kitty"),
        );
        let on_tcp = ("KITTY_LISTEN_ON", "tcp:localhost:9");
        for (set, place, listens_on_tcp) in [
            (vec![tmux], "tmux", false),
            (vec![tmux, on_tcp], "kitty with remote control", true),
            (vec![tmux, on_unix], "tmux", false),
            (vec![("NVIM", "/run/user/0/nvim.1.0")], "Neovim", false),
            (
                vec![("NVIM_LISTEN_ADDRESS", "127.0.0.1:6666")],
                "Neovim",
                true,
            ),
        ] {
            let expected = SharedTerminal {
                place,
                listens_on_tcp,
            };
            assert_eq!(find(&set), Some(expected), "{set:?}");
        }
    }
}
