//! Options of commands that use a hub.

use std::path::PathBuf;

use swarm_config::{Environment, Settings};
use swarm_protocol::ErrorKind;
use swarm_store::{BlockOn as _, HubSettings, StoreError};

use crate::app::App;
use crate::failure::{Failure, Result};
use crate::hub_credentials::exposure;
use crate::output::quoted;

/// Help of `--hub` for commands on nodes.
pub(crate) const HUB_OF_NODES: &str =
    "Hub of the nodes [default: that of the team; if no URL is given: setting `hub.url`]";

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct HubArgs {
    /// Hub of the team: a server that all of its machines reach [without URL: setting `hub.url`].
    #[arg(long, value_name = "URL", num_args = 0..=1, default_missing_value = "")]
    hub: Option<String>,
    #[command(flatten)]
    files: HubFiles,
}

// A doc comment here would replace the help of the commands that flatten this.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct HubFiles {
    /// File with the hub's credentials [default: setting `hub.credentials`].
    #[arg(long, value_name = "FILE")]
    credentials: Option<PathBuf>,
    /// PEM file of the authority that signed the hub's certificate [default: setting `hub.ca`].
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
}

impl HubArgs {
    /// Returns the state of the command, whose new teams are on the hub that was asked for.
    pub(in crate::commands) fn applied(&self, app: &App) -> Result<App> {
        match &self.hub {
            Some(url) => Ok(app.creating_on(self.files.hub_at(app, url)?)),
            None if self.files.are_given() => {
                let message = "`--credentials` and `--ca` are for a hub";
                Err(Failure::new(ErrorKind::Usage, message).with_hint("add `--hub URL`"))
            }
            None => Ok(app.clone()),
        }
    }

    /// Returns the options as they were given, for another command on the same hub.
    pub(in crate::commands) fn repeated(&self) -> String {
        let HubFiles { credentials, ca } = &self.files;
        let url = self.hub.as_deref().filter(|url| !url.is_empty());
        let files = [("--credentials", credentials), ("--ca", ca)];
        let files = files.into_iter().filter_map(|(option, file)| {
            let file = file.as_ref()?.to_string_lossy();
            Some(format!(" {option} {}", quoted(&file)))
        });
        let url = url.map_or_else(String::new, |url| format!(" {}", quoted(url)));
        format!("--hub{url}{}", files.collect::<String>())
    }

    /// Returns the hub that was asked for, or else that of the settings.
    pub(in crate::commands) fn required(&self, app: &App) -> Result<HubSettings> {
        let url = self.hub.as_deref().unwrap_or_default();
        self.files.hub_at(app, url)
    }

    /// Returns the hub that was asked for, or else that of the settings, or else that of the team.
    pub(in crate::commands) fn or_of_team(&self, app: &App) -> Result<HubSettings> {
        let is_named = self.hub.is_some() || self.files.are_given();
        if is_named || (app.asked_team()?.is_none() && !app.settings.hub_url.is_empty()) {
            return self.required(app);
        }
        let team = app.team_as_it_is()?;
        if let Some(hub) = app.hubs.hub_of(&team)? {
            return Ok(hub);
        }
        // A team that does not exist is reported as such.
        app.store.team(&team).config().block_on()?;
        let message = format!("team {team} is not on a hub");
        Err(Failure::usage(message).with_hint("use `--hub URL`, or `--team` with a team on a hub"))
    }
}

impl HubFiles {
    fn are_given(&self) -> bool {
        self.credentials.is_some() || self.ca.is_some()
    }

    /// Returns the hub with a URL; an empty one is that of the settings. Warns if other users can read
    /// its credentials.
    pub(in crate::commands) fn hub_at(&self, app: &App, url: &str) -> Result<HubSettings> {
        let hub = self.hub(&app.env, &app.settings, url)?;
        if let Some((what, how)) = hub.credentials.as_deref().and_then(exposure) {
            app.out.warn(&format!("swarm: {what}: {how}"));
        }
        Ok(hub)
    }

