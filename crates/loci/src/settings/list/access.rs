//! Where loci can be reached and by whom, and what it asks people.

use std::net::SocketAddr;
use std::time::Duration;

use crate::settings::value::{UNNAMED, Value};
use crate::settings::{DefaultValue, Setting, TypedSetting, ValueType};

settings! {
    ACCESS_SETTINGS;

    /// The address of the HTTP server.
    BIND: SocketAddr = {
        key: "bind",
        flag: Some("bind"),
        variable: "LOCI_BIND",
        default: DefaultValue::Text("127.0.0.1:7821"),
        meaning: "Address and port of the HTTP server; port 0 takes a free one",
    };
    /// The origins of web pages that may call.
    ALLOWED_ORIGINS: Vec<String> = {
        key: "allowed_origins", variable: "LOCI_ALLOWED_ORIGINS",
        default: DefaultValue::Text(""), form: ValueType::List,
        meaning: "Origins of web pages that may call the HTTP server besides the origins of this machine, such as https://name:port; one without a port stands for every port",
    };
    /// The names of this server.
    ALLOWED_HOSTS: Vec<String> = {
        key: "allowed_hosts", variable: "LOCI_ALLOWED_HOSTS",
        default: DefaultValue::Text(""), form: ValueType::List,
        meaning: "Names under which the HTTP server is reached besides localhost, such as memory.example.org; with a port, if that is not the one of this server or of its scheme",
    };
    /// Whether hosts get views of the conversation.
    CONVERSATION_VIEWS: bool = {
        key: "conversation_views", variable: "LOCI_CONVERSATION_VIEWS",
        default: DefaultValue::Text("true"), form: ValueType::Boolean,
        meaning: "Whether a host that shows views beside the replies of tools (MCP Apps) gets them",
    };
    /// True if clients may ask their person questions.
    QUESTIONS: bool = {
        key: "questions", variable: "LOCI_QUESTIONS",
        default: DefaultValue::Text("true"), form: ValueType::Boolean,
        meaning: "Whether a client that shows questions to its person (elicitation) is asked what only the person should decide: a sure contradiction, a deletion for good, a name or an author that is new",
    };
    /// The time for an answer.
    QUESTION_SECONDS: u64 = {
        key: "question_seconds", variable: "LOCI_QUESTION_SECONDS",
        default: DefaultValue::Text("50"), form: ValueType::Whole { min: 5, max: 300 },
        meaning: "Seconds that a call waits for the answer of the person; then it ends as if the client showed no questions",
    };
    /// The URL of this server for clients.
    PUBLIC_URL: String = {
        key: "public_url",
        flag: Some("public-url"),
        variable: "LOCI_PUBLIC_URL",
        meaning: "URL under which clients reach the HTTP server through a proxy, such as https://memory.example.org; its host and origin are served, and clients are told to get tokens for it",
    };
    /// The address of the figures for monitoring.
    METRICS_BIND: SocketAddr = {
        key: "metrics_bind", variable: "LOCI_METRICS_BIND",
        meaning: "Address on which `loci serve` tells Prometheus its figures, at /metrics and to everybody who reaches it, such as 127.0.0.1:9464; unset: nowhere",
    };
    /// The collector of traces.
    OTLP_ENDPOINT: String = {
        key: "otlp_endpoint", variable: "LOCI_OTLP_ENDPOINT",
        meaning: "URL of a collector to which `loci serve` and `loci mcp` send traces of calls over OTLP (HTTP, protobuf), without /v1/traces, such as http://127.0.0.1:4318; unset: nowhere, whatever OTEL_EXPORTER_OTLP_ENDPOINT says",
    };
    /// The proxies whose forwarding headers are trusted.
    TRUSTED_PROXIES: Vec<String> = {
        key: "trusted_proxies", variable: "LOCI_TRUSTED_PROXIES",
        default: DefaultValue::Text(""), form: ValueType::List,
        meaning: "Addresses or networks (10.0.0.0/8) of proxies whose X-Forwarded-For, -Proto and -Host headers count; from anybody else they are ignored",
    };
    /// The authors whose directives every reader takes.
    TRUSTED_AUTHORS: Vec<String> = {
        key: "trusted_authors", variable: "LOCI_TRUSTED_AUTHORS",
        default: DefaultValue::Text(""), form: ValueType::List,
        meaning: "Subjects whose memories for session starts every reader takes as directives, besides its own and the administrators'; `anonymous` for callers without a token; `loci trust` does it for one reader",
    };
    /// The certificate of the HTTP server.
    TLS_CERTIFICATE: String = {
        key: "tls.certificate",
        flag: Some("tls-cert"),
        variable: "LOCI_TLS_CERTIFICATE",
        meaning: "PEM file with the certificate of the HTTP server and its chain; with it, the server speaks HTTPS. Read again when it changes",
    };
    /// The private key of the certificate.
    TLS_KEY: String = {
        key: "tls.key",
        flag: Some("tls-key"),
        variable: "LOCI_TLS_KEY",
        meaning: "PEM file with the private key of that certificate",
    };
    /// The rate limit of one subject.
    RATE_LIMIT_PER_MINUTE: u64 = {
        key: "rate_limit.per_minute", variable: "LOCI_RATE_LIMIT_PER_MINUTE",
        default: DefaultValue::Text("12000"), form: ValueType::Whole { min: 0, max: 60_000_000 },
        meaning: "Requests that one subject may make each minute over HTTP, in the long run; 0 for no limit",
    };
    /// The burst of one subject.
    RATE_LIMIT_BURST: u64 = {
        key: "rate_limit.burst", variable: "LOCI_RATE_LIMIT_BURST",
        default: DefaultValue::Text("2000"), form: ValueType::Whole { min: 1, max: 1_000_000 },
        meaning: "Requests that one subject may make at once, if it made few before",
    };
    /// The issuer of tokens besides loci itself.
    OIDC_ISSUER: String = {
        key: "oidc.issuer", variable: "LOCI_OIDC_ISSUER",
        meaning: "Issuer URL of an OpenID provider whose access tokens are accepted besides the tokens of `loci token`, exactly as the provider writes it",
    };
    /// The accepted audiences of tokens.
    OIDC_AUDIENCE: Vec<String> = {
        key: "oidc.audience", variable: "LOCI_OIDC_AUDIENCE",
        default: DefaultValue::Text(""), form: ValueType::List,
        meaning: "Audiences (`aud`) of which a token must have one; if none is given, it must have the URL of this server or of the endpoint that is called. `any` accepts tokens that were issued for other services too",
    };
    /// The claim with the subject.
    OIDC_SUBJECT_CLAIM: String = {
        key: "oidc.subject_claim", variable: "LOCI_OIDC_SUBJECT_CLAIM",
        default: DefaultValue::Text("sub"),
        meaning: "Claim with the name under which the bearer owns records; dots lead into objects",
    };
    /// The claims with a name for people.
    OIDC_ACTOR_CLAIMS: Vec<String> = {
        key: "oidc.actor_claims", variable: "LOCI_OIDC_ACTOR_CLAIMS",
        default: DefaultValue::Text("email,preferred_username"), form: ValueType::List,
        meaning: "Claims with a name for people, of which the first that a token has is shown as the actor; else the subject",
    };
    /// The claim with the scopes.
    OIDC_SCOPE_CLAIM: String = {
        key: "oidc.scope_claim", variable: "LOCI_OIDC_SCOPE_CLAIM",
        default: DefaultValue::Words("scope, else scp"),
        meaning: "Claim with the scopes, a string with spaces or an array",
    };
    /// The prefix of scopes in tokens.
    OIDC_SCOPE_PREFIX: String = {
        key: "oidc.scope_prefix", variable: "LOCI_OIDC_SCOPE_PREFIX",
        default: DefaultValue::Text("memory:"),
        meaning: "What stands before `read`, `write` and `admin` in the scopes of a token",
    };
    /// The scopes of a token without the claim.
    OIDC_DEFAULT_SCOPES: Vec<String> = {
        key: "oidc.default_scopes", variable: "LOCI_OIDC_DEFAULT_SCOPES",
        default: DefaultValue::Text("read,write"),
        form: ValueType::List,
        meaning: "Scopes of a token that has no such claim: read, write, admin; a token that has the claim has only the scopes that it names",
    };
    /// The claim with the space of a token.
    OIDC_SPACE_CLAIM: String = {
        key: "oidc.space_claim", variable: "LOCI_OIDC_SPACE_CLAIM",
        meaning: "Claim with the space that a token opens, which each must have then; without this setting all open `main`",
    };
    /// The client by which people sign in.
    OIDC_CLIENT_ID: String = {
        key: "oidc.client_id", variable: "LOCI_OIDC_CLIENT_ID",
        meaning: "Client at that provider by which people sign in on the page; its redirect URI there is the URL of this server with `/signed-in`",
    };
    /// The secret of that client.
    OIDC_CLIENT_SECRET: String = {
        key: "oidc.client_secret", variable: "LOCI_OIDC_CLIENT_SECRET",
        form: ValueType::Secret,
        meaning: "Secret of that client, if the provider gave it one; never shown",
    };
    /// The scopes that people ask for.
    OIDC_CLIENT_SCOPES: Vec<String> = {
        key: "oidc.client_scopes", variable: "LOCI_OIDC_CLIENT_SCOPES",
        default: DefaultValue::Words("openid, and read and write with oidc.scope_prefix unless oidc.scope_claim is set"),
        form: ValueType::List,
        meaning: "Scopes to ask for when a person signs in on the page; `memory:admin` for administrators, `offline_access` where the provider renews tokens only for that",
    };
    /// The accepted types of tokens.
    OIDC_TOKEN_TYPES: Vec<String> = {
        key: "oidc.token_types", variable: "LOCI_OIDC_TOKEN_TYPES",
        default: DefaultValue::Text("at+jwt,JWT"),
        form: ValueType::List,
        meaning: "Types (`typ` in the header) of tokens that are accepted; one without a type counts as JWT",
    };
    /// The interval between fetches of the provider's keys.
    OIDC_REFRESH_SECONDS: Duration = {
        key: "oidc.refresh_seconds", variable: "LOCI_OIDC_REFRESH_SECONDS",
        default: DefaultValue::Text("600"),
        form: ValueType::Seconds,
        meaning: "Seconds after which the provider's keys are fetched again; an unknown key is looked for at once, though not more than once a minute",
    };
}
