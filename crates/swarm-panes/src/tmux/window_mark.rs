//! A mark in the name of the lead's window while a question waits.
//!
//! The window keeps its automatic name, whose format gets a prefix. The prefix is shown only while the
//! lead's program is in the foreground of its pane, so that the name is right again if the lead dies.
//! A lead behind another program, such as a script, is not marked. A name that the user has set, and
//! a format that the user has set for this window, are never changed.

use swarm_protocol::PaneId;
use tmux_interface::{DisplayMessage, ShowOptions};

use super::backend::TmuxBackend;
use super::batch::Batch;
use super::commands::{set_on_window, unset_on_window};
use crate::PaneError;

/// The option that says whether tmux names the window.
const AUTOMATIC: &str = "automatic-rename";

/// The option with the format of that name.
const FORMAT: &str = "automatic-rename-format";

/// The end of our prefix.
const MARK: &str = "▲ ,}}";

impl TmuxBackend {
    /// Marks the name of the lead's window, or removes the mark. `program` is the name of the lead's
    /// program. Without a lead, and if the user has named the window, nothing is changed.
    ///
    /// # Errors
    /// [`PaneError`] if the server does not answer properly.
    pub async fn mark_window(&self, program: &str, is_waiting: bool) -> Result<(), PaneError> {
        let Some(lead) = self.lead_pane() else {
            return Ok(());
        };
        let asked = Batch::new()
            .then(
                &DisplayMessage::new()
                    .print()
                    .target_pane(lead.as_str().to_owned())
                    .message(format!(
                        "#{{{AUTOMATIC}}} #{{pane_current_command}}\n#{{{FORMAT}}}"
                    ))
                    .build(),
            )
            .then(
                &ShowOptions::new()
                    .window()
                    .target_pane(lead.as_str().to_owned())
                    .build(),
            );
        let answer = self.server().run(&asked).await?;
        let changed = changes(&answer, (lead, program), is_waiting);
        if !changed.is_empty() {
            self.server().run(&changed).await?;
        }
        Ok(())
    }
}

/// Returns the commands that set or remove the mark of a window with this answer to the query.
fn changes(answer: &str, (lead, own_program): (&PaneId, &str), is_waiting: bool) -> Batch {
    let none = Batch::new();
    let mut lines = answer.lines();
    let (Some(state), Some(format)) = (lines.next(), lines.next()) else {
        return none;
    };
    let Some(("1", program)) = state.split_once(' ') else {
        return none;
    };
    let own: Vec<&str> = lines.collect();
    let has = |option: &str| {
        let mut names = own.iter().filter_map(|line| line.split(' ').next());
        names.any(|name| name == option)
    };
    let prefix = format!("#{{P:#{{?#{{&&:#{{==:#{{pane_id}},{lead}}}");
    let is_marked = format.starts_with(&prefix);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let target = lead.as_str();
    let changed = if !is_waiting && is_marked {
        none.then(&unset_on_window(target, FORMAT))
    } else if is_waiting
        && !is_marked
        && !has(FORMAT)
        && program == own_program
        && program.chars().all(is_plain)
    {
        let of_program = format!("#{{==:#{{pane_current_command}},{program}}}");
        let marked = format!("{prefix},{of_program}}},{MARK}{format}");
        none.then(&set_on_window(target, FORMAT, &marked))
    } else {
        return none;
    };
    // Otherwise tmux names the window only at the next output of its active pane.
    let changed = changed.then(&set_on_window(target, AUTOMATIC, "on"));
    if has(AUTOMATIC) {
        changed
    } else {
        changed.then(&unset_on_window(target, AUTOMATIC))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(answer: &str, is_waiting: bool) -> String {
        let batch = changes(answer, (&PaneId::new("%3"), "swarm"), is_waiting);
        let words = batch.arguments().into_iter();
        let words: Vec<_> = words.map(|word| word.into_string().unwrap()).collect();
        words.join(" ")
    }

    const MARKED: &str = "#{P:#{?#{&&:#{==:#{pane_id},%3},#{==:#{pane_current_command},swarm}},▲ ,}}#{pane_current_command}";

    #[test]
    fn an_automatic_name_is_marked_and_restored() {
        let plain = "1 swarm\n#{pane_current_command}\nmode-keys vi\n";
        let set = changed(plain, true);
        assert!(set.contains(&format!("{FORMAT} {MARKED}")), "{set}");
        assert!(
            set.ends_with("set-option -q -u -w -t %3 automatic-rename"),
            "{set}"
        );
        assert_eq!(changed(plain, false), "");
        let marked = format!("1 swarm\n{MARKED}\n{FORMAT} \"x\"\n");
        assert_eq!(changed(&marked, true), "", "it is marked already");
        let unset = changed(&marked, false);
        assert!(
            unset.starts_with("set-option -q -u -w -t %3 automatic-rename-format"),
            "{unset}"
        );
        let local = changed("1 swarm\nx\nautomatic-rename on\n", true);
        assert!(local.ends_with("automatic-rename on"), "{local}");
    }

    #[test]
    fn names_and_formats_of_the_user_are_not_changed() {
        for answer in [
            "0 swarm\nx\nautomatic-rename off\n",
            "1 swarm\nmine\nautomatic-rename-format mine\n",
            "1 a,b\nx\n",
            // A script that runs the lead would still be there after the lead.
            "1 bash\nx\n",
            "",
        ] {
            assert_eq!(changed(answer, true), "", "{answer}");
            assert_eq!(changed(answer, false), "", "{answer}");
        }
    }
}
