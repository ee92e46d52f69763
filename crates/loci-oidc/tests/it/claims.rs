//! The identities that are read from tokens.

use loci_core::{Scope, Scopes};
use loci_oidc::OidcOptions;
use serde_json::{Value, json};

use crate::signers::Signer;
use crate::support::{Provider, refused, verify};

const READ: &[Scope] = &[Scope::Read];
const BOTH: &[Scope] = &[Scope::Read, Scope::Write];
const ALL: &[Scope] = &[Scope::Read, Scope::Write, Scope::Admin];

/// The change of the options that a test is about.
type Change = fn(&mut OidcOptions);

/// Verifies tokens with these claims under these options.
struct Desk {
    signer: Signer,
    provider: Provider,
}

impl Desk {
    fn new() -> Self {
        let signer = Signer::ed25519();
        let provider = Provider::new(&[signer.jwk("a")]);
        Desk { signer, provider }
    }

    fn identity(&self, change: Change, claims: &Value) -> loci_core::Identity {
        let token = self.signer.usual("a", &self.provider.claims_with(claims));
        verify(&self.provider.ready(change), &token)
            .unwrap_or_else(|error| panic!("{claims}: {error}"))
    }

    fn refused(&self, change: Change, claims: &Value, words: &str) {
        let token = self.signer.usual("a", &self.provider.claims_with(claims));
        refused(&self.provider.ready(change), &token, words);
    }
}

#[test]
fn scopes_are_ours_among_those_of_the_token() {
    let usual: Change = |_| ();
    let roles: Change = |options| options.scope_claim = Some("realm_access.roles".to_owned());
    let bare: Change = |options| options.scope_prefix = String::new();
    let nothing: Change = |options| options.default_scopes = Scopes::default();
    let rows: [(Change, Value, &[Scope]); 25] = [
        (usual, json!({}), BOTH),
        (nothing, json!({}), &[]),
        (usual, json!({ "scope": "memory:read" }), READ),
        (
            usual,
            json!({ "scope": "openid memory:write email memory:read" }),
            BOTH,
        ),
        (usual, json!({ "scope": "memory:admin" }), &[Scope::Admin]),
        (
            usual,
            json!({ "scope": "memory:read memory:write memory:admin" }),
            ALL,
        ),
        (usual, json!({ "scope": "openid" }), &[]),
        (usual, json!({ "scope": "read write admin" }), &[]),
        (
            usual,
            json!({ "scope": "MEMORY:READ memory:Read memory:reader xmemory:read memory:" }),
            &[],
        ),
        (usual, json!({ "scope": "memory:read\tmemory:write" }), &[]),
        (usual, json!({ "scope": "" }), &[]),
        (usual, json!({ "scope": 7 }), &[]),
        (
            usual,
            json!({ "scope": ["memory:read", 7, "openid"] }),
            READ,
        ),
        (usual, json!({ "scope": ["memory:read memory:write"] }), &[]),
        (usual, json!({ "scp": "memory:read" }), READ),
        (
            usual,
            json!({ "scp": ["memory:read", "memory:write"] }),
            BOTH,
        ),
        (
            usual,
            json!({ "scope": "openid", "scp": "memory:admin" }),
            &[],
        ),
        (bare, json!({ "scope": "read memory:write" }), READ),
        (
            roles,
            json!({ "scope": "memory:admin", "realm_access": { "roles": ["memory:read"] } }),
            READ,
        ),
        (
            roles,
            json!({ "realm_access.roles": ["memory:read"], "realm_access": { "roles": ["memory:write"] } }),
            READ,
        ),
        (roles, json!({ "realm_access": { "roles": {} } }), &[]),
        (roles, json!({ "realm_access": { "roles": [] } }), &[]),
        (roles, json!({ "realm_access": {} }), BOTH),
        (roles, json!({ "realm_access": "roles" }), BOTH),
        (roles, json!({ "scope": "memory:read" }), BOTH),
    ];
    let desk = Desk::new();
    for (change, claims, scopes) in rows {
        assert_eq!(
            desk.identity(change, &claims).principal.scopes,
            Scopes::of(scopes),
            "{claims}"
        );
    }
}

