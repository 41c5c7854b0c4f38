//! An independent program that writes into inboxes; see `swarm_tests::faults::others`.

fn main() -> anyhow::Result<()> {
    swarm_tests::faults::others::main()
}
