//! Callers, their scopes and the access rules.

use crate::names::names;
use crate::{
    ANONYMOUS, COMMAND_LINE, Error, ErrorCode, Memory, Provenance, Result, SaidBy, Space,
    Visibility,
};

/// A permission of a caller. `admin` includes the two others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// Search, list and read.
    Read,
    /// Store, change and delete.
    Write,
    /// Everything in the space, of any owner.
    Admin,
}

names! {
    /// Every scope, weakest first.
    Scope, "in tokens and messages" {
        Read = "read",
        Write = "write",
        Admin = "admin",
    }
}

/// A set of scopes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Scopes(u8);

impl Scopes {
    /// Creates a set of these scopes.
    pub fn of(scopes: &[Scope]) -> Self {
        Scopes(scopes.iter().fold(0, |set, scope| set | 1 << *scope as u8))
    }

    /// Returns true if the set contains the scope, or `admin`.
    pub fn allow(self, scope: Scope) -> bool {
        let has = |scope: Scope| self.0 & (1 << scope as u8) != 0;
        has(scope) || has(Scope::Admin)
    }

    /// Returns the scopes in the set, weakest first.
    pub fn iter(self) -> impl Iterator<Item = Scope> {
        Scope::ALL
            .into_iter()
            .filter(move |scope| self.0 & (1 << *scope as u8) != 0)
    }
}

/// The subject of the local user.
pub const LOCAL: &str = "local";

/// The prefix of the pseudonym of a wiped user.
const PSEUDONYM_PREFIX: &str = "wiped-";
/// The number of characters after the prefix.
const PSEUDONYM_CHARACTERS: usize = 32;

/// Returns the pseudonym of a wiped user for these random bits.
pub fn pseudonym(random: u128) -> String {
    format!("{PSEUDONYM_PREFIX}{random:032x}")
}

/// Returns true if the name has the form of a pseudonym, under which a [wipe](crate::Store::wipe)
/// keeps what a user did to records that stay.
pub fn is_pseudonym(name: &str) -> bool {
    name.strip_prefix(PSEUDONYM_PREFIX)
        .is_some_and(|rest| rest.chars().count() == PSEUDONYM_CHARACTERS)
}

/// Returns true if no token may have the name as its subject, because it stands for anonymous
/// callers or for a wiped user.
pub fn is_reserved_subject(name: &str) -> bool {
    name == ANONYMOUS || is_pseudonym(name)
}

/// An identity that can call: a subject with a token, an anonymous caller, or the local user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// The name under which it owns records; `None` for an anonymous caller.
    pub subject: Option<String>,
    /// The display name from the token, if it differs from the subject.
    pub actor: Option<String>,
    /// Its scopes.
    pub scopes: Scopes,
}

impl Principal {
    /// Creates a principal for a subject with these scopes.
    pub fn new(subject: impl Into<String>, scopes: Scopes) -> Self {
        Principal {
            subject: Some(subject.into()),
            actor: None,
            scopes,
        }
    }

    /// Returns the local user (stdio, the command line): subject `local`, scope `admin`.
    pub fn local() -> Self {
        Principal::new(LOCAL, Scopes::of(&[Scope::Admin]))
    }

    /// Returns a caller without a token (HTTP with `--no-auth`): no subject, scopes `read` and
    /// `write`.
    pub fn anonymous() -> Self {
        Principal {
            subject: None,
            actor: None,
            scopes: Scopes::of(&[Scope::Read, Scope::Write]),
        }
    }
}

/// The strictness of ownership.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ownership {
    /// Everyone may write common records and read shared ones.
    #[default]
    Usual,
    /// Only the owner changes a record, even a common one, and an anonymous caller cannot read
    /// shared records.
    Strict,
}

/// A principal in its space. It comes only from the transport; no argument grants access.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The space that the caller's token belongs to.
    pub space: Space,
    /// The calling principal.
    pub principal: Principal,
    /// The tool set of the call, recorded in every memory that it stores.
    pub origin: &'static str,
    /// The strictness of ownership in that tool set.
    pub ownership: Ownership,
    /// True if the local user wants to see what others keep private, which is a deliberate step. Its
    /// scope `admin` does not suffice, because its agents send what they read to a model.
    pub all_users: bool,
    /// True if the subject is an unverified claim of an anonymous caller, which a server without
    /// authentication trusts. It owns only records that came in through the same tool set.
    pub is_claimed: bool,
    /// The session of the client, if the transport has one: on stdio, it ends with the pipe; over
    /// HTTP, it is the session that the server assigned.
    pub session: Option<String>,
    /// The name of the program that calls, for the audit log: see
    /// [`AuditEntry::client`](crate::AuditEntry::client).
    pub client: Option<String>,
    /// The public id of its token; `None` if it has no token of this installation.
    pub token: Option<String>,
    /// Whose words it stores, unless a tool knows better, e.g. by the role of a message.
    pub said_by: SaidBy,
}

