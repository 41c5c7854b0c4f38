//! Tool calls under way, and how each is drawn.

/// The tool whose calls show as mail that goes out. Its own line is drawn only where no mail came of the call.
const MAIL_TOOL: &str = "SendMessage";

/// A call whose result is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) id: String,
    /// The call in one clean line.
    pub(super) line: String,
    /// Whether it is on the screen, as a line of its own or as the mail it sent.
    pub(super) drawn: Drawn,
}

/// What of a call is on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Drawn {
    /// Its line.
    Line,
    /// The mail that it sent.
    Mail,
    /// Nothing.
    Nothing,
}

/// The calls under way, in the order in which they began.
#[derive(Debug, Default)]
pub(super) struct Calls {
    calls: Vec<Call>,
}

impl Calls {
    /// Notes a call; tells whether its line is to be drawn at once.
    pub(super) fn start(&mut self, id: &str, tool: &str, line: &str) -> bool {
        let at_once = tool != MAIL_TOOL;
        let drawn = if at_once { Drawn::Line } else { Drawn::Nothing };
        self.calls.push(Call {
            id: id.to_owned(),
            line: line.to_owned(),
            drawn,
        });
        at_once
    }

    /// Notes that mail went out, which is what the calls that wait for it look like.
    pub(super) fn mail_went_out(&mut self) {
        for call in &mut self.calls {
            if call.drawn == Drawn::Nothing {
                call.drawn = Drawn::Mail;
            }
        }
    }

    /// Takes out a call that has its result.
    pub(super) fn finish(&mut self, id: &str) -> Option<Call> {
        let at = self.calls.iter().position(|call| call.id == id)?;
        Some(self.calls.remove(at))
    }

    /// Forgets all: a turn is over, so no result will come.
    pub(super) fn clear(&mut self) {
        self.calls.clear();
    }
}