#[test]
fn a_token_must_name_its_bearer() {
    let usual: Change = |_| ();
    let id: Change = |options| options.subject_claim = "https://example.org/user.id".to_owned();
    let nested: Change = |options| options.subject_claim = "user.id.text".to_owned();
    let longest = "ä".repeat(256);
    let rows = [
        (usual, json!({ "sub": "ann" }), "ann"),
        (usual, json!({ "sub": " ann " }), " ann "),
        (usual, json!({ "sub": "Local" }), "Local"),
        (usual, json!({ "sub": longest }), &longest),
        (id, json!({ "https://example.org/user.id": "bob" }), "bob"),
        (
            nested,
            json!({ "user": { "id": { "text": "eve" } } }),
            "eve",
        ),
    ];
    let desk = Desk::new();
    for (change, claims, subject) in rows {
        assert_eq!(
            desk.identity(change, &claims).principal.subject.as_deref(),
            Some(subject),
            "{claims}"
        );
    }
    let nameless = [
        (usual, json!({ "sub": null })),
        (usual, json!({ "sub": "" })),
        (usual, json!({ "sub": " \u{a0}" })),
        (usual, json!({ "sub": 7 })),
        (usual, json!({ "sub": ["ann"] })),
        (usual, json!({ "sub": "a\nb" })),
        (usual, json!({ "sub": "a\u{2028}b" })),
        (usual, json!({ "sub": "a\u{0}" })),
        (usual, json!({ "sub": format!("{longest}x") })),
        (id, json!({ "https://example.org/user": { "id": "bob" } })),
        (nested, json!({ "user": { "id": "eve" } })),
        (nested, json!({ "user": ["id", "text"] })),
    ];
    for (change, claims) in nameless {
        desk.refused(change, &claims, "names no subject");
    }
    // That is the local user.
    for (change, claims) in [
        (usual, json!({ "sub": "local" })),
        (nested, json!({ "user": { "id": { "text": "local" } } })),
    ] {
        desk.refused(
            change,
            &claims,
            "`local` is reserved for the person at the machine",
        );
    }
    for subject in ["anonymous", "wiped-0123456789abcdef0123456789abcdef"] {
        desk.refused(
            usual,
            &json!({ "sub": subject }),
            "stands for callers without a name",
        );
    }
}

#[test]
fn an_actor_is_a_name_for_people() {
    let usual: Change = |_| ();
    let own: Change = |options| options.actor_claims = vec!["who.name".to_owned()];
    let none: Change = |options| options.actor_claims = Vec::new();
    let rows = [
        (usual, json!({}), None),
        (
            usual,
            json!({ "email": "ann@people.example", "preferred_username": "ann" }),
            Some("ann@people.example"),
        ),
        (
            usual,
            json!({ "email": " ", "preferred_username": "ann" }),
            Some("ann"),
        ),
        (
            usual,
            json!({ "email": 7, "preferred_username": "ann" }),
            Some("ann"),
        ),
        (
            usual,
            json!({ "email": "a\r\nb", "preferred_username": "ann" }),
            Some("ann"),
        ),
        (usual, json!({ "email": "x".repeat(257) }), None),
        (usual, json!({ "name": "Ann" }), None),
        (
            own,
            json!({ "email": "ann@people.example", "who": { "name": "Ann" } }),
            Some("Ann"),
        ),
        (none, json!({ "email": "ann@people.example" }), None),
    ];
    let desk = Desk::new();
    for (change, claims, actor) in rows {
        assert_eq!(
            desk.identity(change, &claims).principal.actor.as_deref(),
            actor,
            "{claims}"
        );
    }
}

#[test]
fn a_claim_names_the_space_if_it_is_to() {
    let usual: Change = |_| ();
    let by_claim: Change = |options| options.space_claim = Some("org.team".to_owned());
    let rows = [
        (usual, json!({ "org": { "team": "red" } }), "main"),
        (by_claim, json!({ "org": { "team": "red" } }), "red"),
        (
            by_claim,
            json!({ "org.team": "blue", "org": { "team": "red" } }),
            "blue",
        ),
    ];
    let desk = Desk::new();
    for (change, claims, space) in rows {
        assert_eq!(
            desk.identity(change, &claims).space.as_str(),
            space,
            "{claims}"
        );
    }
    let elsewhere = [
        json!({}),
        json!({ "org": "red" }),
        json!({ "org": { "team": "" } }),
        json!({ "org": { "team": 7 } }),
        json!({ "org": { "team": "r\ned" } }),
        json!({ "org": { "team": "x".repeat(257) } }),
    ];
    for claims in elsewhere {
        desk.refused(by_claim, &claims, "names no space");
    }
}
