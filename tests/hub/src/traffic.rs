//! Counts what clients ask a server.

use std::collections::HashMap;

/// The requests that passed a link since [`Link::count_requests`](crate::Link::count_requests).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Traffic {
    /// What was asked, oldest first: the subjects of the requests, and `CONNECT` for a connection.
    pub requests: Vec<String>,
    /// The most requests of which each was sent after the answer to the one before. The time that a
    /// command takes on a slow link is this number of round trips.
    pub in_a_row: usize,
    /// The place in a row of each request that is not answered yet, by the subject of its answer.
    open: HashMap<String, usize>,
    /// The last place in a row of a request that is answered.
    answered: usize,
}

impl Traffic {
    fn asked(&mut self, what: &str, answer: String) {
        let place = self.answered + 1;
        self.requests.push(what.to_owned());
        self.in_a_row = self.in_a_row.max(place);
        self.open.insert(answer, place);
    }

    fn answered(&mut self, answer: &str) {
        if let Some(place) = self.open.remove(answer) {
            self.answered = self.answered.max(place);
        }
    }

    /// Counts a line of the protocol that a client or the server sent on this connection.
    fn note(&mut self, connection: usize, line: &str, payload: &[u8]) {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        match words[..] {
            ["CONNECT", ..] => self.asked("CONNECT", connecting(connection)),
            ["PONG"] => self.answered(&connecting(connection)),
            ["PUB", subject, answer, _] | ["HPUB", subject, answer, _, _] => {
                self.asked(&asked_for(subject, payload), answer.to_owned());
            }
            ["MSG" | "HMSG", subject, ..] => self.answered(subject),
            _ => {}
        }
    }
}

fn connecting(connection: usize) -> String {
    format!("connection {connection}")
}

/// One direction of a connection.
#[derive(Debug, Default)]
pub(crate) struct Direction {
    /// The line that arrives, and the payload that follows it.
    line: Vec<u8>,
    payload: Vec<u8>,
    /// Bytes of the payload that are still to arrive.
    left: usize,
}

impl Direction {
    /// Counts what is complete with these bytes.
    pub(crate) fn read(
        &mut self,
        connection: usize,
        mut bytes: &[u8],
        traffic: Option<&mut Traffic>,
    ) {
        let mut nowhere = Traffic::default();
        let traffic = traffic.unwrap_or(&mut nowhere);
        while !bytes.is_empty() {
            let is_line = self.left == 0;
            let length = match bytes.iter().position(|byte| *byte == b'\n') {
                Some(end) if is_line => end + 1,
                _ if is_line => bytes.len(),
                _ => self.left.min(bytes.len()),
            };
            let (read, rest) = bytes.split_at(length);
            bytes = rest;
            if is_line {
                self.line.extend_from_slice(read);
                if !self.line.ends_with(b"\n") {
                    return;
                }
                self.left = payload_after(&self.line);
            } else {
                self.payload.extend_from_slice(read);
                self.left -= length;
            }
            if self.left == 0 {
                let line = std::mem::take(&mut self.line);
                let payload = std::mem::take(&mut self.payload);
                traffic.note(connection, &String::from_utf8_lossy(&line), &payload);
            }
        }
    }
}

/// Returns the number of bytes that follow a line.
fn payload_after(line: &[u8]) -> usize {
    let line = String::from_utf8_lossy(line);
    let mut words = line.split_ascii_whitespace();
    match words.next() {
        Some("PUB" | "HPUB" | "MSG" | "HMSG") => {
            let length = words.next_back().and_then(|last| last.parse().ok());
            length.map_or(0, |length: usize| length + 2)
        }
        _ => 0,
    }
}

/// Returns what a request asks for: its subject, or the one whose message it reads.
fn asked_for(subject: &str, payload: &[u8]) -> String {
    let payload: serde_json::Value =
        serde_json::from_slice(payload.trim_ascii()).unwrap_or_default();
    let keys = ["last_by_subj", "next_by_subj", "seq"].into_iter();
    let mut of_message = keys.filter_map(|key| Some((key, payload.get(key)?.as_str()?)));
    match of_message.next() {
        Some((key, of)) if subject.contains(".MSG.GET.") => format!("{key} {of}"),
        _ => subject.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_that_wait_for_each_other_are_in_a_row_and_others_are_not() {
        let (mut up, mut down) = (Direction::default(), Direction::default());
        let mut traffic = Traffic::default();
        up.read(1, b"CONNECT {}\r\nPI", Some(&mut traffic));
        up.read(1, b"NG\r\n", Some(&mut traffic));
        down.read(1, b"PONG\r\n", Some(&mut traffic));
        up.read(1, b"PUB a in.1 5\r\nPUB b\r\n", Some(&mut traffic));
        up.read(
            1,
            b"HPUB b in.2 2 4\r\n\r\n\r\n\r\nPUB no 0\r\n\r\n",
            Some(&mut traffic),
        );
        assert_eq!((traffic.requests.len(), traffic.in_a_row), (3, 2));
        down.read(
            1,
            b"MSG in.2 1 3\r\nyes\r\nMSG other 1 0\r\n\r\n",
            Some(&mut traffic),
        );
        up.read(1, b"PUB c in.3 0\r\n\r\n", Some(&mut traffic));
        assert_eq!(traffic.requests, ["CONNECT", "a", "b", "c"]);
        assert_eq!(traffic.in_a_row, 3);
    }
}
