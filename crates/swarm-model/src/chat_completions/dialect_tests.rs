//! Addresses, and refusals with the messages of real servers.

use super::*;
use crate::remote::fake_server::failure_word;

fn dialect(base_url: &str) -> OpenAiCompatible {
    OpenAiCompatible::new(ChatCompletionsConfig {
        base_url: Some(base_url.to_owned()),
        ..ChatCompletionsConfig::default()
    })
    .unwrap()
}

fn sort(status: u16, body: &str) -> Failure {
    let refusal = Refusal::from_body(status, body.as_bytes());
    dialect("http://127.0.0.1:8000").failure(&refusal, refusal.line(), "qwen3")
}

#[test]
fn an_address_is_accepted_with_and_without_version_and_path() {
    let url = |base| completions_url(base).map(String::from).unwrap();
    for base in [
        "http://localhost:11434",
        "http://localhost:11434/",
        "http://localhost:11434/v1",
        " http://localhost:11434/v1/ ",
        "http://localhost:11434/v1/chat/completions",
    ] {
        assert_eq!(
            url(base),
            "http://localhost:11434/v1/chat/completions",
            "{base}"
        );
    }
    assert_eq!(
        url("https://gateway.example/api/v1"),
        "https://gateway.example/api/v1/chat/completions"
    );
    assert_eq!(
        url("https://gateway.example/v1beta/openai/"),
        "https://gateway.example/v1beta/openai/chat/completions"
    );
    assert_eq!(
        url("http://gateway.example/vllm"),
        "http://gateway.example/vllm/v1/chat/completions"
    );
    let error = completions_url("localhost:11434").unwrap_err().to_string();
    assert!(error.contains("OPENAI_BASE_URL"), "{error}");
}

#[test]
fn only_openai_requires_a_key() {
    let config = |base_url: Option<&str>, key: Option<&str>| ChatCompletionsConfig {
        base_url: base_url.map(str::to_owned),
        api_key: key.map(Secret::new),
        ..ChatCompletionsConfig::default()
    };
    for base in [None, Some("https://api.openai.com/v1")] {
        let error = OpenAiCompatible::new(config(base, None)).unwrap_err();
        assert!(matches!(error, ModelError::NoKey(_)), "{error}");
        let error = error.to_string();
        assert!(
            error.contains("OPENAI_API_KEY") && error.contains("OPENAI_BASE_URL"),
            "{error}"
        );
    }
    let keyed = OpenAiCompatible::new(config(None, Some("sk-1"))).unwrap();
    assert_eq!(
        keyed.address().unwrap().headers()["authorization"],
        "Bearer sk-1"
    );
    assert_eq!(
        keyed.capabilities.lock().limit,
        TokenLimit::MaxCompletionTokens
    );
    assert!(!format!("{keyed:?}").contains("sk-1"));
    let local = dialect("http://127.0.0.1:1");
    assert!(
        !local
            .address()
            .unwrap()
            .headers()
            .contains_key("authorization")
    );
    assert_eq!(local.capabilities.lock().limit, TokenLimit::MaxTokens);
}

