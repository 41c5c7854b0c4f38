//! The choice of an agent's model.

use swarm_protocol::named_enum;

use crate::AgentDefinition;

/// All sources of an agent's model. A blank text counts as absent.
#[derive(Debug, Clone, Copy)]
pub struct ModelCandidates<'a> {
    /// `CLAUDE_CODE_SUBAGENT_MODEL`; `inherit` counts as absent.
    pub environment: Option<&'a str>,
    /// The flag or parameter of the spawn.
    pub call: Option<&'a str>,
    /// The model in the definition.
    pub definition: Option<&'a str>,
    /// The parent's current model.
    pub parent: &'a str,
    /// The meaning of `small`: the small model of the parent's provider. Without one the parent's
    /// model is used.
    pub small: Option<&'a str>,
}

/// The name for the small model of the parent's provider.
const SMALL: &str = "small";

/// A model and its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChosenModel {
    /// The model as written, or exactly the parent's. The caller resolves aliases, applies the
    /// policy and rejects unknown models.
    pub written: String,
    /// The source of the model.
    pub source: ModelSource,
}

named_enum! {
    /// The source of a model, strongest first.
    pub enum ModelSource {
        /// `CLAUDE_CODE_SUBAGENT_MODEL`.
        Environment = "environment",
        /// The spawn call.
        Call = "call",
        /// The definition.
        Definition = "definition",
        /// The parent, because no model or `inherit` was given.
        Parent = "parent",
    }
}

impl ChosenModel {
    /// Prefixes an error about this model with its source, unless the spawn itself named it.
    pub fn explain(&self, definition: Option<&AgentDefinition>, error: &str) -> String {
        match (self.source, definition) {
            (ModelSource::Environment, _) => format!(
                "model {} from CLAUDE_CODE_SUBAGENT_MODEL: {error}",
                self.written
            ),
            (ModelSource::Definition, Some(definition)) => format!(
                "model {} from the definition of {}: {error}",
                self.written, definition.name
            ),
            _ => error.to_owned(),
        }
    }
}

/// Model families that are also aliases.
const FAMILIES: [&str; 4] = ["opus", "sonnet", "haiku", "fable"];

/// Chooses by precedence: environment, call, definition, parent. `inherit`, and the alias of the
/// parent's own family, give exactly the parent's model, because an alias could select another
/// version or provider.
pub fn choose_model(request: &ModelCandidates<'_>) -> ChosenModel {
    let said = |text: Option<&'_ str>| {
        let text = text.map(str::trim).filter(|text| !text.is_empty());
        text.map(str::to_owned)
    };
    let environment = said(request.environment).filter(|text| !inherits(text));
    let sources = [
        (environment, ModelSource::Environment),
        (said(request.call), ModelSource::Call),
        (said(request.definition), ModelSource::Definition),
    ];
    let first = sources
        .into_iter()
        .find_map(|(text, source)| text.map(|text| (text, source)));
    let first = match first {
        Some((text, source)) if text.eq_ignore_ascii_case(SMALL) => {
            request.small.map(|small| (small.to_owned(), source))
        }
        first => first,
    };
    match first {
        Some((text, source)) if !inherits(&text) => ChosenModel {
            written: if is_family_of(&text, request.parent) {
                request.parent.to_owned()
            } else {
                text
            },
            source,
        },
        _ => ChosenModel {
            written: request.parent.to_owned(),
            source: ModelSource::Parent,
        },
    }
}

fn inherits(text: &str) -> bool {
    text.eq_ignore_ascii_case("inherit")
}

