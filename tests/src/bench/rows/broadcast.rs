//! One message to all members.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use swarm_store::{BlockOn as _, Draft, TeamStore as _};

use super::send::text;
use super::team::{create, member_name, store};
use crate::bench::figure::Figure;
use crate::bench::floor::inbox::{BareInbox, Class, entry};
use crate::bench::order::Order;
use crate::bench::scratch::everywhere;
use crate::bench::table::{Aim, Line};

const MEMBERS: usize = 64;
/// Maximum cost ratio to as many concurrent minimal durable writes.
const AIM: f64 = 2.0;

/// A broadcast and as many minimal writes, in turn.
pub(crate) fn measure(order: &Order) -> Result<Vec<Line>> {
    let mut lines = Vec::new();
    for (place, directory) in everywhere() {
        let store = store(directory.path());
        let names: Vec<String> = (0..MEMBERS)
            .map(|number| format!("mate-{number}"))
            .collect();
        let members: Vec<&str> = names.iter().map(String::as_str).collect();
        let team = create(directory.path(), "broadcast", &members)?;
        let bare: Vec<BareInbox> = names
            .iter()
            .map(|name| BareInbox::create(&directory.path().join("bare").join(name)))
            .collect::<Result<_>>()?;
        let (mut ours, mut floor) = (Vec::new(), Vec::new());
        for round in 0..order.runs(20) {
            let began = Instant::now();
            let letters = members.iter().map(|name| {
                let draft = Draft::new("team-lead", text(round));
                (member_name(name), draft)
            });
            for outcome in store
                .team(&team)
                .post_all(&letters.collect::<Vec<_>>())
                .block_on()?
            {
                outcome?;
            }
            ours.push(began.elapsed());
            floor.push(write_all(&bare, round)?);
        }
        lines.push(Line::against(
            format!("a message to {MEMBERS} members, {place}"),
            Figure::times(ours),
            "as many concurrent minimal durable writes",
            Figure::times(floor),
            Aim::Ratio(AIM),
        ));
    }
    Ok(lines)
}

/// Appends to all inboxes concurrently, each in a thread; returns the duration.
fn write_all(bare: &[BareInbox], number: usize) -> Result<Duration> {
    let began = Instant::now();
    thread::scope(|scope| {
        let writes: Vec<_> = bare
            .iter()
            .map(|inbox| {
                scope.spawn(move || {
                    inbox.change(Class::Durable, |entries| entries.push(entry(number)))
                })
            })
            .collect();
        writes.into_iter().try_for_each(|write| {
            let done = write.join().ok().context("a minimal write panicked")?;
            done.map(drop)
        })
    })?;
    Ok(began.elapsed())
}
