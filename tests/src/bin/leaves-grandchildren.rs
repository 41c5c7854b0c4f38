//! A program that leaves processes behind: children in separate sessions, which survive it and its
//! process group. They sleep until they are killed.

use std::process::{Command, Stdio};

/// Number of processes left behind.
const CHILDREN: usize = 3;

fn main() -> anyhow::Result<()> {
    swarm_tests::hostile::answer_version();
    if std::env::args().any(|word| word == "grandchild") {
        rustix::process::setsid()?;
        swarm_tests::hostile::stay();
    }
    for _ in 0..CHILDREN {
        let child = Command::new(std::env::current_exe()?)
            .arg("grandchild")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        swarm_tests::hostile::say(&format!("left {} behind", child.id()));
    }
    Ok(())
}