impl Caller {
    /// Creates a caller for a principal, with `loci` as its tool set: an agent.
    pub fn new(space: Space, principal: Principal) -> Self {
        Caller {
            space,
            principal,
            origin: "loci",
            ownership: Ownership::Usual,
            all_users: false,
            is_claimed: false,
            session: None,
            client: None,
            token: None,
            said_by: SaidBy::Agent,
        }
    }

    /// Returns the local user in the default space, who sees what all users keep private: for work
    /// on the whole store.
    pub fn local() -> Self {
        Caller {
            all_users: true,
            ..Caller::local_person()
        }
    }

    /// Returns the local user in the default space, who sees what any user would see: for agents,
    /// hooks and commands.
    pub fn local_person() -> Self {
        Caller::new(Space::default(), Principal::local())
    }

    /// Returns the local user as the caller of the command line.
    pub fn command_line() -> Self {
        Caller {
            client: Some(COMMAND_LINE.to_owned()),
            said_by: SaidBy::User,
            ..Caller::local_person()
        }
    }

    /// Returns where the words come from that the caller stores.
    pub fn provenance(&self) -> Provenance {
        Provenance {
            said_by: self.said_by,
            program: self.client.clone(),
            session: self.session.clone(),
        }
    }

    /// Returns true if a wipe of the caller would remove the memory.
    pub fn owns(&self, memory: &Memory) -> bool {
        memory.owner == self.principal.subject && memory.goes_with_owner()
    }

    /// Returns the read access rule for this caller.
    pub fn reader(&self) -> Reader {
        let Principal {
            subject, scopes, ..
        } = &self.principal;
        Reader {
            subject: subject.clone(),
            everything: scopes.allow(Scope::Admin)
                && (self.all_users || subject.as_deref() != Some(LOCAL)),
            shared: subject.is_some() || self.ownership == Ownership::Usual,
            own_origin: self.is_claimed.then(|| self.origin.to_owned()),
        }
    }

    /// Returns this caller acting as the user that the argument `argument` names, with that user's
    /// read and write access and no more. A subject may act for itself, an `admin` for any user in
    /// its space. An anonymous caller may act for any user, because only a server without
    /// authentication has anonymous callers, but only on records that came in through the same tool
    /// set.
    ///
    /// # Errors
    /// `forbidden` if the name is that of another subject, or the pseudonym of a wiped user.
    pub fn acting_for(&self, argument: &str, user: &str) -> Result<Caller> {
        let Principal {
            subject,
            actor,
            scopes,
        } = &self.principal;
        if !scopes.allow(Scope::Admin)
            && let Some(subject) = subject.as_ref().filter(|subject| *subject != user)
        {
            let problem = format!(
                "must be `{subject}`, whom your token was made for; only a token with the scope `admin` acts for others"
            );
            return Err(Error::about_argument(
                ErrorCode::Forbidden,
                argument,
                problem,
            ));
        }
        if !scopes.allow(Scope::Admin) && is_pseudonym(user) {
            let problem =
                "is the pseudonym of a wiped user; only a token with the scope `admin` acts for it";
            return Err(Error::about_argument(
                ErrorCode::Forbidden,
                argument,
                problem,
            ));
        }
        let allowed: Vec<Scope> = [Scope::Read, Scope::Write]
            .into_iter()
            .filter(|scope| scopes.allow(*scope))
            .collect();
        let actor = actor.clone().filter(|_| subject.as_deref() == Some(user));
        let principal = Principal {
            subject: Some(user.to_owned()),
            actor,
            scopes: Scopes::of(&allowed),
        };
        Ok(Caller {
            principal,
            is_claimed: subject.is_none(),
            ..self.clone()
        })
    }

    /// Returns true if the caller has the scope `write` and may change or delete the record: its
    /// own, an ownerless one if it is anonymous, a common one unless ownership is strict, any
    /// record if it is `admin`.
    pub fn may_write(&self, memory: &Memory) -> bool {
        let Principal {
            subject, scopes, ..
        } = &self.principal;
        if !scopes.allow(Scope::Write) {
            return false;
        }
        scopes.allow(Scope::Admin)
            || (memory.visibility == Visibility::Common && self.ownership == Ownership::Usual)
            || (memory.owner == *subject && (!self.is_claimed || memory.origin == self.origin))
    }
}

/// The read access rule as part of a query: it limits the candidates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reader {
    /// The subject of the query; `None` for an anonymous caller.
    pub subject: Option<String>,
    /// True if all records match (`admin`, but of the local user only if it asks for that).
    pub everything: bool,
    /// True if records that others share match.
    pub shared: bool,
    /// The tool set through which a record must have come in to count as the subject's own; any if
    /// `None`.
    pub own_origin: Option<String>,
}

