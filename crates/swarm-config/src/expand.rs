//! `${VARIABLE}` and `${VARIABLE:-default}` in the texts of a configuration.

use serde_json::Value;

use crate::environment::Environment;

/// Every text of an entry with its variables put in.
///
/// # Errors
/// The first variable that is not set and has no default, and any that holds a key of a model provider: programs of others
/// do not get those.
pub(crate) fn expand(entry: &Value, env: &Environment) -> Result<Value, String> {
    Ok(match entry {
        Value::String(text) => Value::String(expand_text(text, env)?),
        Value::Array(items) => {
            let items: Result<_, _> = items.iter().map(|item| expand(item, env)).collect();
            Value::Array(items?)
        }
        Value::Object(fields) => {
            let fields: Result<_, String> = fields
                .iter()
                .map(|(name, value)| Ok((name.clone(), expand(value, env)?)))
                .collect();
            Value::Object(fields?)
        }
        other => other.clone(),
    })
}

fn expand_text(text: &str, env: &Environment) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let (before, inside) = (&rest[..start], &rest[start + 2..]);
        out.push_str(before);
        let Some(end) = inside.find('}') else {
            return Err(format!("`${{{}` has no end", inside.escape_debug()));
        };
        out.push_str(&value(&inside[..end], env)?);
        rest = &inside[end + 1..];
    }
    out.push_str(rest);
    Ok(out)
}

fn value(inside: &str, env: &Environment) -> Result<String, String> {
    let (name, default) = match inside.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inside, None),
    };
    if Environment::is_secret(name) {
        return Err(format!(
            "`${{{name}}}` is a key of a model provider, which MCP servers do not get"
        ));
    }
    env.get(name).or(default).map(str::to_owned).ok_or_else(|| {
        let name = name.escape_debug();
        format!("the variable {name} is not set; set it, or write `${{{name}:-default}}`")
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use super::*;

    #[test]
    fn variables_and_defaults_are_put_in_everywhere() {
        let vars = [("TOKEN", "t"), ("EMPTY", "")];
        let env = Environment::new(vars, Path::new("/"));
        let entry = json!({"url": "https://${HOST:-h}/${TOKEN}/", "args": ["${EMPTY:-e}", "$TOKEN", 1], "env": {"A": "${TOKEN}${TOKEN}"}});
        assert_eq!(
            expand(&entry, &env).unwrap(),
            json!({"url": "https://h/t/", "args": ["e", "$TOKEN", 1], "env": {"A": "tt"}})
        );
    }

    #[test]
    fn what_is_not_set_or_is_a_provider_key_is_refused_by_name() {
        let vars = [("ANTHROPIC_API_KEY", "sk-secret")];
        let env = Environment::new(vars, Path::new("/"));
        for (text, words) in [
            ("${GONE}", "GONE is not set"),
            ("${GONE", "has no end"),
            ("x${ANTHROPIC_API_KEY}", "key of a model provider"),
            ("${OPENAI_API_KEY:-x}", "key of a model provider"),
        ] {
            let error = expand(&json!(text), &env).unwrap_err();
            assert!(
                error.contains(words) && !error.contains("sk-secret"),
                "{error}"
            );
        }
    }
}
