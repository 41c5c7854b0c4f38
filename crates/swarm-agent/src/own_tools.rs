//! The tools that every agent of a process has.

use std::sync::Arc;

use async_trait::async_trait;
use swarm_model::WebClient;
use swarm_permissions::AgentConfig;
use swarm_protocol::WebAnswer;
use swarm_tools::{SkillTool, Tool, WebAccess, WebFetch, WebRequest, WebSearch, builtin};

/// Returns the built-in tools and those that the configuration enables. Leads and teammates use
/// this one list.
pub fn own_tools(agent_config: &AgentConfig) -> Vec<Arc<dyn Tool>> {
    let mut tools = builtin();
    if !agent_config.skills.is_empty() {
        tools.push(Arc::new(SkillTool::new(&agent_config.skills)));
    }
    let web: Arc<dyn WebAccess> = Arc::new(ClientWebAccess);
    tools.push(Arc::new(WebFetch::new(
        Arc::clone(&web),
        agent_config.web.private,
    )));
    if let Some(url) = &agent_config.web.search_url {
        tools.push(Arc::new(WebSearch::new(web, url)));
    }
    tools
}

/// Web access through the models' client, which shares their TLS settings.
#[derive(Debug)]
struct ClientWebAccess;

#[async_trait]
impl WebAccess for ClientWebAccess {
    async fn get(&self, request: WebRequest) -> Result<WebAnswer, String> {
        let (url, bytes) = (&request.url, request.max_bytes);
        WebClient
            .get(url, request.private, bytes, request.timeout)
            .await
    }
}
