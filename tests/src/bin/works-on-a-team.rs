//! A program that works on the files of a team until it finishes or is killed; see
//! `swarm_tests::faults::worker`.

fn main() -> anyhow::Result<()> {
    swarm_tests::faults::worker::main()
}
