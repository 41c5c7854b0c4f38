//! Runs the measurements.

use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Result, bail};
use serde_json::{Value, json};

use super::order::Order;
use super::rows::{self, Row};
use super::table::{self, Line};
use super::{machine, roles};

/// Runs the requested measurements and prints one table, or runs a role of a measured process.
pub fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1).peekable();
    if arguments.peek().is_some_and(|word| word == roles::FLAG) {
        let words: Vec<String> = arguments.skip(1).collect();
        return report(roles::play(&words), ExitCode::FAILURE);
    }
    let asked = Order::parse(arguments).and_then(|order| Ok((chosen(&order)?, order)));
    match asked {
        Ok((wanted, order)) => report(measure(&wanted, &order), ExitCode::FAILURE),
        // Nothing was started.
        Err(error) => report(Err(error), ExitCode::from(2)),
    }
}

fn report(outcome: Result<()>, failed: ExitCode) -> ExitCode {
    outcome.map_or_else(
        |error| {
            eprintln!("bench: {error:#}");
            failed
        },
        |()| ExitCode::SUCCESS,
    )
}

fn measure(wanted: &[&Row], order: &Order) -> Result<()> {
    let mut out = std::io::stdout();
    let machine = machine::describe();
    if !order.json {
        writeln!(out, "{machine}")?;
    }
    let mut lines: Vec<Line> = Vec::new();
    for row in wanted {
        let began = Instant::now();
        eprintln!("bench: measuring {}", row.name);
        let measured = (row.measure)(order)?;
        eprintln!(
            "bench: {} took {:.0} s, load {}",
            row.name,
            began.elapsed().as_secs_f64(),
            machine::load()
        );
        table::print(&measured, &mut std::io::stderr())?;
        lines.extend(measured);
    }
    if order.json {
        let lines: Vec<Value> = lines.iter().map(Line::json).collect();
        let result = json!({"machine": machine, "load_at_end": machine::load(), "lines": lines});
        return Ok(writeln!(out, "{result:#}")?);
    }
    writeln!(out, "{}\n", machine::load_line())?;
    Ok(table::print(&lines, &mut out)?)
}

fn chosen(order: &Order) -> Result<Vec<&'static Row>> {
    if order.rows.is_empty() {
        return Ok(rows::ALL.iter().filter(|row| row.is_usual).collect());
    }
    let find = |name: &String| {
        let Some(row) = rows::ALL.iter().find(|row| row.name == name) else {
            let known: Vec<_> = rows::ALL.iter().map(|row| row.name).collect();
            bail!("unknown row {name}; the rows are {}", known.join(", "))
        };
        Ok(row)
    };
    order.rows.iter().map(find).collect()
}
