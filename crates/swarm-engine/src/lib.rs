//! The turn loop: conversation, tool dispatch, transcript.