impl Reader {
    /// Returns a reader of all records, for work on behalf of no caller.
    pub fn everything() -> Self {
        Reader {
            everything: true,
            ..Reader::of(None)
        }
    }

    /// Returns the rule for a subject, or for an anonymous caller, under the usual ownership.
    pub fn of(subject: Option<&str>) -> Self {
        Reader {
            subject: subject.map(str::to_owned),
            everything: false,
            shared: true,
            own_origin: None,
        }
    }

    /// Returns true if the record may be read: a common one, a shared one if those match, an
    /// ownerless one, or the subject's own.
    pub fn may_read(&self, memory: &Memory) -> bool {
        self.everything
            || memory.visibility == Visibility::Common
            || (memory.visibility == Visibility::Shared && self.shared)
            || memory.owner.is_none()
            || (memory.owner == self.subject
                && self
                    .own_origin
                    .as_ref()
                    .is_none_or(|origin| memory.origin == *origin))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MemoryId, Timestamp};

    const BOTH: [Scope; 2] = [Scope::Read, Scope::Write];

    fn caller(subject: Option<&str>, scopes: &[Scope]) -> Caller {
        let principal = Principal {
            subject: subject.map(str::to_owned),
            actor: None,
            scopes: Scopes::of(scopes),
        };
        Caller::new(Space::default(), principal)
    }

    fn memory(owner: Option<&str>, visibility: Visibility) -> Memory {
        let memory = Memory::new(
            Space::default(),
            MemoryId::new("m"),
            "text",
            "fact",
            Timestamp::MIN,
        );
        Memory {
            owner: owner.map(str::to_owned),
            visibility,
            origin: "tools".to_owned(),
            ..memory
        }
    }

    /// Checks which callers may read and write a record, through a usual and through a strict tool
    /// set.
    #[test]
    fn the_rule_of_access() {
        let strict = |caller: Caller| Caller {
            ownership: Ownership::Strict,
            ..caller
        };
        let (ann, bob) = (caller(Some("ann"), &BOTH), caller(Some("bob"), &BOTH));
        let (nobody, admin) = (caller(None, &BOTH), caller(Some("root"), &[Scope::Admin]));
        let claimed = |origin| Caller {
            origin,
            is_claimed: true,
            ..ann.clone()
        };
        let callers = [
            ann.clone(),
            bob.clone(),
            nobody.clone(),
            admin.clone(),
            strict(ann.clone()),
            strict(bob),
            strict(nobody),
            strict(admin),
            claimed("tools"),
            claimed("others"),
        ];
        let (private, shared, common) =
            (Visibility::Private, Visibility::Shared, Visibility::Common);
        let rows = [
            // (owner, visibility), readers, writers, in the order of the callers.
            ((Some("ann"), private), "1001100110", "1001100110"),
            ((Some("ann"), shared), "1111110111", "1001100110"),
            ((Some("ann"), common), "1111111111", "1111100111"),
            ((None, private), "1111111111", "0011001100"),
            ((None, common), "1111111111", "1111001111"),
        ];
        for ((owner, visibility), readers, writers) in rows {
            let memory = memory(owner, visibility);
            let bits = |allows: &dyn Fn(&Caller) -> bool| -> String {
                callers
                    .iter()
                    .map(|caller| if allows(caller) { '1' } else { '0' })
                    .collect()
            };
            let what = format!("{owner:?} {visibility:?}");
            assert_eq!(
                bits(&|caller| caller.reader().may_read(&memory)),
                readers,
                "{what}"
            );
            assert_eq!(bits(&|caller| caller.may_write(&memory)), writers, "{what}");
        }
    }

    #[test]
    fn an_argument_names_nobody_but_the_caller() {
        let ann = caller(Some("ann"), &[Scope::Read]);
        let root = caller(Some("root"), &[Scope::Admin]);
        let nobody = caller(None, &BOTH);
        let rows = [
            (&ann, "ann", Some((vec![Scope::Read], false))),
            (&ann, "bob", None),
            (&root, "bob", Some((BOTH.to_vec(), false))),
            (&nobody, "bob", Some((BOTH.to_vec(), true))),
        ];
        for (caller, user, expected) in rows {
            let expected = expected.map(|(scopes, is_claimed)| Caller {
                principal: Principal::new(user, Scopes::of(&scopes)),
                is_claimed,
                ..caller.clone()
            });
            assert_eq!(caller.acting_for("user_id", user).ok(), expected);
        }
    }

    #[test]
    fn reading_alone_never_writes() {
        let ann = caller(Some("ann"), &[Scope::Read]);
        for visibility in [Visibility::Private, Visibility::Shared, Visibility::Common] {
            assert!(!ann.may_write(&memory(Some("ann"), visibility)));
        }
    }
}
