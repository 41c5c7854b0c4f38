//! Converts requests of the chat completions API, validated as by OpenAI, to the Messages API, so
//! that one script serves both.

use serde_json::{Map, Value, json};

/// Converts a request to the Messages API; the error is that of a strict server.
pub(crate) fn understood(body: &Value) -> Result<Value, String> {
    let said = body["messages"].as_array().ok_or("no messages")?;
    check_order(said)?;
    let mut told = Map::new();
    for key in ["model", "max_tokens"] {
        told.insert(key.to_owned(), body[key].clone());
    }
    let systems = said.iter().filter(|message| message["role"] == "system");
    let system: Vec<&str> = systems.filter_map(|m| m["content"].as_str()).collect();
    told.insert("system".to_owned(), json!(system.join("\n")));
    let tools = body["tools"].as_array().map_or(&[][..], Vec::as_slice);
    let tools: Vec<Value> = tools.iter().map(tool).collect::<Result<_, _>>()?;
    told.insert("tools".to_owned(), json!(tools));
    told.insert("messages".to_owned(), json!(messages(said)?));
    Ok(Value::Object(told))
}

/// Checks that every call is answered once, directly after it.
fn check_order(said: &[Value]) -> Result<(), String> {
    let mut open: Vec<&str> = Vec::new();
    for (at, message) in said.iter().enumerate() {
        let role = message["role"].as_str().ok_or("a message without a role")?;
        if role == "tool" {
            let id = message["tool_call_id"]
                .as_str()
                .ok_or("a result without an id")?;
            let known = open.iter().position(|open| *open == id);
            open.remove(known.ok_or(format!("message {at} answers no open call"))?);
        } else if !open.is_empty() {
            return Err(format!("before message {at} no result for {open:?}"));
        }
        if role == "system" && at > 0 {
            return Err(format!("message {at} is a system message in the middle"));
        }
        if !message["content"].is_string() {
            return Err(format!("message {at} has no text"));
        }
        let calls = message["tool_calls"].as_array().into_iter().flatten();
        open.extend(calls.filter_map(|call| call["id"].as_str()));
    }
    if open.is_empty() {
        return Ok(());
    }
    Err(format!("at the end no result for {open:?}"))
}

fn tool(tool: &Value) -> Result<Value, String> {
    let function = &tool["function"];
    if tool["type"] != "function" || !function["parameters"].is_object() {
        return Err(format!("not a function: {tool}"));
    }
    Ok(
        json!({"name": function["name"], "description": function["description"],
        "input_schema": function["parameters"]}),
    )
}

fn messages(said: &[Value]) -> Result<Vec<Value>, String> {
    let mut told: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in said {
        let text = message["content"].as_str().unwrap_or_default();
        let (role, blocks) = match message["role"].as_str() {
            Some("system") => continue,
            Some("tool") => {
                let id = &message["tool_call_id"];
                let result = json!({"type": "tool_result", "tool_use_id": id, "content": text,
                    "is_error": text.starts_with("Error: ")});
                ("user", vec![result])
            }
            Some("assistant") => ("assistant", spoken(message, text)?),
            _ => ("user", vec![json!({"type": "text", "text": text})]),
        };
        match told.last_mut() {
            Some((last, content)) if *last == role => content.extend(blocks),
            _ => told.push((role, blocks)),
        }
    }
    let told = told.into_iter();
    let told = told.map(|(role, content)| json!({"role": role, "content": content}));
    Ok(told.collect())
}

fn spoken(message: &Value, text: &str) -> Result<Vec<Value>, String> {
    let mut blocks = Vec::new();
    if !text.is_empty() {
        blocks.push(json!({"type": "text", "text": text}));
    }
    for call in message["tool_calls"].as_array().into_iter().flatten() {
        let function = &call["function"];
        let arguments = function["arguments"].as_str().unwrap_or_default();
        let input: Value = serde_json::from_str(arguments)
            .map_err(|error| format!("the arguments {arguments:?} are not JSON: {error}"))?;
        blocks.push(
            json!({"type": "tool_use", "id": call["id"], "name": function["name"], "input": input}),
        );
    }
    Ok(blocks)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(messages: &Value) -> Result<Value, String> {
        understood(&json!({"model": "m", "messages": messages}))
    }

    fn call(id: &str) -> Value {
        json!({"id": id, "type": "function", "function": {"name": "Read", "arguments": "{\"x\":1}"}})
    }

    #[test]
    fn a_request_is_converted_to_the_messages_api() {
        let told = asked(&json!([
            {"role": "system", "content": "agent id bob@t"},
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": "", "tool_calls": [call("a")]},
            {"role": "tool", "tool_call_id": "a", "content": "Error: no"},
            {"role": "user", "content": "mail"},
        ]))
        .unwrap();
        assert_eq!(told["system"], "agent id bob@t");
        assert_eq!(
            told["messages"],
            json!([
                {"role": "user", "content": [{"type": "text", "text": "go"}]},
                {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "Read", "input": {"x": 1}}]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "a", "content": "Error: no", "is_error": true},
                    {"type": "text", "text": "mail"}]},
            ])
        );
    }

    #[test]
    fn requests_that_a_strict_server_rejects_are_rejected() {
        let speak =
            json!({"role": "assistant", "content": "", "tool_calls": [call("a"), call("b")]});
        let result = |id: &str| json!({"role": "tool", "tool_call_id": id, "content": ""});
        let go = json!({"role": "user", "content": "go"});
        asked(&json!([go, speak, result("b"), result("a"), go])).unwrap();
        for wrong in [
            json!([go, speak, result("a"), go]),
            json!([go, speak, result("a")]),
            json!([go, speak, result("a"), result("a")]),
            json!([go, result("a")]),
            json!([go, {"role": "system", "content": "late"}]),
            json!([{"role": "user", "content": [{"type": "text"}]}]),
        ] {
            asked(&wrong).unwrap_err();
        }
    }
}
