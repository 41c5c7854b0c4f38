//! The long-running tests, one part after the other, each with its seed and duration.

use std::process::ExitCode;
use std::str::FromStr;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use super::dice::Seed;
use super::stress_parts::{PARTS, Part};
use super::workers::Programs;

/// Command line arguments.
struct Asked {
    parts: Vec<Part>,
    seed: Seed,
    /// Total duration; one run of each part if absent.
    time: Option<Duration>,
}

/// Runs the requested parts and prints the results.
#[expect(clippy::print_stdout, reason = "a program for people")]
pub fn main() -> ExitCode {
    let asked = match ask() {
        Ok(asked) => asked,
        Err(error) => {
            eprintln!("stress: {error:#}");
            return ExitCode::from(2);
        }
    };
    let programs = Programs::beside(&std::env::current_exe().unwrap_or_default());
    let began = Instant::now();
    let mut round = 0;
    loop {
        let failed = once_through(&asked, round, &programs);
        round += 1;
        let took = began.elapsed().as_secs_f64();
        if !failed.is_empty() {
            println!("{} failed, {took:.0} s:", failed.len());
            for again in failed {
                println!("  {again}");
            }
            return ExitCode::FAILURE;
        }
        if asked.time.is_none_or(|time| began.elapsed() >= time) {
            println!("all held, {round} time(s) through, {took:.0} s");
            return ExitCode::SUCCESS;
        }
    }
}

/// Runs each part once, even after a failure. Returns the commands that reproduce the failed ones.
#[expect(clippy::print_stdout, reason = "a program for people")]
fn once_through(asked: &Asked, round: u64, programs: &Programs) -> Vec<String> {
    let seed = Seed(asked.seed.0 + round);
    let mut failed = Vec::new();
    for (name, _, part) in &asked.parts {
        eprintln!("stress {name}: seed {seed}");
        let started = Instant::now();
        let outcome = std::panic::catch_unwind(|| part(programs, seed.of(name)));
        let took = started.elapsed().as_secs_f64();
        if let Ok(told) = outcome {
            println!("{name:<10} {took:>7.1} s  seed {seed}  {told}");
        } else {
            let again = format!("scripts/stress {name} --seed {seed}");
            println!("{name:<10} {took:>7.1} s  FAILED: {again}");
            failed.push(again);
        }
    }
    failed
}

fn ask() -> Result<Asked> {
    let mut asked = Asked {
        parts: Vec::new(),
        seed: Seed::fresh(),
        time: None,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--seed" => asked.seed = number(&word, words.next())?,
            "--minutes" => {
                let minutes: u64 = number(&word, words.next())?;
                asked.time = Some(Duration::from_secs(minutes * 60));
            }
            option if option.starts_with('-') => {
                bail!("unknown option {option}; the options are --seed N and --minutes N")
            }
            part => match PARTS.iter().find(|known| known.0 == part) {
                Some(known) => asked.parts.push(*known),
                None => bail!("unknown part {part}; the parts are {}\n{}", names(), list()),
            },
        }
    }
    if asked.parts.is_empty() {
        asked.parts = PARTS.to_vec();
    }
    Ok(asked)
}

/// Parses the value of an option.
fn number<T: FromStr>(option: &str, given: Option<String>) -> Result<T> {
    let given = given.with_context(|| format!("{option} needs a number"))?;
    let number = given.parse().ok();
    number.with_context(|| format!("{option} needs a number, not `{given}`"))
}

fn names() -> String {
    PARTS.map(|(name, _, _)| name).join(", ")
}

fn list() -> String {
    let lines = PARTS
        .iter()
        .map(|(name, what, _)| format!("  {name:<10} {what}"));
    lines.collect::<Vec<_>>().join("\n")
}
