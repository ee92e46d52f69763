//! The contract of tokens.

use loci_core::{ErrorCode, Scope, Scopes, Token};

use super::MakeStore;
use super::examples::{NOW, space};

pub(super) fn token(id: &str, secret: u8) -> Token {
    Token {
        id: id.to_owned(),
        hash: [secret; 32],
        space: space("main"),
        subject: "ann".to_owned(),
        scopes: Scopes::of(&[Scope::Read, Scope::Write]),
        created_at: NOW,
        expires_at: None,
        revoked_at: None,
    }
}

pub(super) fn a_token_comes_back_as_it_was_added(make: MakeStore<'_>) {
    let store = make();
    assert_eq!(store.tokens(), Ok(Vec::new()));
    let newer = Token {
        created_at: NOW.plus_seconds(1),
        expires_at: Some(NOW),
        ..token("a", 1)
    };
    let older = Token {
        space: space("other"),
        scopes: Scopes::of(&[Scope::Admin]),
        ..token("c", 2)
    };
    let as_old = Token {
        scopes: Scopes::of(&[]),
        revoked_at: Some(NOW),
        ..token("b", 3)
    };
    for token in [&newer, &older, &as_old] {
        store.add_token(token).expect("the token is added");
    }
    assert_eq!(store.tokens(), Ok(vec![as_old, older.clone(), newer]));
    assert_eq!(store.token_by_hash(&[2; 32]), Ok(Some(older)));
    assert_eq!(store.token_by_hash(&[9; 32]), Ok(None));
}

pub(super) fn a_token_is_added_once(make: MakeStore<'_>) {
    let store = make();
    store.add_token(&token("a", 1)).expect("the token is added");
    for taken in [token("a", 2), token("b", 1)] {
        assert_eq!(
            store.add_token(&taken).expect_err("it is taken").code,
            ErrorCode::Conflict
        );
    }
    assert_eq!(store.tokens(), Ok(vec![token("a", 1)]));
}

pub(super) fn a_revocation_keeps_its_first_moment(make: MakeStore<'_>) {
    let store = make();
    store.add_token(&token("a", 1)).expect("the token is added");
    store.revoke_token("a", NOW).expect("the token is revoked");
    store
        .revoke_token("a", NOW.plus_seconds(5))
        .expect("revoking twice is no error");
    let revoked = Token {
        revoked_at: Some(NOW),
        ..token("a", 1)
    };
    assert_eq!(store.token_by_hash(&[1; 32]), Ok(Some(revoked)));
    assert_eq!(
        store
            .revoke_token("b", NOW)
            .expect_err("there is none")
            .code,
        ErrorCode::NotFound
    );
}
