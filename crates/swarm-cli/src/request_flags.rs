//! Flags for model requests.

use swarm_config::Settings;
use swarm_permissions::RequestSettings;
use swarm_protocol::{Effort, Thinking};

use crate::failure::Result;

#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct RequestFlags {
    /// Effort: low, medium, high, xhigh or max [default: setting `model.effort`].
    #[arg(long)]
    pub(crate) effort: Option<Effort>,
    /// Extended thinking: off, adaptive or a number of tokens [default: setting `model.thinking`].
    #[arg(long, value_name = "VALUE")]
    pub(crate) thinking: Option<Thinking>,
}

impl RequestFlags {
    /// Applies the flags to the settings, within the machine's policy.
    pub(crate) fn over(&self, settings: &Settings) -> Result<RequestSettings> {
        if let Some(effort) = self.effort {
            settings.permit("model.effort", effort.name())?;
        }
        if let Some(thinking) = self.thinking {
            settings.permit("model.thinking", thinking.to_string())?;
        }
        let set = settings.request_settings();
        Ok(RequestSettings {
            thinking: self.thinking.unwrap_or(set.thinking),
            effort: self.effort.or(set.effort),
            ..set
        })
    }
}
