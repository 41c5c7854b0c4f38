//! What a helper that starts commands is told and answers.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::process::Command;

use rustix::io::Errno;
use rustix::process::Pid;

/// The error for one that the operating system has not reported.
const UNKNOWN: i32 = Errno::IO.raw_os_error();

/// Bytes of an answer.
pub(super) const ANSWER: usize = 8;

/// Returns a command as words: its directory, its program, the number of its arguments, these, and
/// its complete environment.
pub(super) fn to_words(command: &Command) -> impl Iterator<Item = OsString> {
    let arguments = command.get_args();
    let variables = command.get_envs().filter_map(|(name, value)| {
        let mut variable = name.to_owned();
        variable.push("=");
        variable.push(value?);
        Some(variable)
    });
    let directory = command.get_current_dir();
    let directory = directory.map_or(OsStr::new("/"), AsRef::as_ref);
    let first = [
        directory.to_owned(),
        command.get_program().to_owned(),
        arguments.len().to_string().into(),
    ];
    let arguments = arguments.map(ToOwned::to_owned);
    first.into_iter().chain(arguments).chain(variables)
}

/// Returns the command of [`to_words`].
pub(super) fn from_words(mut words: impl Iterator<Item = OsString>) -> Option<Command> {
    let (directory, program) = (words.next()?, words.next()?);
    let count = words.next()?.to_str()?.parse().ok()?;
    let mut command = Command::new(program);
    command.args(words.by_ref().take(count));
    let variables = words.filter_map(|variable| {
        let variable = variable.into_vec();
        // The name of a variable may begin with this character.
        let at = 1 + variable.iter().skip(1).position(|byte| *byte == b'=')?;
        let (name, value) = (&variable[..at], &variable[at + 1..]);
        Some((
            OsStr::from_bytes(name).to_owned(),
            OsStr::from_bytes(value).to_owned(),
        ))
    });
    command.env_clear().envs(variables).current_dir(directory);
    Some(command)
}

/// Encodes whether a command was started: its process id, or the error.
pub(super) fn encode_answer(started: Result<Pid, &io::Error>) -> [u8; ANSWER] {
    let (error, pid) = match started {
        Ok(pid) => (0, pid.as_raw_nonzero().get()),
        Err(error) => (error.raw_os_error().unwrap_or(UNKNOWN), 0),
    };
    let mut answer = [0; ANSWER];
    answer[..4].copy_from_slice(&error.to_ne_bytes());
    answer[4..].copy_from_slice(&pid.to_ne_bytes());
    answer
}

pub(super) fn decode_answer(answer: [u8; ANSWER]) -> io::Result<i32> {
    let [a, b, c, d, pid @ ..] = answer;
    match i32::from_ne_bytes([a, b, c, d]) {
        0 => Ok(i32::from_ne_bytes(pid)),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_survives_the_words() {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "", "A=b"]).current_dir("/tmp");
        command
            .env_clear()
            .envs([("EMPTY", ""), ("A", "b=c"), ("=odd", "x")]);
        let again = from_words(to_words(&command)).unwrap();
        assert_eq!(again.get_program(), command.get_program());
        assert!(again.get_args().eq(command.get_args()));
        assert!(again.get_envs().eq(command.get_envs()));
        assert_eq!(again.get_current_dir(), command.get_current_dir());
    }

    #[test]
    fn an_answer_is_a_process_or_an_error() {
        let started = Pid::from_raw(7).unwrap();
        assert_eq!(decode_answer(encode_answer(Ok(started))).unwrap(), 7);
        let missing = Errno::NOENT.into();
        let error = decode_answer(encode_answer(Err(&missing))).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
