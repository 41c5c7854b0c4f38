//! The tools that every agent of a process has because of its configuration.

use std::sync::Arc;

use async_trait::async_trait;
use swarm_model::WebClient;
use swarm_permissions::AgentConfig;
use swarm_tools::{
    SkillTool, Tool, WebAccess, WebAnswer, WebFetch, WebRequest, WebSearch, builtin,
};

/// The tools that each agent has whatever its place in a team: the built-in ones, and those that the configuration makes
/// possible. One list for leads and teammates, so that all backends are equal.
pub fn own_tools(agent_config: &AgentConfig) -> Vec<Arc<dyn Tool>> {
    let mut tools = builtin();
    if !agent_config.skills.is_empty() {
        tools.push(Arc::new(SkillTool::new(&agent_config.skills)));
    }
    let door: Arc<dyn WebAccess> = Arc::new(Door);
    tools.push(Arc::new(WebFetch::new(
        Arc::clone(&door),
        agent_config.web.private,
    )));
    if let Some(url) = &agent_config.web.search_url {
        tools.push(Arc::new(WebSearch::new(door, url)));
    }
    tools
}

/// The web, over the client that also has the models' TLS.
#[derive(Debug)]
struct Door;

#[async_trait]
impl WebAccess for Door {
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