/// Returns whether a word is the alias of the parent model's family.
fn is_family_of(word: &str, parent: &str) -> bool {
    let is_family = FAMILIES
        .iter()
        .any(|family| family.eq_ignore_ascii_case(word));
    // The path of a scenario may contain any word.
    is_family
        && !parent.starts_with("scripted/")
        && parent
            .split(|c: char| !c.is_ascii_alphanumeric())
            .any(|part| part.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: &str = "anthropic/claude-opus-4-6";

    fn chosen(
        environment: Option<&str>,
        call: Option<&str>,
        definition: Option<&str>,
        parent: &str,
    ) -> (String, ModelSource) {
        let chosen = choose_model(&ModelCandidates {
            environment,
            call,
            definition,
            parent,
            small: None,
        });
        (chosen.written, chosen.source)
    }

    /// Three optional sources, with a parent whose model came from a setting or a flag.
    #[test]
    fn c1_all_sixteen_combinations_of_sources() {
        let table = [
            // environment, call, definition, decided by
            (false, false, false, ModelSource::Parent),
            (false, false, true, ModelSource::Definition),
            (false, true, false, ModelSource::Call),
            (false, true, true, ModelSource::Call),
            (true, false, false, ModelSource::Environment),
            (true, false, true, ModelSource::Environment),
            (true, true, false, ModelSource::Environment),
            (true, true, true, ModelSource::Environment),
        ];
        for parent in [PARENT, "openai/gpt-oss:20b"] {
            for (environment, call, definition, source) in table {
                let given = |is: bool, model: &'static str| is.then_some(model);
                let got = chosen(
                    given(environment, "e-model"),
                    given(call, "c-model"),
                    given(definition, "d-model"),
                    parent,
                );
                let model = match source {
                    ModelSource::Environment => "e-model",
                    ModelSource::Call => "c-model",
                    ModelSource::Definition => "d-model",
                    ModelSource::Parent => parent,
                };
                assert_eq!(
                    got,
                    (model.to_owned(), source),
                    "{environment} {call} {definition} {parent}"
                );
            }
        }
    }

    #[test]
    fn c1_inherit_is_exactly_the_parents_model() {
        let parent = (PARENT.to_owned(), ModelSource::Parent);
        assert_eq!(chosen(None, None, Some("inherit"), PARENT), parent);
        assert_eq!(chosen(None, Some("Inherit"), Some("haiku"), PARENT), parent);
        // The variable cannot override the sources below it with `inherit`.
        let call = ("haiku".to_owned(), ModelSource::Call);
        assert_eq!(chosen(Some("inherit"), Some("haiku"), None, PARENT), call);
        assert_eq!(chosen(Some(" "), Some("haiku"), None, PARENT), call);
    }

    #[test]
    fn small_is_the_small_model_of_the_provider_or_else_the_parents_model() {
        let chosen = |small| {
            choose_model(&ModelCandidates {
                environment: None,
                call: None,
                definition: Some("small"),
                parent: PARENT,
                small,
            })
        };
        let small = chosen(Some("anthropic/claude-haiku-4-5"));
        assert_eq!(small.written, "anthropic/claude-haiku-4-5");
        assert_eq!(small.source, ModelSource::Definition);
        let none = chosen(None);
        assert_eq!(
            (none.written.as_str(), none.source),
            (PARENT, ModelSource::Parent)
        );
    }

    #[test]
    fn c1_an_alias_of_the_parents_family_is_the_parents_model() {
        for (alias, parent, written) in [
            ("opus", PARENT, PARENT),
            ("Opus", PARENT, PARENT),
            ("sonnet", PARENT, "sonnet"),
            (
                "sonnet",
                "anthropic/claude-3-5-sonnet-20241022",
                "anthropic/claude-3-5-sonnet-20241022",
            ),
            ("opus", "scripted//srv/opus/a.toml", "opus"),
            ("fast", "anthropic/fast-1", "fast"),
            ("claude-opus-4-1", PARENT, "claude-opus-4-1"),
        ] {
            let got = chosen(None, Some(alias), None, parent);
            assert_eq!(
                got,
                (written.to_owned(), ModelSource::Call),
                "{alias} below {parent}"
            );
        }
    }
}