/// Server, status, body, and the expected failure.
const REFUSALS: &[(&str, u16, &str, &str)] = &[
    (
        "OpenAI",
        401,
        r#"{"error":{"message":"Incorrect API key provided: sk-1","type":"invalid_request_error","code":"invalid_api_key"}}"#,
        "auth",
    ),
    ("vLLM", 401, r#"{"error":"Unauthorized"}"#, "auth"),
    (
        "OpenAI",
        404,
        r#"{"error":{"message":"The model `x` does not exist or you do not have access to it.","type":"invalid_request_error","param":null,"code":"model_not_found"}}"#,
        "model",
    ),
    (
        "Ollama",
        404,
        r#"{"error":{"message":"model 'qwen3' not found","type":"not_found_error","param":null,"code":null}}"#,
        "model",
    ),
    (
        "vLLM",
        404,
        r#"{"object":"error","message":"The model `x` does not exist.","type":"NotFoundError","param":null,"code":404}"#,
        "model",
    ),
    (
        "LiteLLM",
        400,
        r#"{"error":{"message":"/chat/completions: Invalid model name passed in model=x. Call `/v1/models` to view available models for your key.","type":"invalid_request_error","param":"model","code":"400"}}"#,
        "model",
    ),
    (
        "llama.cpp",
        404,
        r#"{"error":{"code":404,"message":"File Not Found","type":"not_found_error"}}"#,
        "invalid",
    ),
    ("FastAPI", 404, r#"{"detail":"Not Found"}"#, "invalid"),
    (
        "Ollama",
        400,
        r#"{"error":{"message":"registry.ollama.ai/library/gemma3:4b does not support tools","type":"api_error","param":null,"code":null}}"#,
        "invalid",
    ),
    (
        "vLLM",
        400,
        r#"{"object":"error","message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set","type":"BadRequestError","code":400}"#,
        "invalid",
    ),
    (
        "OpenAI",
        400,
        r#"{"error":{"message":"This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#,
        "long",
    ),
    (
        "llama.cpp",
        400,
        r#"{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":1407,"n_ctx":256}}"#,
        "long",
    ),
    (
        "llama.cpp",
        500,
        r#"{"error":{"code":500,"message":"Context size has been exceeded.","type":"server_error"}}"#,
        "long",
    ),
    (
        "LM Studio",
        400,
        r#"{"error":"The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 13055>= n_ctx: 4096)."}"#,
        "long",
    ),
    (
        "OpenAI",
        429,
        r#"{"error":{"message":"Rate limit reached for gpt-5 in organization org-1","type":"tokens","param":null,"code":"rate_limit_exceeded"}}"#,
        "again: limit",
    ),
    (
        "OpenAI",
        429,
        r#"{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}"#,
        "billing",
    ),
    (
        "llama.cpp",
        503,
        r#"{"error":{"message":"Loading model","type":"unavailable_error","code":503}}"#,
        "again: server",
    ),
    (
        "OpenAI",
        503,
        r#"{"error":{"message":"The engine is currently overloaded, please try again later","type":"server_error"}}"#,
        "again: overload",
    ),
    (
        "a proxy",
        502,
        "<html><title>502 Bad Gateway</title></html>",
        "again: server",
    ),
    ("a proxy", 504, "", "again: server"),
];

#[test]
fn each_refusal_maps_to_a_failure() {
    for (server, status, body, expected) in REFUSALS {
        let failure = sort(*status, body);
        assert_eq!(
            failure_word(&failure),
            *expected,
            "{server} {status} {body}: {failure:?}"
        );
    }
}

#[test]
fn errors_say_what_to_do_if_the_server_does_not() {
    let text = |failure: Failure| match failure {
        Failure::Final(error) => error.to_string(),
        Failure::Transient(transient) => panic!("{transient:?}"),
    };
    let pull = text(sort(
        404,
        r#"{"error":{"message":"model 'qwen3' not found"}}"#,
    ));
    assert!(pull.contains("ollama pull qwen3"), "{pull}");
    let refusal = Refusal::from_body(404, br#"{"error":"model not found"}"#);
    let ollama = dialect("http://gpu.local:11434").failure(&refusal, refusal.line(), "qwen3");
    assert!(text(ollama).contains("ollama pull qwen3"));
    let other = text(sort(
        404,
        r#"{"error":{"message":"The model `qwen3` does not exist."}}"#,
    ));
    assert!(
        !other.contains("ollama") && other.contains("--model"),
        "{other}"
    );
    let tools = text(sort(
        400,
        r#"{"error":{"message":"gemma does not support tools"}}"#,
    ));
    assert!(tools.contains("--jinja"), "{tools}");
    let path = text(sort(404, r#"{"detail":"Not Found"}"#));
    assert!(
        path.contains("OPENAI_BASE_URL") && path.contains("chat completions"),
        "{path}"
    );
    let key = text(sort(401, r#"{"error":"Unauthorized"}"#));
    assert!(
        key.contains("OPENAI_API_KEY") && !key.contains("ANTHROPIC"),
        "{key}"
    );
}
