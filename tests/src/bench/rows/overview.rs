//! Interactive commands: `swarm status` of a large team, and the start time of a program.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::json;
use swarm_os::LifeHolder;

use super::played::{Played, TEAM};
use crate::bench::figure::{Figure, Unit};
use crate::bench::order::Order;
use crate::bench::table::{Aim, Line};
use crate::fake_api::{Ask, Reply};

const MEMBERS: usize = 50;
const TASKS: usize = 500;
/// Maximum duration of `swarm status` as a multiple of `swarm --version`.
const STATUS_AIM: f64 = 2.5;
/// Maximum duration of `swarm --version` as a multiple of a program that does nothing.
const VERSION_AIM: f64 = 3.0;

/// Commands in turn, each in a new process.
pub(crate) fn measure(order: &Order) -> Result<Vec<Line>> {
    let played = Played::new(order, |_: &Ask| Reply::text("Understood."));
    played.world.swarm(&["team", "create", TEAM]).ok();
    let _alive = fill(&played)?;
    let swarm = played.world.program("swarm");
    let commands: [(&Path, &[&str]); 4] = [
        (&swarm, &["status"]),
        (&swarm, &["send", "mate-1", "hello"]),
        (&swarm, &["--version"]),
        (Path::new("/bin/true"), &[]),
    ];
    let mut times: [Vec<Duration>; 4] = Default::default();
    for run in 0..order.runs(60) {
        for (at, (program, words)) in commands.iter().enumerate() {
            let took = time(&mut played.world.command(program), words)?;
            if run > 0 {
                times[at].push(took);
            }
        }
    }
    let [status, send, version, nothing] = times.map(Figure::times);
    let size = |name: &str| {
        let bytes = std::fs::metadata(order.program(name)).map_or(0, |found| found.len());
        Figure::of(
            Unit::Bytes,
            [f64::from(u32::try_from(bytes).unwrap_or(u32::MAX))],
        )
    };
    let what = format!("swarm status, {MEMBERS} members, {TASKS} tasks");
    Ok(vec![
        Line::against(
            what,
            status,
            "swarm --version",
            version.clone(),
            Aim::Ratio(STATUS_AIM),
        ),
        Line::against(
            "swarm send",
            send,
            "swarm --version",
            version.clone(),
            Aim::None,
        ),
        Line::against(
            "swarm --version",
            version,
            "/bin/true",
            nothing,
            Aim::Ratio(VERSION_AIM),
        ),
        Line::alone("size of swarm", size("swarm"), Aim::None),
        Line::alone("size of swarm-teammate", size("swarm-teammate"), Aim::None),
    ])
}

fn time(command: &mut Command, words: &[&str]) -> Result<Duration> {
    let command = command
        .args(words)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let began = Instant::now();
    let status = command.status()?;
    let took = began.elapsed();
    ensure!(status.success(), "{command:?} exited with {status}");
    Ok(took)
}

/// Members that look alive because their life locks are held here, and tasks in every state.
fn fill(played: &Played) -> Result<Vec<LifeHolder>> {
    let team = played.world.team(TEAM);
    let mut config = team.config();
    let mut alive = Vec::new();
    for number in 0..MEMBERS {
        let (name, spawn) = (
            format!("mate-{number}"),
            format!("00000000-0000-4000-8000-{number:012}"),
        );
        let directory = team.member_directory(&name);
        std::fs::create_dir_all(&directory)?;
        let life = json!({"kind": "process", "pid": std::process::id(), "procStart": "1", "spawnId": spawn, "host": "here"});
        alive.push(LifeHolder::take(
            &directory.join("life"),
            life.to_string().as_bytes(),
        )?);
        let state = json!({"spawnId": spawn, "state": "idle", "since": 1_795_195_646_590_u64, "turns": 3, "progress": 40});
        std::fs::write(directory.join("state.json"), state.to_string())?;
        std::fs::write(team.inbox_path(&name), "[]")?;
        let entry = json!({
            "agentId": format!("{name}@{TEAM}"), "name": name, "agentType": "general-purpose", "model": "claude-sonnet-4-6",
            "prompt": "Work.", "color": "blue", "planModeRequired": false, "joinedAt": 1_795_195_646_590_u64,
            "tmuxPaneId": "", "cwd": "/", "subscriptions": [], "backendType": "headless", "isActive": false,
            "swarm": {"spawnId": spawn},
        });
        if let Some(members) = config["members"].as_array_mut() {
            members.push(entry);
        }
    }
    std::fs::write(team.directory().join("config.json"), config.to_string())?;
    std::fs::create_dir_all(team.tasks_directory())?;
    for number in 1..=TASKS {
        let status = ["pending", "in_progress", "completed"][number % 3];
        let task = json!({
            "id": number.to_string(), "subject": format!("Part {number}"), "description": "Do it.", "status": status,
            "owner": format!("mate-{}", number % MEMBERS), "blocks": [], "blockedBy": [],
        });
        std::fs::write(
            team.tasks_directory().join(format!("{number}.json")),
            task.to_string(),
        )?;
    }
    Ok(alive)
}
