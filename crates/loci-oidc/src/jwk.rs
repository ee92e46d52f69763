//! The provider's keys (RFC 7517), as far as they can verify signatures here.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use ring::digest::{SHA256, digest};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents,
    UnparsedPublicKey,
};
use serde::Deserialize;
use serde_json::Value;

use crate::algorithm::Algorithm;
use crate::json;
use crate::jws::Jws;

/// The largest number of keys of one provider; a larger set is refused.
const KEYS_MAX: usize = 100;
/// The number of tokens that one set caches; then it clears the cache.
const SIGNED_MAX: usize = 1_024;
/// Bits of an RSA modulus (RFC 7518, section 3.3; the upper limit is ring's).
const RSA_BITS: std::ops::RangeInclusive<usize> = 2048..=8192;

/// The document as it is published. An invalid key must not affect the others.
#[derive(Deserialize)]
pub(crate) struct JwkSet {
    keys: Vec<Value>,
}

/// The relevant members of one key.
#[derive(Deserialize)]
struct Jwk {
    kty: String,
    kid: Option<String>,
    #[serde(rename = "use")]
    usage: Option<String>,
    key_ops: Option<Vec<String>>,
    alg: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

/// A key that can verify signatures.
pub(crate) struct Key {
    id: Option<String>,
    public: PublicKey,
}

enum PublicKey {
    Rsa(RsaPublicKeyComponents<Vec<u8>>),
    P256(UnparsedPublicKey<Vec<u8>>),
    Ed25519(UnparsedPublicKey<Vec<u8>>),
}

impl Key {
    /// Returns the key, if it is for signatures of an accepted algorithm.
    fn of(jwk: Jwk) -> Option<Self> {
        let is_for_signatures = jwk.usage.as_deref().is_none_or(|usage| usage == "sig")
            && jwk
                .key_ops
                .as_ref()
                .is_none_or(|operations| operations.iter().any(|operation| operation == "verify"));
        let public = match (jwk.kty.as_str(), jwk.crv.as_deref()) {
            ("RSA", _) => {
                let (n, e) = (unsigned(jwk.n?)?, unsigned(jwk.e?)?);
                let bits = 8 * n.len() - n.first()?.leading_zeros() as usize;
                RSA_BITS
                    .contains(&bits)
                    .then_some(PublicKey::Rsa(RsaPublicKeyComponents { n, e }))
            }
            ("EC", Some("P-256")) => {
                // The uncompressed form of a point (SEC 1, section 2.3.3).
                let point = [vec![4], bytes_32(&jwk.x?)?, bytes_32(&jwk.y?)?].concat();
                Some(PublicKey::P256(UnparsedPublicKey::new(
                    &ECDSA_P256_SHA256_FIXED,
                    point,
                )))
            }
            ("OKP", Some("Ed25519")) => Some(PublicKey::Ed25519(UnparsedPublicKey::new(
                &ED25519,
                bytes_32(&jwk.x?)?,
            ))),
            _ => None,
        }?;
        let key = Key {
            id: jwk.kid,
            public,
        };
        let fits = jwk
            .alg
            .is_none_or(|name| Algorithm::from_name(&name) == Some(key.algorithm()));
        (is_for_signatures && fits).then_some(key)
    }

    fn algorithm(&self) -> Algorithm {
        match &self.public {
            PublicKey::Rsa(_) => Algorithm::Rs256,
            PublicKey::P256(_) => Algorithm::Es256,
            PublicKey::Ed25519(_) => Algorithm::Ed25519,
        }
    }

    /// Returns true if the signature of a message is by this key.
    fn has_signed(&self, message: &[u8], signature: &[u8]) -> bool {
        match &self.public {
            PublicKey::Rsa(key) => key.verify(&RSA_PKCS1_2048_8192_SHA256, message, signature),
            PublicKey::P256(key) | PublicKey::Ed25519(key) => key.verify(message, signature),
        }
        .is_ok()
    }
}

/// Decodes an unsigned number, without the leading zeros that some providers write.
fn unsigned(base64url: String) -> Option<Vec<u8>> {
    let bytes = json::bytes(&base64url)?;
    let start = bytes.iter().position(|byte| *byte != 0)?;
    Some(bytes[start..].to_vec())
}

fn bytes_32(base64url: &str) -> Option<Vec<u8>> {
    json::bytes(base64url).filter(|bytes| bytes.len() == 32)
}

/// The keys of a provider at one moment. A set is immutable: a new one replaces it, together with
/// its cache.
pub(crate) struct KeySet {
    keys: Vec<Key>,
    /// The SHA-256 of tokens with valid signatures. A client sends the same token with each call,
    /// and checking its signature takes 20 (RS256) to 40 microseconds (ES256), everything else two.
    signed: Mutex<HashSet<[u8; 32]>>,
}

/// The outcome of a signature check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The token is signed by the right key.
    Signed,
    /// The token is not signed by the right key.
    NotSigned,
    /// The token names a key that is not in the set.
    UnknownKey,
    /// No key fits the token, or several do and it names none.
    NoKey,
}

