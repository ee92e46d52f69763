//! The signature algorithms.

/// The accepted algorithms; the names in tokens and keys only choose among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Algorithm {
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    Rs256,
    /// ECDSA over P-256 with SHA-256.
    Es256,
    /// Ed25519.
    Ed25519,
}

impl Algorithm {
    /// Returns the algorithm by its name in `alg` (RFC 7518, section 3.1; RFC 8037 and, for the
    /// second name, RFC 9864).
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        match name {
            "RS256" => Some(Algorithm::Rs256),
            "ES256" => Some(Algorithm::Es256),
            "EdDSA" | "Ed25519" => Some(Algorithm::Ed25519),
            _ => None,
        }
    }
}
