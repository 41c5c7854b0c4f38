//! `swarm`: a team of coding agents at work in tmux panes.

fn main() -> std::process::ExitCode {
    swarm::main_impl()
}
