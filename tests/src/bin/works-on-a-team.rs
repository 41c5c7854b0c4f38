//! A program that works on the files of a team until it is done or killed: see `swarm_tests::faults::worker`.

fn main() -> anyhow::Result<()> {
    swarm_tests::faults::worker::main()
}
