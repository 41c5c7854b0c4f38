//! Shows the work in a worktree, and sends comments on its lines to its member.

use std::process::ExitCode;

use serde_json::json;
use swarm_protocol::{MemberName, SwarmMark, TeamName};
use swarm_store::{BlockOn as _, Draft, summary_of};
use swarm_worktree::{Slug, WorktreeDiff};

use super::comments::{Comment, INSTRUCTIONS, comment_on, comments_in, message};
use crate::app::App;
use crate::commands::acting::party_in;
use crate::commands::editor::EditorDraft;
use crate::commands::{members, worktree};
use crate::failure::{Failure, Result};
use crate::output::plain;
use crate::spawn_context::worktrees;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Shows committed and uncommitted work that the base branch does not have. All comments go to the member in one message.

Examples:
  swarm review alice
  swarm review alice --comment src/a.rs:7 \"Why not a set?\"
  swarm review alice --edit                   write comments into the diff")]
pub(crate) struct ReviewArgs {
    /// Name of the worktree.
    pub(crate) slug: String,
    /// Send a comment on a line of the changed file; repeatable.
    #[arg(long, num_args = 2, value_names = ["PATH:LINE", "TEXT"], conflicts_with = "edit")]
    pub(crate) comment: Vec<String>,
    /// Write comments in your editor.
    #[arg(long)]
    pub(crate) edit: bool,
}

pub(in crate::commands) fn run(app: &App, args: &ReviewArgs) -> Result<ExitCode> {
    let slug = Slug::parse(&args.slug)?;
    let worktrees = worktrees(app);
    worktree::fetch(app, &worktrees, Some(&slug))?;
    let work = worktrees.diff(&app.env.cwd, &slug)?;
    if args.comment.is_empty() && !args.edit {
        worktree::show_diff(app, &work)?;
        app.out
            .say("send comments with `--comment PATH:LINE TEXT` or `--edit`");
        return Ok(ExitCode::SUCCESS);
    }
    let (team, member) = receiver(&work)?;
    let pairs = args.comment.chunks_exact(2);
    let comments: Vec<Comment> = if args.edit {
        comments_in(&edited(app, &slug, &work)?)
    } else {
        let comments = pairs.map(|pair| comment_on(&work.diff, &pair[0], &pair[1]));
        comments.collect::<Result<_, _>>()?
    };
    if comments.is_empty() {
        return Err(Failure::usage("no comments were written: nothing was sent"));
    }
    send(
        app,
        &team,
        &member,
        &message(&work.record.branch, &comments),
    )?;
    let counted = swarm_ui::print::counted(comments.len() as u64, "comment");
    app.out.result(
        &json!({ "slug": slug, "to": member, "comments": comments.len() }),
        &format!("sent {counted} to {member}"),
    )?;
    Ok(ExitCode::SUCCESS)
}

fn receiver(work: &WorktreeDiff) -> Result<(TeamName, MemberName)> {
    let owner = &work.record.owner;
    if let (Some(team), Some(member)) = (&owner.team, &owner.member) {
        return Ok((team.clone(), member.clone()));
    }
    let message = format!(
        "the worktree {} belongs to {}, which has no inbox",
        work.record.slug,
        owner.describe()
    );
    Err(Failure::usage(message).with_hint("spawn a member that continues in it"))
}

fn edited(app: &App, slug: &Slug, work: &WorktreeDiff) -> Result<String> {
    let draft = EditorDraft {
        name: &format!("review-{}.diff", slug.directory()),
        text: &format!("{INSTRUCTIONS}{}", plain(&work.diff)),
        without: "pass comments with `--comment PATH:LINE TEXT`",
        undone: "nothing was sent",
    };
    draft.edit(app)
}

fn send(app: &App, team: &TeamName, to: &MemberName, text: &str) -> Result<()> {
    let actor = party_in(app, "review", Some(team.clone()))?;
    let files = &actor.team;
    let config = files.config().block_on()?;
    members::known(&config, to)?;
    let color = config.member(&actor.name).and_then(|own| own.color.clone());
    let draft = Draft {
        from: actor.name.to_string(),
        text: text.to_owned(),
        summary: Some(summary_of(text, None)),
        color,
        swarm: SwarmMark::default(),
        id: None,
    };
    files.send(to, draft).block_on()?;
    Ok(())
}
