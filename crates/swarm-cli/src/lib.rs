//! swarm: a team of coding agents at work in tmux panes.
