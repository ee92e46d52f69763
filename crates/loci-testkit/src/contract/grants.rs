//! Tokens that clients renew by OAuth.

use loci_core::{ClientGrant, ErrorCode, Scope, Scopes, Token};

use super::examples::{NOW, granted_token, token};
use super::store::{MakeStore, StoreAndTokens};

/// Returns a token with the next hash and secret, and without a code.
fn renewed(token: &Token, hash: u8) -> Token {
    let grant = token.grant.as_ref().expect("the token is of a client");
    Token {
        hash: [hash; 32],
        expires_at: Some(NOW.plus_seconds(3_600)),
        grant: Some(ClientGrant {
            secret: [hash; 32],
            renewable_until: NOW.plus_seconds(86_400),
            code: None,
            ..grant.clone()
        }),
        ..token.clone()
    }
}

fn add(store: &dyn StoreAndTokens, token: &Token) {
    store.add_token(token).expect("the store can be written");
}

fn by_hash(store: &dyn StoreAndTokens, hash: u8) -> Option<Token> {
    let found = store.token_by_hash(&[hash; 32]);
    found.expect("the store can be read")
}

fn by_family(store: &dyn StoreAndTokens, family: u8) -> Option<Token> {
    let found = store.token_by_family(&[family; 32]);
    found.expect("the store can be read")
}

fn renew(store: &dyn StoreAndTokens, secret: u8, next: &Token) -> bool {
    let done = store.renew_token(&[secret; 32], next);
    done.expect("the store can be written")
}

/// A renewal replaces the token in place: what was good before opens nothing, and the family leads
/// to the token as long as it is there, so that a secret that comes again is known.
pub(super) fn a_renewed_token_takes_the_place_of_the_one_before(make: MakeStore<'_>) {
    let store = &*make();
    let first = granted_token("grant", 1);
    add(store, &first);
    assert_eq!(by_family(store, 1), Some(first.clone()));
    let mut expected = first;
    for hash in 2..5 {
        let next = renewed(&expected, hash);
        // A renewal gives no more than the person allowed.
        let with_other_fields = Token {
            subject: "bob".to_owned(),
            scopes: Scopes::of(&[Scope::Admin]),
            created_at: NOW.plus_seconds(5),
            grant: next.grant.clone().map(|grant| ClientGrant {
                client_id: "https://other.example/id".to_owned(),
                resource: "https://other.example".to_owned(),
                parent: "another".to_owned(),
                ..grant
            }),
            ..next.clone()
        };
        assert!(!renew(store, hash, &with_other_fields), "an unknown secret");
        assert!(renew(store, hash - 1, &with_other_fields));
        assert!(!renew(store, hash - 1, &with_other_fields), "twice");
        expected = next;
        assert_eq!(by_hash(store, hash - 1), None);
        assert_eq!(by_hash(store, hash), Some(expected.clone()));
        assert_eq!(by_family(store, 1), Some(expected.clone()));
    }
    assert_eq!(store.tokens().expect("the store can be read"), [expected]);
}

/// Neither a hash, an id nor a family is of two tokens, and a refused renewal changes nothing.
pub(super) fn a_secret_is_of_one_grant(make: MakeStore<'_>) {
    let store = &*make();
    let (person, first) = (token("person", 9), granted_token("grant", 1));
    add(store, &person);
    add(store, &first);
    let mut same_family = granted_token("other", 2);
    if let Some(grant) = &mut same_family.grant {
        grant.family = [1; 32];
    }
    let mut same_hash = granted_token("other", 2);
    same_hash.hash = [9; 32];
    for taken in [granted_token("grant", 2), same_family, same_hash] {
        let refused = store.add_token(&taken).expect_err("it is taken");
        assert_eq!(refused.code, ErrorCode::Conflict, "{taken:?}");
    }
    let refused = store.renew_token(&[1; 32], &renewed(&first, 9));
    let refused = refused.expect_err("the hash is that of the person");
    assert_eq!(refused.code, ErrorCode::Conflict);
    assert_eq!(by_hash(store, 9), Some(person));
    assert_eq!(by_family(store, 1), Some(first));
}

/// A revocation of the token with which the person signed in ends every grant by it at once, and
/// nothing renews it.
pub(super) fn a_grant_ends_with_its_parent(make: MakeStore<'_>) {
    let store = &*make();
    add(store, &token("parent", 9));
    add(store, &token("other", 8));
    let grants = [1, 2].map(|hash| granted_token(&format!("grant {hash}"), hash));
    for grant in &grants {
        add(store, grant);
    }
    let (first, second) = (NOW.plus_seconds(1), NOW.plus_seconds(2));
    let revoke = |id: &str, now| store.revoke_token(id, now);
    revoke("grant 1", first).expect("the store can be written");
    revoke("parent", second).expect("the store can be written");
    let revoked_at = |family| by_family(store, family).and_then(|token| token.revoked_at);
    assert_eq!(revoked_at(1), Some(first), "the first revocation counts");
    assert_eq!(revoked_at(2), Some(second));
    for (secret, grant) in (1..).zip(&grants) {
        assert!(!renew(store, secret, &renewed(grant, 7)), "{}", grant.id);
    }
    assert_eq!(by_hash(store, 7), None);
    let other = by_hash(store, 8).and_then(|token| token.revoked_at);
    assert_eq!(other, None, "another token of the same person");
}

/// What can be renewed no more is removed, and nothing else is, e.g. no expired token of a person.
pub(super) fn grants_that_ended_are_removed(make: MakeStore<'_>) {
    let store = &*make();
    let mut expired = token("person", 9);
    expired.expires_at = Some(NOW.plus_seconds(-5));
    add(store, &expired);
    let mut later = granted_token("later", 2);
    if let Some(grant) = &mut later.grant {
        grant.renewable_until = NOW.plus_seconds(1);
    }
    add(store, &granted_token("now", 1));
    add(store, &later);
    let removed = |before| {
        let removed = store.remove_ended_grants(before);
        removed.expect("the store can be written")
    };
    assert_eq!(removed(NOW), 0, "it can be renewed until then");
    assert_eq!(removed(NOW.plus_seconds(1)), 1);
    assert_eq!(by_family(store, 1), None);
    assert_eq!(by_family(store, 2), Some(later));
    assert_eq!(by_hash(store, 9), Some(expired));
}
