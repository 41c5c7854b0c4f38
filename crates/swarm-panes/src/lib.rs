//! Where a member's process lives: tmux, headless, and a recording fake.
