//! Model names: `provider/model`, a bare alias, or a bare Anthropic model id.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::str::FromStr;

use swarm_protocol::named_enum;

named_enum! {
    /// Provider of a model. The name is the prefix in model names.
    #[derive(PartialOrd, Ord)]
    pub enum Provider {
        /// The Messages API.
        Anthropic = "anthropic",
        /// An OpenAI-compatible server.
        OpenAi = "openai",
        /// A scenario file.
        Scripted = "scripted",
    }
}

impl Provider {
    /// The providers whose models run on a server.
    pub const SERVERS: [Self; 2] = [Self::Anthropic, Self::OpenAi];

    /// Returns the name of the provider's API.
    pub fn api(self) -> &'static str {
        match self {
            Self::Anthropic => "Messages API",
            Self::OpenAi => "chat completions API",
            Self::Scripted => "scenario",
        }
    }

    /// Returns the environment variables with the credentials, for messages.
    pub fn key_variables(self) -> &'static str {
        match self {
            Self::Anthropic => "ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN",
            Self::OpenAi => "OPENAI_API_KEY",
            Self::Scripted => "the scenario",
        }
    }

    /// Returns a hint for working without a key, as the end of a sentence.
    pub(crate) fn without_key(self) -> &'static str {
        match self {
            Self::OpenAi => {
                "; for your own server set OPENAI_BASE_URL instead (Ollama: http://127.0.0.1:11434/v1)"
            }
            Self::Anthropic => {
                "; with a subscription, `swarm spawn NAME --runtime claude` starts your own Claude Code as a teammate"
            }
            Self::Scripted => "",
        }
    }

    /// Returns the environment variable with the server address.
    pub fn address_variable(self) -> &'static str {
        match self {
            Self::Anthropic => "ANTHROPIC_BASE_URL",
            Self::OpenAi => "OPENAI_BASE_URL",
            Self::Scripted => "the scenario",
        }
    }

    fn known() -> String {
        Self::ALL.map(Self::name).join(", ")
    }
}

/// A model with its provider, written `provider/model`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ModelName {
    /// Provider of the model.
    pub provider: Provider,
    /// The provider's model id; for [`Provider::Scripted`] the path of the scenario file.
    pub model: String,
}

/// An invalid model name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelNameError {
    /// The prefix is not a provider.
    #[error(
        "unknown provider in model {}; write provider/model with one of {}",
        .0.escape_debug(), Provider::known()
    )]
    UnknownProvider(String),
    /// A bare name that is neither an alias nor an Anthropic model id, which begins with `claude`.
    #[error(
        "unknown model {name}: it is not an alias and not a Claude model; write provider/model, for example openai/{name} \
         or anthropic/{name}",
        name = .0.escape_debug()
    )]
    UnknownModel(String),
    /// The name is empty, has nothing after the slash, or contains white space or control
    /// characters.
    #[error("invalid model name {0:?}; write provider/model, an alias or a model id")]
    Malformed(String),
    /// The aliases form a cycle that begins with this one.
    #[error("the model alias {} refers to itself; correct model.aliases in swarm.toml", .0.escape_debug())]
    Circular(String),
}

impl ModelName {
    /// Parses a name without aliases: `provider/model`, or a bare Anthropic model id.
    pub fn parse(name: &str) -> Result<Self, ModelNameError> {
        let malformed = || ModelNameError::Malformed(name.to_owned());
        let (provider, model) = match name.split_once('/') {
            None => (Provider::Anthropic, name),
            Some((word, model)) => {
                let provider = Provider::named(word)
                    .ok_or_else(|| ModelNameError::UnknownProvider(name.to_owned()))?;
                (provider, model)
            }
        };
        // A path may contain spaces; a model id never does.
        let blank_allowed = provider == Provider::Scripted;
        let unusable = |c: char| c.is_control() || (c.is_whitespace() && !blank_allowed);
        if model.trim().is_empty() || model.contains(unusable) {
            return Err(malformed());
        }
        if model == name && !name.to_ascii_lowercase().starts_with("claude") {
            return Err(ModelNameError::UnknownModel(name.to_owned()));
        }
        Ok(Self {
            provider,
            model: model.to_owned(),
        })
    }