    fn hub(&self, env: &Environment, settings: &Settings, url: &str) -> Result<HubSettings> {
        let url = if url.is_empty() {
            &settings.hub_url
        } else {
            url
        };
        if url.is_empty() {
            let message = "no hub given: pass its URL, or set `hub.url`";
            return Err(Failure::new(ErrorKind::Usage, message)
                .with_hint("use a URL such as nats://HOST:PORT"));
        }
        if !HubSettings::is_url(url) {
            let message = format!("`{url}` is not the URL of a hub");
            let hint = "use nats://HOST:PORT or tls://HOST:PORT";
            return Err(Failure::new(ErrorKind::Usage, message).with_hint(hint));
        }
        if url.contains('@') {
            let message = "a hub's URL cannot contain credentials: they would be visible to others";
            let hint = "write `USER:PASSWORD` to a file and name it with `--credentials`";
            return Err(Failure::new(ErrorKind::Usage, message).with_hint(hint));
        }
        let file = |given: Option<&PathBuf>, setting: &str| match given {
            Some(path) => Some(env.cwd.join(path)),
            None if setting.is_empty() => None,
            None => env.path_of(setting),
        };
        Ok(HubSettings {
            url: url.to_owned(),
            credentials: file(self.credentials.as_ref(), &settings.hub_credentials),
            ca: file(self.ca.as_ref(), &settings.hub_ca),
        })
    }
}

/// Returns the hub of the settings, if there is one.
pub(in crate::commands) fn hub_of_settings(
    env: &Environment,
    settings: &Settings,
) -> Option<Result<HubSettings>> {
    let files = HubFiles {
        credentials: None,
        ca: None,
    };
    (!settings.hub_url.is_empty()).then(|| files.hub(env, settings, ""))
}

/// Returns the failure of a command on a hub, with a hint that does not ask for what the command had.
pub(in crate::commands) fn hub_failure(error: StoreError, hub: Option<&HubSettings>) -> Failure {
    let Some(hub) = hub else { return error.into() };
    let hint = match (&error, &hub.credentials, &hub.ca) {
        (StoreError::HubLogin { .. }, Some(file), _) => {
            format!("check the credentials in {}", file.display())
        }
        (StoreError::HubCertificate { .. }, _, Some(file)) => format!(
            "check that {} has the certificate of the authority that signed the hub's, in PEM",
            file.display()
        ),
        _ => return error.into(),
    };
    Failure::from(error).with_hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_does_not_ask_for_what_was_given() {
        let mut hub = HubSettings {
            url: "nats://hub".to_owned(),
            credentials: None,
            ca: None,
        };
        let hint = |hub: &HubSettings| {
            let why = "it does not accept the credentials".to_owned();
            let url = hub.url.clone();
            let error = StoreError::HubLogin { hub: url, why };
            hub_failure(error, Some(hub)).hint.unwrap()
        };
        let without = hint(&hub);
        assert!(
            without.starts_with("pass `--credentials FILE`"),
            "{without}"
        );
        hub.credentials = Some("/home/me/hub".into());
        assert_eq!(hint(&hub), "check the credentials in /home/me/hub");
    }

    #[test]
    fn a_suggested_command_has_the_options_that_were_given() {
        let args = |hub: Option<&str>, file: Option<&str>| HubArgs {
            hub: hub.map(str::to_owned),
            files: HubFiles {
                credentials: file.map(PathBuf::from),
                ca: file.map(PathBuf::from),
            },
        };
        assert_eq!(args(None, None).repeated(), "--hub");
        assert_eq!(args(Some(""), None).repeated(), "--hub");
        let all = args(Some("tls://hub:4222"), Some("my hub")).repeated();
        assert_eq!(
            all,
            "--hub tls://hub:4222 --credentials 'my hub' --ca 'my hub'"
        );
    }
}
