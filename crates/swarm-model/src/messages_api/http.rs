//! The HTTP side: one reqwest client with its TLS set-up, the address and the headers.

use std::error::Error as _;
use std::sync::Arc;

use bytes::Bytes;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, NoProxy, Proxy, Response, Url};
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::{CryptoProvider, ring};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;

use super::config::MessagesApiConfig;
use crate::error::ModelError;

/// The version of the API that this client speaks
/// (<https://docs.claude.com/en/api/versioning>).
const API_VERSION: &str = "2023-06-01";

const USER_AGENT: &str = concat!("swarm/", env!("CARGO_PKG_VERSION"));

/// Where requests go.
#[derive(Debug)]
pub(super) struct Endpoint {
    client: Client,
    url: Url,
    headers: HeaderMap,
    /// Scheme, host and port, for people.
    pub(super) server: String,
}

impl Endpoint {
    /// Checks the settings and prepares the client. Connects to nothing.
    pub(super) fn new(config: &MessagesApiConfig) -> Result<Self, ModelError> {
        let url = messages_url(&config.base_url)?;
        let server = url.origin().ascii_serialization();
        let proxy = proxy(config)?;
        let proxy_over_tls = config
            .proxy
            .as_ref()
            .is_some_and(|proxy| proxy.reveal().starts_with("https:"));
        let builder = Client::builder()
            .user_agent(USER_AGENT)
            .connect_timeout(config.connect_timeout)
            .redirect(Policy::none())
            .tls_backend_preconfigured(tls(url.scheme() == "https" || proxy_over_tls)?);
        let builder = match proxy {
            Some(proxy) => builder.proxy(proxy),
            None => builder.no_proxy(),
        };
        let client = builder.build().map_err(|error| setup(describe(error)))?;
        Ok(Self {
            client,
            url,
            headers: headers(config)?,
            server,
        })
    }

    /// Sends a request and waits for the head of its answer.
    pub(super) async fn post(&self, body: Bytes) -> Result<Response, reqwest::Error> {
        let request = self.client.post(self.url.clone());
        request
            .headers(self.headers.clone())
            .body(body)
            .send()
            .await
    }
}

/// An error of reqwest with its causes, without the address: that may hold a password.
pub(super) fn describe(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}

fn setup(message: impl Into<String>) -> ModelError {
    ModelError::Setup {
        message: message.into(),
    }
}

