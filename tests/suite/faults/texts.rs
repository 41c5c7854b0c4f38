//! Texts that something would act on, in every place for texts, at a tmux with a terminal that really draws. `scripts/stress texts`
//! has every text in every place.

use swarm_tests::faults::texts::{Effort, Slot, try_texts};

use super::setting::programs;

#[test]
fn t12_no_name_is_more_than_a_name() {
    try_texts(&programs(), &[Slot::Team, Slot::Member], Effort::Every(2));
}

#[test]
fn t12_no_type_of_agent_and_no_entry_of_a_roster_is_more_than_a_text() {
    try_texts(
        &programs(),
        &[Slot::AgentType, Slot::Color],
        Effort::Every(2),
    );
}

#[test]
fn t12_no_worktree_or_branch_name_escapes() {
    try_texts(
        &programs(),
        &[Slot::WorkTree, Slot::Branch],
        Effort::Every(2),
    );
}

#[test]
fn t12_no_directory_name_escapes() {
    try_texts(&programs(), &[Slot::Directory], Effort::Every(2));
}

#[test]
fn t12_what_a_member_is_started_with_is_only_text() {
    try_texts(
        &programs(),
        &[Slot::Model, Slot::Variable, Slot::Prompt],
        Effort::Every(3),
    );
}

#[test]
fn t22_tasks_and_messages_reach_no_terminal_raw() {
    try_texts(&programs(), &[Slot::Task, Slot::Message], Effort::Every(2));
}

#[test]
fn t22_questions_and_answers_reach_no_terminal_raw() {
    try_texts(&programs(), &[Slot::Question], Effort::Every(3));
}
