//! The only owner of teams/ and tasks/: mailbox, task list, roster, journal, reconcile.