impl KeySet {
    /// Returns the usable keys of a document.
    ///
    /// # Errors
    /// The problem, in words that follow the document's URL: too many keys, or no usable one.
    pub(crate) fn of(document: JwkSet) -> Result<Self, String> {
        let count = document.keys.len();
        if count > KEYS_MAX {
            return Err(format!("has {count} keys, more than {KEYS_MAX}"));
        }
        let jwks = document
            .keys
            .into_iter()
            .filter_map(|key| serde_json::from_value(key).ok());
        let keys: Vec<Key> = jwks.filter_map(Key::of).collect();
        if keys.is_empty() {
            return Err(format!(
                "has no key that can be used, of {count}: none is for signatures by RS256 (of 2048 bits or more), \
                 ES256 or EdDSA (Ed25519)"
            ));
        }
        Ok(KeySet {
            keys,
            signed: Mutex::default(),
        })
    }

    /// Returns the number of keys.
    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    /// Checks the signature of a token by the key that it names or, if it names none, by the only
    /// one that fits its algorithm.
    pub(crate) fn judge(&self, jws: &Jws<'_>) -> Verdict {
        let mut fitting = self
            .keys
            .iter()
            .filter(|key| key.algorithm() == jws.algorithm);
        let key = if let Some(id) = &jws.key_id {
            let is_named = |key: &&Key| key.id.as_ref() == Some(id);
            if !self.keys.iter().any(|key| is_named(&key)) {
                return Verdict::UnknownKey;
            }
            fitting.find(is_named)
        } else {
            fitting.next().filter(|_| fitting.next().is_none())
        };
        match key {
            Some(key) if self.has_signed(key, jws) => Verdict::Signed,
            Some(_) => Verdict::NotSigned,
            None => Verdict::NoKey,
        }
    }

    fn has_signed(&self, key: &Key, jws: &Jws<'_>) -> bool {
        let mut hash = [0; 32];
        hash.copy_from_slice(digest(&SHA256, jws.token.as_bytes()).as_ref());
        let signed = || self.signed.lock().unwrap_or_else(PoisonError::into_inner);
        if signed().contains(&hash) {
            return true;
        }
        if !key.has_signed(jws.message, &jws.signature) {
            return false;
        }
        let mut signed = signed();
        if signed.len() >= SIGNED_MAX {
            signed.clear();
        }
        signed.insert(hash);
        true
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The examples of RFC 7515, appendices A.2 and A.3, and of RFC 8037, appendix A.4.
    #[test]
    fn published_examples_hold() {
        let keys = json!({ "keys": [
            { "kid": "a", "kty": "RSA", "e": "AQAB", "n": concat!(
                "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL",
                "-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9",
                "e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAc",
                "o9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ",
            ) },
            { "kid": "b", "kty": "EC", "crv": "P-256", "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
              "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0" },
            { "kid": "c", "kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" },
        ] });
        let keys = KeySet::of(serde_json::from_value(keys).unwrap())
            .unwrap_or_else(|problem| panic!("{problem}"));
        let payload = "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
        let rows = [
            (
                "a",
                format!("eyJhbGciOiJSUzI1NiJ9.{payload}"),
                concat!(
                    "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbd",
                    "s9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0Gar",
                    "ZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9",
                    "Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw",
                ),
            ),
            (
                "b",
                format!("eyJhbGciOiJFUzI1NiJ9.{payload}"),
                "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q",
            ),
            (
                "c",
                "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc".to_owned(),
                "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg",
            ),
        ];
        for (id, message, signature) in rows {
            let token = format!("{message}.{signature}");
            let mut jws = Jws::parse(&token, &["JWT".to_owned()]).unwrap();
            // Twice, by the key and from the cache.
            assert_eq!(
                [keys.judge(&jws), keys.judge(&jws)],
                [Verdict::Signed; 2],
                "{id}"
            );
            jws.key_id = Some(id.to_owned());
            assert_eq!(keys.judge(&jws), Verdict::Signed, "{id}");
            jws.key_id = Some("d".to_owned());
            assert_eq!(keys.judge(&jws), Verdict::UnknownKey, "{id}");
        }
    }

    #[test]
    fn memory_is_bounded_and_knows_no_forged_token() {
        let key = json!({ "kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" });
        let keys =
            KeySet::of(JwkSet { keys: vec![key] }).unwrap_or_else(|problem| panic!("{problem}"));
        let token = concat!(
            "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.",
            "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg",
        );
        let forged = token.replacen("RXhh", "RXhi", 1);
        let judge = |token: &str| keys.judge(&Jws::parse(token, &["JWT".to_owned()]).unwrap());
        assert_eq!([judge(&forged), judge(&forged)], [Verdict::NotSigned; 2]);
        assert_eq!(keys.signed.lock().unwrap().len(), 0);
        let others = (0..SIGNED_MAX as u32).map(|number| {
            let mut hash = [0; 32];
            hash[..4].copy_from_slice(&number.to_le_bytes());
            hash
        });
        keys.signed.lock().unwrap().extend(others);
        assert_eq!([judge(token), judge(token)], [Verdict::Signed; 2]);
        assert_eq!(keys.signed.lock().unwrap().len(), 1);
    }
}