fn messages_url(base: &str) -> Result<Url, ModelError> {
    let unusable = |why: &str| setup(format!("ANTHROPIC_BASE_URL {why}; give it as https://HOST"));
    let base = base.trim().trim_end_matches('/');
    let url =
        Url::parse(&format!("{base}/v1/messages")).map_err(|_| unusable("is not an address"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(unusable("is neither http nor https"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(unusable(
            "holds a user or password, which belong into ANTHROPIC_AUTH_TOKEN",
        ));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(unusable("has a query or fragment"));
    }
    Ok(url)
}

fn proxy(config: &MessagesApiConfig) -> Result<Option<Proxy>, ModelError> {
    let Some(address) = &config.proxy else {
        return Ok(None);
    };
    let proxy = Proxy::all(address.reveal())
        .map_err(|_| setup("the proxy is not an address; give it as http://HOST:PORT"))?;
    let exceptions = config.no_proxy.as_deref().and_then(NoProxy::from_string);
    Ok(Some(proxy.no_proxy(exceptions)))
}

/// TLS on ring, the provider this workspace builds with. Without need for TLS the system's certificates are
/// not loaded: a local server must work on a machine that has none.
fn tls(needed: bool) -> Result<ClientConfig, ModelError> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| setup(format!("TLS is not usable ({error})")))?;
    if !needed {
        let none = RootCertStore::empty();
        return Ok(builder.with_root_certificates(none).with_no_client_auth());
    }
    let config = builder
        .dangerous()
        .with_custom_certificate_verifier(system_verifier(provider)?)
        .with_no_client_auth();
    Ok(config)
}

fn system_verifier(
    provider: Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, ModelError> {
    match Verifier::new(provider) {
        Ok(verifier) => Ok(Arc::new(verifier)),
        Err(error) => Err(setup(format!(
            "the system's TLS certificates cannot be loaded ({error}); install the package ca-certificates or set SSL_CERT_FILE"
        ))),
    }
}

fn headers(config: &MessagesApiConfig) -> Result<HeaderMap, ModelError> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(
        HeaderName::from_static("anthropic-version"),
        HeaderValue::from_static(API_VERSION),
    );
    if !config.betas.is_empty() {
        let value = HeaderValue::from_str(&config.betas.join(","))
            .map_err(|_| setup("a beta name holds characters that no header may hold"))?;
        headers.insert(HeaderName::from_static("anthropic-beta"), value);
    }
    let (name, text) = credential(config)?;
    let mut value = HeaderValue::from_str(&text).map_err(|_| ModelError::Auth {
        message: format!("the value for {name} holds characters that no key has"),
    })?;
    value.set_sensitive(true);
    headers.insert(name, value);
    Ok(headers)
}

fn credential(config: &MessagesApiConfig) -> Result<(HeaderName, String), ModelError> {
    if let Some(token) = &config.auth_token {
        return Ok((AUTHORIZATION, format!("Bearer {}", token.reveal())));
    }
    match &config.api_key {
        Some(key) => Ok((
            HeaderName::from_static("x-api-key"),
            key.reveal().to_owned(),
        )),
        None => Err(ModelError::Auth {
            message: "none are set".to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages_api::Secret;

    fn config(base_url: &str) -> MessagesApiConfig {
        MessagesApiConfig {
            base_url: base_url.to_owned(),
            api_key: Some(Secret::new("sk-test")),
            ..MessagesApiConfig::default()
        }
    }

    #[test]
    fn the_address_is_completed_and_nonsense_is_refused() {
        let url = |base| messages_url(base).map(String::from);
        assert_eq!(
            url("https://api.anthropic.com").unwrap(),
            "https://api.anthropic.com/v1/messages"
        );
        assert_eq!(
            url("http://127.0.0.1:8080/gateway/").unwrap(),
            "http://127.0.0.1:8080/gateway/v1/messages"
        );
        for base in [
            "",
            "api.anthropic.com",
            "ftp://x",
            "https://me:pw@x",
            "https://x?a=b",
        ] {
            let error = url(base).unwrap_err().to_string();
            assert!(error.contains("ANTHROPIC_BASE_URL"), "{base}: {error}");
            assert!(!error.contains("pw"), "{error}");
        }
    }

    #[test]
    fn the_token_goes_before_the_key_and_neither_shows_in_debug() {
        let both = MessagesApiConfig {
            auth_token: Some(Secret::new("token-1")),
            betas: vec!["a".into(), "b".into()],
            ..config("http://127.0.0.1:1")
        };
        let endpoint = Endpoint::new(&both).unwrap();
        assert_eq!(endpoint.headers["authorization"], "Bearer token-1");
        assert_eq!(endpoint.headers["anthropic-beta"], "a,b");
        assert!(!endpoint.headers.contains_key("x-api-key"));
        let shown = format!("{endpoint:?}");
        assert!(
            !shown.contains("token-1") && !shown.contains("sk-test"),
            "{shown}"
        );
    }

    #[test]
    fn a_key_that_no_header_can_hold_is_refused_without_showing_it() {
        let broken = MessagesApiConfig {
            api_key: Some(Secret::new("sk-ant\nsecond-line")),
            ..config("http://127.0.0.1:1")
        };
        let error = Endpoint::new(&broken).unwrap_err();
        assert!(matches!(error, ModelError::Auth { .. }));
        assert!(!error.to_string().contains("second-line"), "{error}");
    }

    #[test]
    fn a_proxy_that_is_no_address_is_refused_without_its_password() {
        let broken = MessagesApiConfig {
            proxy: Some(Secret::new("http://me:hunter2@[broken")),
            ..config("http://127.0.0.1:1")
        };
        let error = Endpoint::new(&broken).unwrap_err();
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
}
