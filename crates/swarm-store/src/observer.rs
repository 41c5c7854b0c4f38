//! An observer of the events that this process records.

use std::fmt;
use std::sync::Arc;

use swarm_protocol::{Event, TeamName};

/// Receives every event that a store of this process records in a journal, once each.
#[derive(Clone, Default)]
pub(crate) struct Observer(Option<Arc<Function>>);

type Function = dyn Fn(&TeamName, &Event) + Send + Sync;

impl Observer {
    pub(crate) fn new(observe: impl Fn(&TeamName, &Event) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(observe)))
    }

    pub(crate) fn notify(&self, team: &TeamName, event: &Event) {
        if let Some(observe) = &self.0 {
            observe(team, event);
        }
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Observer").field(&self.0.is_some()).finish()
    }
}