    /// Parses a name, looking a bare one up in `aliases` first. An alias may name another alias.
    pub fn resolve(name: &str, aliases: &BTreeMap<String, String>) -> Result<Self, ModelNameError> {
        let mut current = name;
        for _ in 0..=aliases.len() {
            match aliases.get(current) {
                Some(target) => current = target,
                None => return Self::parse(current),
            }
        }
        Err(ModelNameError::Circular(name.to_owned()))
    }

    /// Makes a relative scenario path absolute, based on `directory`, so that a child process with
    /// another working directory opens the same file. Names of other providers are unchanged.
    #[must_use]
    pub fn anchored(self, directory: &Path) -> Self {
        if self.provider != Provider::Scripted {
            return self;
        }
        let model = directory.join(&self.model).to_string_lossy().into_owned();
        Self { model, ..self }
    }
}

impl FromStr for ModelName {
    type Err = ModelNameError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::parse(name)
    }
}

impl fmt::Display for ModelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.provider, self.model)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn aliases(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs
            .iter()
            .map(|(from, to)| ((*from).to_owned(), (*to).to_owned()))
            .collect()
    }

    #[test]
    fn names_with_a_provider_parse_and_print_back() {
        for (name, provider, model) in [
            (
                "anthropic/claude-sonnet-4-6",
                Provider::Anthropic,
                "claude-sonnet-4-6",
            ),
            ("openai/gpt-oss:20b", Provider::OpenAi, "gpt-oss:20b"),
            ("openai/meta/llama-3", Provider::OpenAi, "meta/llama-3"),
            (
                "scripted//tmp/my demo.toml",
                Provider::Scripted,
                "/tmp/my demo.toml",
            ),
        ] {
            let parsed = ModelName::parse(name).unwrap();
            assert_eq!((parsed.provider, parsed.model.as_str()), (provider, model));
            assert_eq!(parsed.to_string(), name);
        }
    }

    #[test]
    fn a_bare_name_is_an_alias_or_an_anthropic_id() {
        let table = aliases(&[
            ("fast", "small"),
            ("small", "anthropic/claude-haiku-4-5"),
            ("local", "openai/gpt-oss:20b"),
        ]);
        let resolve = |name| ModelName::resolve(name, &table).unwrap().to_string();
        assert_eq!(resolve("fast"), "anthropic/claude-haiku-4-5");
        assert_eq!(resolve("local"), "openai/gpt-oss:20b");
        assert_eq!(resolve("claude-opus-4-6"), "anthropic/claude-opus-4-6");
    }

    #[test]
    fn the_error_for_a_bare_name_of_another_provider_suggests_a_prefix() {
        let error = ModelName::parse("gpt-5").unwrap_err().to_string();
        assert!(error.starts_with("unknown model gpt-5:"), "{error}");
        assert!(error.contains("openai/gpt-5"), "{error}");
    }

    #[test]
    fn the_error_for_an_unknown_provider_lists_the_known_ones() {
        let error = ModelName::parse("google/gemini").unwrap_err().to_string();
        assert!(error.contains("google/gemini"), "{error}");
        assert!(error.contains("anthropic, openai, scripted"), "{error}");
    }

    #[test]
    fn empty_names_blank_names_and_alias_cycles_are_rejected() {
        for name in ["", "  ", "anthropic/", "scripted/", "claude sonnet", "a\nb"] {
            assert!(
                matches!(ModelName::parse(name), Err(ModelNameError::Malformed(_))),
                "{name:?}"
            );
        }
        let table = aliases(&[("a", "b"), ("b", "a")]);
        assert!(matches!(
            ModelName::resolve("a", &table),
            Err(ModelNameError::Circular(_))
        ));
    }

    #[test]
    fn only_scenario_paths_are_made_absolute() {
        let directory = Path::new("/work");
        let anchor = |name| {
            ModelName::parse(name)
                .unwrap()
                .anchored(directory)
                .to_string()
        };
        assert_eq!(anchor("scripted/demo.toml"), "scripted//work/demo.toml");
        assert_eq!(anchor("scripted//x.toml"), "scripted//x.toml");
        assert_eq!(anchor("claude-x"), "anthropic/claude-x");
    }
}
