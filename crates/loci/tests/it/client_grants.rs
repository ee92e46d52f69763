//! Clients that a person let in by OAuth: what each step changed holds, and is in the audit log,
//! even if loci is killed at once.

use serde_json::{Value, json};

use crate::acknowledged::{Scene, between, body, logged};

const CALLBACK: &str = "http://127.0.0.1/callback";
const FORM: &str = "Content-Type: application/x-www-form-urlencoded\r\n";
/// A verifier with its challenge (RFC 7636, appendix B).
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

/// A client that a person lets in, with the secrets that it has so far.
struct Client<'a> {
    scene: &'a Scene,
    id: String,
    code: String,
}

impl<'a> Client<'a> {
    /// Registers a client, signs in as the owner, and lets it in.
    fn let_in(scene: &'a Scene) -> Self {
        let metadata = json!({"client_name": "Tests", "redirect_uris": [CALLBACK]}).to_string();
        let headers = "Content-Type: application/json\r\n";
        let (status, reply) = scene.server.post("/register", headers, &metadata);
        assert_eq!(status, 201, "{reply}");
        let id = body(&reply)["client_id"].as_str().unwrap().to_owned();
        let asked = format!(
            "response_type=code&client_id={id}&redirect_uri=http%3A%2F%2F127.0.0.1%2Fcallback&state=s\
             &code_challenge={CHALLENGE}&code_challenge_method=S256"
        );
        let cookie = format!("Cookie: {}\r\n", scene.cookie());
        let (status, page) = scene
            .server
            .get_with(&cookie, &format!("/authorize?{asked}"));
        assert_eq!(status, 200, "{page}");
        let csrf = between(&page, "name=\"csrf\" value=\"", "\"");
        let headers = format!("{cookie}{FORM}Sec-Fetch-Site: same-origin\r\n");
        let decided = format!("{asked}&csrf={csrf}&decision=allow");
        let (status, sent) = scene.server.post("/authorize", &headers, &decided);
        assert_eq!(status, 303, "{sent}");
        let code = between(&sent, "callback?code=", "&").to_owned();
        Client { scene, id, code }
    }

    /// Sends a form; returns the status and the answer, which is empty for a revocation.
    fn post(&self, path: &str, fields: &str) -> (u16, Value) {
        let fields = format!("{fields}&client_id={}", self.id);
        let (status, reply) = self.scene.server.post(path, FORM, &fields);
        let (_, text) = reply.split_once("\r\n\r\n").unwrap();
        (status, serde_json::from_str(text).unwrap_or_default())
    }

    fn redeem(&self, verifier: &str) -> (u16, Value) {
        let fields = format!(
            "grant_type=authorization_code&code={}&redirect_uri=http%3A%2F%2F127.0.0.1%2Fcallback\
             &code_verifier={verifier}",
            self.code
        );
        self.post("/token", &fields)
    }

    /// Redeems the code; returns the refresh token.
    fn redeemed(&self) -> String {
        let (status, given) = self.redeem(VERIFIER);
        assert_eq!(status, 200, "{given}");
        given["refresh_token"].as_str().unwrap().to_owned()
    }

    fn refresh(&self, token: &str) -> (u16, Value) {
        let fields = format!("grant_type=refresh_token&refresh_token={token}");
        self.post("/token", &fields)
    }
}

/// Does a step; returns its status.
type Step = fn(&Client<'_>) -> u16;

/// Each step that changes a grant: its name in the log, how it is made, its status, and whether the
/// grant is good after it.
const STEPS: &[(&str, Step, u16, bool)] = &[
    ("client_approve", |_| 303, 303, true),
    (
        "client_redeem",
        |client| client.redeem(VERIFIER).0,
        200,
        true,
    ),
    (
        "client_renew",
        |client| client.refresh(&client.redeemed()).0,
        200,
        true,
    ),
    (
        "client_reuse",
        |client| {
            client.redeemed();
            client.redeem(VERIFIER).0
        },
        400,
        false,
    ),
    (
        "client_refuse",
        |client| client.redeem(&VERIFIER.replace('d', "e")).0,
        400,
        false,
    ),
    (
        "client_revoke",
        |client| {
            let token = client.redeemed();
            client.post("/revoke", &format!("token={token}")).0
        },
        200,
        false,
    ),
    (
        "token_revoke",
        |client| {
            client.redeemed();
            let id = grant(client.scene)["id"].as_str().unwrap().to_owned();
            let path = format!("/tokens/{id}/revoke");
            client.scene.change(&path, json!({})).0
        },
        200,
        false,
    ),
];

/// Returns the token of the only grant, as another process lists it.
fn grant(scene: &Scene) -> Value {
    let tokens = scene.place.rows(&["token", "list"]);
    let is_grant = |token: &&Value| token["client"].is_string();
    let mut grants = tokens.as_array().unwrap().iter().filter(is_grant);
    let grant = grants
        .next()
        .unwrap_or_else(|| panic!("no grant: {tokens}"));
    assert!(grants.next().is_none(), "{tokens}");
    grant.clone()
}

#[test]
fn a_step_of_a_client_is_logged_and_holds_when_it_is_acknowledged() {
    for (tool, step, expected, is_good) in STEPS {
        let mut scene = Scene::with(&["--oauth"]);
        let client = Client::let_in(&scene);
        let status = step(&client);
        scene.server.kill();
        assert_eq!(status, *expected, "{tool}");
        let entries = logged(&scene.place);
        assert!(entries.contains(&(*tool).to_owned()), "{tool}: {entries:?}");
        let grant = grant(&scene);
        assert_eq!(grant["valid"], *is_good, "{tool}: {grant}");
        assert_eq!(grant["client"], "Tests (127.0.0.1)");
    }
}
