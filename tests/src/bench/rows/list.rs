//! The rows by name.

use anyhow::Result;

use super::{
    batch, broadcast, carried, coop, hub, hub_growth, idle, long, message, overview, sandbox,
    screen, send, soak, spawn, stop, tasks, watch,
};
use crate::bench::order::Order;
use crate::bench::table::Line;

/// A measurement.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) measure: fn(&Order) -> Result<Vec<Line>>,
    /// Whether it is part of the default.
    pub(crate) is_usual: bool,
}

const fn usual(name: &'static str, measure: fn(&Order) -> Result<Vec<Line>>) -> Row {
    Row {
        name,
        measure,
        is_usual: true,
    }
}

/// All measurements, in the order of the table.
pub(crate) const ALL: [Row; 18] = [
    usual("message", message::measure),
    usual("send", send::measure),
    usual("carried", carried::measure),
    usual("long", long::measure),
    usual("broadcast", broadcast::measure),
    usual("tasks", tasks::measure),
    usual("batch", batch::measure),
    usual("spawn", spawn::measure),
    usual("stop", stop::measure),
    usual("watch", watch::measure),
    usual("idle", idle::measure),
    usual("overview", overview::measure),
    usual("sandbox", sandbox::measure),
    usual("coop", coop::measure),
    usual("screen", screen::measure),
    Row {
        name: "hub",
        measure: hub::measure,
        is_usual: false,
    },
    Row {
        name: "hub-growth",
        measure: hub_growth::measure,
        is_usual: false,
    },
    Row {
        name: "soak",
        measure: soak::measure,
        is_usual: false,
    },
];
