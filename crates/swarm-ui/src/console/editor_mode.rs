//! The keys of the input line, and the state of vim's.

/// Keys of the input line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EditorMode {
    /// Those of a shell.
    #[default]
    Normal,
    /// Those of vim.
    Vim,
}

/// State of the vim keys.
#[derive(Debug, Default)]
pub(super) struct Vim {
    /// Whether keys are commands.
    pub(super) is_normal: bool,
    /// `d`, `c` or `y`, which waits for a motion.
    pub(super) operator: Option<char>,
    /// Texts and cursors before the changes, oldest first.
    pub(super) undo: Vec<(String, usize)>,
    /// What was deleted or copied last; whole lines end in a line break.
    pub(super) register: String,
}

impl Vim {
    /// Most changes that can be undone.
    pub(super) const UNDO: usize = 100;

    pub(super) fn is_normal(&self) -> bool {
        self.is_normal
    }

    /// Starts a new line, in insert mode.
    pub(super) fn begin(&mut self) {
        self.is_normal = false;
        self.operator = None;
        self.undo = vec![(String::new(), 0)];
    }
}
