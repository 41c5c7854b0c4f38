//! An output of which only the beginning is kept.

/// The first bytes of an output, and how many there were in all.
#[derive(Debug)]
pub(crate) struct Capped {
    kept: Vec<u8>,
    limit: usize,
    total: u64,
}

impl Capped {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            kept: Vec::new(),
            limit,
            total: 0,
        }
    }

    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = self.limit - self.kept.len();
        self.kept.extend(&bytes[..bytes.len().min(room)]);
    }

    /// Whether something was left out.
    pub(crate) fn is_cut(&self) -> bool {
        self.total > self.kept.len() as u64
    }

    /// What was kept, without the spaces around it.
    pub(crate) fn text(&self) -> String {
        let text = String::from_utf8_lossy(&self.kept);
        let text = text.trim();
        if self.is_cut() {
            format!("{text}\n[cut: {} bytes in all]", self.total)
        } else {
            text.to_owned()
        }
    }
}
