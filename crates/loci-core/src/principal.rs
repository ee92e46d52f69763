//! Who asks, and what that allows.

use crate::{Error, ErrorCode, Result, Space, Visibility};

/// What a caller may do. `admin` includes the two others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// Recall, list and read.
    Read,
    /// Store, change and delete.
    Write,
    /// Everything in the space, whoever owns it.
    Admin,
}

impl Scope {
    /// Every scope, weakest first.
    pub const ALL: [Scope; 3] = [Scope::Read, Scope::Write, Scope::Admin];

    /// The scope as people and tokens name it.
    pub const fn name(self) -> &'static str {
        match self {
            Scope::Read => "read",
            Scope::Write => "write",
            Scope::Admin => "admin",
        }
    }

    /// The scope with that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Scope::ALL.into_iter().find(|scope| scope.name() == name)
    }
}

/// A set of scopes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Scopes(u8);

impl Scopes {
    /// The set with these scopes.
    pub fn of(scopes: &[Scope]) -> Self {
        Scopes(scopes.iter().fold(0, |set, scope| set | 1 << *scope as u8))
    }

    /// Whether the set allows what `scope` stands for.
    pub fn allow(self, scope: Scope) -> bool {
        let has = |scope: Scope| self.0 & (1 << scope as u8) != 0;
        has(scope) || has(Scope::Admin)
    }

    /// The scopes that were given, weakest first.
    pub fn iter(self) -> impl Iterator<Item = Scope> {
        Scope::ALL.into_iter().filter(move |scope| self.0 & (1 << *scope as u8) != 0)
    }
}

/// Someone who calls: a subject with a token, an anonymous caller, or the local user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// The name under which it owns records; none for an anonymous caller.
    pub subject: Option<String>,
    /// What it may do.
    pub scopes: Scopes,
}

impl Principal {
    /// The person at this machine (stdio, the command line): subject `local`, scope `admin`.
    pub fn local() -> Self {
        Principal { subject: Some("local".to_owned()), scopes: Scopes::of(&[Scope::Admin]) }
    }

    /// A caller that needs no token (HTTP with `--no-auth`): no subject, may read and write.
    pub fn anonymous() -> Self {
        Principal { subject: None, scopes: Scopes::of(&[Scope::Read, Scope::Write]) }
    }
}

/// A principal in its space. It comes from the transport alone; no argument grants access.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The space that the caller's token belongs to.
    pub space: Space,
    /// Who calls.
    pub principal: Principal,
}

impl Caller {
    /// The person at this machine, in the default space.
    pub fn local() -> Self {
        Caller { space: Space::default(), principal: Principal::local() }
    }

    /// The reading side of the access rule for this caller.
    pub fn reader(&self) -> Reader {
        Reader { subject: self.principal.subject.clone(), everything: self.principal.scopes.allow(Scope::Admin) }
    }

    /// This caller in the part of the user whom the argument `argument` names: it reads and writes
    /// what that user does, and no more. A subject may act for itself, an `admin` for anyone in its
    /// space; an anonymous caller is trusted, since only a server without authentication has any.
    ///
    /// # Errors
    /// `forbidden` if it is somebody else's name.
    pub fn acting_for(&self, argument: &str, user: &str) -> Result<Caller> {
        let Principal { subject, scopes } = &self.principal;
        if !scopes.allow(Scope::Admin)
            && let Some(subject) = subject.as_ref().filter(|subject| *subject != user)
        {
            let message = format!(
                "`{argument}` must be `{subject}`, whom your token was made for; only a token with the scope `admin` acts for others"
            );
            return Err(Error::new(ErrorCode::Forbidden, message));
        }
        let allowed: Vec<Scope> =
            [Scope::Read, Scope::Write].into_iter().filter(|scope| scopes.allow(*scope)).collect();
        let principal = Principal { subject: Some(user.to_owned()), scopes: Scopes::of(&allowed) };
        Ok(Caller { space: self.space.clone(), principal })
    }

    /// Whether the caller may change or delete a record: its own, a common one, an ownerless one
    /// if it is anonymous, any one if it is `admin`. The scope `write` is needed besides.
    pub fn may_write(&self, owner: Option<&str>, visibility: Visibility) -> bool {
        let principal = &self.principal;
        if !principal.scopes.allow(Scope::Write) {
            return false;
        }
        principal.scopes.allow(Scope::Admin)
            || visibility == Visibility::Common
            || owner == principal.subject.as_deref()
    }
}

/// The access rule as part of a query: whose records may be candidates at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reader {
    /// The subject that asks; none for an anonymous caller.
    pub subject: Option<String>,
    /// Whether the rule lets everything pass (`admin`).
    pub everything: bool,
}

impl Reader {
    /// Whether a record with this owner and visibility may be read: common and shared ones,
    /// ownerless ones, and one's own.
    pub fn may_read(&self, owner: Option<&str>, visibility: Visibility) -> bool {
        self.everything || visibility != Visibility::Private || owner.is_none() || owner == self.subject.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(subject: Option<&str>, scopes: &[Scope]) -> Caller {
        let principal = Principal { subject: subject.map(str::to_owned), scopes: Scopes::of(scopes) };
        Caller { space: Space::default(), principal }
    }

    #[test]
    fn a_private_record_is_its_owners_alone() {
        let ann = caller(Some("ann"), &[Scope::Read, Scope::Write]);
        let bob = caller(Some("bob"), &[Scope::Read, Scope::Write]);
        let nobody = caller(None, &[Scope::Read, Scope::Write]);
        let admin = caller(Some("root"), &[Scope::Admin]);
        let rows = [(&ann, true), (&bob, false), (&nobody, false), (&admin, true)];
        for (caller, expected) in rows {
            assert_eq!(caller.reader().may_read(Some("ann"), Visibility::Private), expected);
            assert_eq!(caller.may_write(Some("ann"), Visibility::Private), expected);
        }
    }

    #[test]
    fn an_argument_names_nobody_but_the_caller() {
        let ann = caller(Some("ann"), &[Scope::Read]);
        let root = caller(Some("root"), &[Scope::Admin]);
        let nobody = caller(None, &[Scope::Read, Scope::Write]);
        let both = Scopes::of(&[Scope::Read, Scope::Write]);
        let rows = [
            (&ann, "ann", Some(Scopes::of(&[Scope::Read]))),
            (&ann, "bob", None),
            (&root, "bob", Some(both)),
            (&nobody, "bob", Some(both)),
        ];
        for (caller, user, scopes) in rows {
            let expected = scopes.map(|scopes| Principal { subject: Some(user.to_owned()), scopes });
            assert_eq!(caller.acting_for("user_id", user).ok().map(|acting| acting.principal), expected);
        }
    }

    #[test]
    fn a_shared_record_is_read_by_all_and_written_by_its_owner() {
        let bob = caller(Some("bob"), &[Scope::Read, Scope::Write]);
        assert!(bob.reader().may_read(Some("ann"), Visibility::Shared));
        assert!(!bob.may_write(Some("ann"), Visibility::Shared));
    }

    #[test]
    fn reading_alone_never_writes() {
        let ann = caller(Some("ann"), &[Scope::Read]);
        for visibility in [Visibility::Private, Visibility::Shared, Visibility::Common] {
            assert!(!ann.may_write(Some("ann"), visibility));
        }
    }
}
