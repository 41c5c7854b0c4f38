//! An output buffer with a size limit.

/// The first bytes of an output, and its total length.
#[derive(Debug)]
pub(crate) struct CappedBuffer {
    kept: Vec<u8>,
    limit: usize,
    total: u64,
}

impl CappedBuffer {
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

    /// Returns whether the output was truncated.
    pub(crate) fn is_cut(&self) -> bool {
        self.total > self.kept.len() as u64
    }

    /// Returns the retained output, trimmed.
    pub(crate) fn text(&self) -> String {
        let text = String::from_utf8_lossy(&self.kept);
        let text = text.trim();
        if self.is_cut() {
            format!("{text}\n[truncated: {} bytes in total]", self.total)
        } else {
            text.to_owned()
        }
    }
}
