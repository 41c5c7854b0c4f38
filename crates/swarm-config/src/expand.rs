//! Expansion of `${VARIABLE}` and `${VARIABLE:-default}` in configuration values.

use serde_json::Value;

use crate::environment::Environment;

/// Expands the variables in every string of an entry. The error names the first unset variable
/// without a default, or a provider key, which third-party programs must not receive.
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

pub(crate) fn expand_text(text: &str, env: &Environment) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let (before, inside) = (&rest[..start], &rest[start + 2..]);
        out.push_str(before);
        let Some(end) = inside.find('}') else {
            return Err(format!("unterminated `${{{}`", inside.escape_debug()));
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
            "`${{{name}}}` is a provider key, which is not passed to MCP servers"
        ));
    }
    env.get(name).or(default).map(str::to_owned).ok_or_else(|| {
        let name = name.escape_debug();
        format!("the variable {name} is not set; set it or use `${{{name}:-default}}`")
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use super::*;

    #[test]
    fn variables_and_defaults_are_expanded_everywhere() {
        let vars = [("TOKEN", "t"), ("EMPTY", "")];
        let env = Environment::new(vars, Path::new("/"));
        let entry = json!({"url": "https://${HOST:-h}/${TOKEN}/", "args": ["${EMPTY:-e}", "$TOKEN", 1], "env": {"A": "${TOKEN}${TOKEN}"}});
        assert_eq!(
            expand(&entry, &env).unwrap(),
            json!({"url": "https://h/t/", "args": ["e", "$TOKEN", 1], "env": {"A": "tt"}})
        );
    }

    #[test]
    fn unset_variables_and_provider_keys_are_rejected() {
        let vars = [("ANTHROPIC_API_KEY", "sk-secret")];
        let env = Environment::new(vars, Path::new("/"));
        for (text, words) in [
            ("${GONE}", "GONE is not set"),
            ("${GONE", "unterminated"),
            ("x${ANTHROPIC_API_KEY}", "provider key"),
            ("${OPENAI_API_KEY:-x}", "provider key"),
        ] {
            let error = expand(&json!(text), &env).unwrap_err();
            assert!(
                error.contains(words) && !error.contains("sk-secret"),
                "{error}"
            );
        }
    }
}
