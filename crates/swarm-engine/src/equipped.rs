//! Tools that come of what a process is equipped with, for every agent in it.

use std::sync::Arc;

use async_trait::async_trait;
use swarm_model::WebClient;
use swarm_policy::Equipment;
use swarm_tools::{SkillTool, Tool, WebAnswer, WebDoor, WebFetch, WebRequest, WebSearch, builtin};

/// The tools that each agent has whatever its place in a team: the built-in ones, and those that the equipment makes
/// possible. One list for leads and teammates, so that all backends are equal.
pub fn own_tools(equipment: &Equipment) -> Vec<Arc<dyn Tool>> {
    let mut tools = builtin();
    if !equipment.skills.is_empty() {
        tools.push(Arc::new(SkillTool::new(&equipment.skills)));
    }
    let door: Arc<dyn WebDoor> = Arc::new(Door);
    tools.push(Arc::new(WebFetch::new(
        Arc::clone(&door),
        equipment.web.private,
    )));
    if let Some(url) = &equipment.web.search_url {
        tools.push(Arc::new(WebSearch::new(door, url)));
    }
    tools
}

/// The web, over the client that also has the models' TLS.
#[derive(Debug)]
struct Door;

#[async_trait]
impl WebDoor for Door {
    async fn get(&self, request: WebRequest) -> Result<WebAnswer, String> {
        let (url, bytes) = (&request.url, request.max_bytes);
        let fetched = WebClient
            .get(url, request.private, bytes, request.timeout)
            .await?;
        Ok(WebAnswer {
            status: fetched.status,
            location: fetched.location,
            content_type: fetched.content_type,
            body: fetched.body,
            cut: fetched.cut,
        })
    }
}
