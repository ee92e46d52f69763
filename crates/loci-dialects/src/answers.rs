//! Questions to the person in a tool set: which one a call raises, and how an answer is carried out.

use loci_core::{Error, Result, Scope};
use loci_engine::{Call, CallInfo, Effect, shown_name};
use serde_json::{Map, Value, json};

use crate::apps;
use crate::apps::argument::{named, require_revision};
use crate::questions::{
    FORGET, KEEP_BOTH, Matter, Question, REPLACE, UPDATE, Version, YES, quotation,
};
use crate::tool::{Context, Dialect, Reply, Tool};

/// The name of questions and answers in the audit log.
const ANSWER: &str = "loci_question";

impl Dialect {
    /// Returns the question to the person that a call raises before it runs, if it raises one. A call
    /// that will fail raises none. Changes nothing, and is not logged.
    pub fn question_before(
        &self,
        tool: &Tool,
        context: Context<'_>,
        arguments: Map<String, Value>,
    ) -> Option<Question> {
        let own = self.caller(context.caller);
        let arguments = Value::Object(arguments);
        let caller = self.acting(&own, &arguments).ok()?;
        let scopes: Vec<Scope> = tool.scopes().iter().collect();
        let info = CallInfo::new(self.name, tool.name, tool.operation, Effect::Read, &scopes);
        let question = context
            .engine
            .call(caller, info.logged_with_changes(), |call| {
                tool.question(call, arguments)
            });
        question.ok().flatten()
    }

    /// Returns the question about the first directive of an author whom the caller does not know, if
    /// one is there. Where a call only claims its user, there is none.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn question_of_author(&self, context: Context<'_>) -> Result<Option<Question>> {
        if self.user_argument.is_some() {
            return Ok(None);
        }
        let scopes = [Scope::Read, Scope::Write];
        let info = CallInfo::new(self.name, ANSWER, "settings:read", Effect::Read, &scopes);
        let caller = self.caller(context.caller);
        context
            .engine
            .call(caller, info.logged_with_changes(), |call| {
                let found = call.open_items().directive_of_new_author()?;
                Ok(found.map(|(key, memory)| {
                    let name = memory.writer().to_owned();
                    let message = format!(
                        "{} wrote this for the start of your sessions: {}. Should your agents follow what {} writes?",
                        shown_name(&name),
                        quotation(&memory.content),
                        shown_name(&name)
                    );
                    let matter = Matter::Author { name, key };
                    Question { message, matter }
                }))
            })
    }

    /// Returns the question unless the caller has answered it before.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn unanswered(&self, context: Context<'_>, question: Question) -> Result<Option<Question>> {
        let Matter::Checkout { key } = &question.matter else {
            return Ok(Some(question));
        };
        let info = CallInfo::new(self.name, ANSWER, "settings:read", Effect::Read, &[]);
        let caller = self.caller(context.caller);
        let is_answered = context
            .engine
            .call(caller, info.logged_with_changes(), |call| {
                Ok(call.settings().dismissed()?.contains(key))
            })?;
        Ok((!is_answered).then_some(question))
    }

    /// Does what the person chose, for the user whom the call named, if it named one. Returns what the
    /// model is told.
    ///
    /// # Errors
    /// The errors of the change; `conflict` if a memory was changed after the person was asked about it.
    pub fn decide(
        &self,
        context: Context<'_>,
        question: &Question,
        chosen: &'static str,
        user: Option<&str>,
    ) -> Result<String> {
        match &question.matter {
            Matter::Deletion => Ok("the person was asked, and agreed".to_owned()),
            Matter::Contradiction { newer, older } => Decision {
                dialect: self,
                context,
                user,
            }
            .between(newer, older, chosen),
            Matter::Author { name, .. } if chosen == YES => {
                self.answer(context, |call| {
                    call.settings().set_trusted(name, true).map(drop)
                })?;
                let name = shown_name(name);
                Ok(format!("the person was asked, and takes directives of {name} from now on"))
            }
            Matter::Author { key, .. } | Matter::Checkout { key } if chosen != YES => {
                self.answer(context, |call| call.settings().set_dismissed(key, true))?;
                Ok("the person was asked about a name or a text of others, and does not take it".to_owned())
            }
            Matter::Author { .. } | Matter::Checkout { .. } => {
                Ok("the person was asked, and files here under the wing that the checkout names, from the next session on".to_owned())
            }
        }
    }

    /// Makes a change of the person's settings.
    fn answer(
        &self,
        context: Context<'_>,
        change: impl FnOnce(&Call<'_>) -> Result<()>,
    ) -> Result<()> {
        let scopes = [Scope::Write];
        let info = CallInfo::new(self.name, ANSWER, "settings:write", Effect::Write, &scopes);
        let caller = self.caller(context.caller);
        context.engine.call(caller, info.by_a_person(), change)
    }
}

/// The decision about a contradiction, by the tools of views.
struct Decision<'a> {
    dialect: &'a Dialect,
    context: Context<'a>,
    user: Option<&'a str>,
}

impl Decision<'_> {
    fn between(&self, newer: &Version, older: &Version, chosen: &str) -> Result<String> {
        let text = self.unchanged(newer, older)?;
        let (new, old) = (newer.id.as_str(), older.id.as_str());
        Ok(match chosen {
            KEEP_BOTH => {
                self.call(
                    "loci_view_dismiss",
                    json!({"newer": new, "older": old, "dismissed": true}),
                )?;
                format!(
                    "the person was asked, and decided: {new} and {old} are both right; do not ask again"
                )
            }
            UPDATE => {
                self.update(newer, older, &text)?;
                format!(
                    "the person was asked, and decided: {old} has the new text now, and {new}, which is one too many, is \
                     forgotten"
                )
            }
            REPLACE => {
                self.call("loci_view_keep", json!({"kept": new, "other": old}))?;
                format!("the person was asked, and decided: {new} is right and replaces {old}")
            }
            FORGET => {
                self.call("loci_view_forget", json!({"id": old, "forgotten": true}))?;
                format!("the person was asked, and decided: {new} is right, and {old} is forgotten")
            }
            other => return Err(Error::internal(format!("there is no answer `{other}`"))),
        })
    }

    /// Requires that both are as they were when the person was asked; returns both texts.
    fn unchanged(&self, newer: &Version, older: &Version) -> Result<[String; 2]> {
        let own = self.dialect.caller(self.context.caller);
        let fields = self.arguments(json!({}));
        let caller = self.dialect.acting(&own, &Value::Object(fields))?;
        let scopes = [Scope::Read, Scope::Write];
        let info = CallInfo::new(
            self.dialect.name,
            ANSWER,
            "memory:read",
            Effect::Read,
            &scopes,
        );
        self.context
            .engine
            .call(caller, info.logged_with_changes(), |call| {
                let text = |version: &Version| {
                    let memory = named(call, "id", version.id.as_str())?;
                    require_revision(&memory, version.revision)?;
                    Ok(memory.content)
                };
                Ok([text(newer)?, text(older)?])
            })
    }

    /// Gives the old memory the new text; the new one is then one too many.
    fn update(&self, newer: &Version, older: &Version, [new, old]: &[String; 2]) -> Result<()> {
        let edit = |content: &str, revision: u64| {
            let arguments =
                json!({"id": older.id.as_str(), "content": content, "revision": revision});
            self.call("loci_view_edit", arguments)
        };
        let edited = edit(new, older.revision)?;
        let forgotten = json!({"id": newer.id.as_str(), "forgotten": true});
        if let Err(error) = self.call("loci_view_forget", forgotten) {
            let revision = edited.structured["memory"]["revision"].as_u64();
            edit(old, revision.unwrap_or_default())?;
            return Err(error);
        }
        Ok(())
    }

    fn call(&self, tool: &str, arguments: Value) -> Result<Reply> {
        let tool = apps::tool(tool)
            .ok_or_else(|| Error::internal(format!("there is no tool `{tool}` of views")))?;
        self.dialect
            .call(tool, self.context, self.arguments(arguments))
    }

    /// Returns arguments with the user, where the call named one.
    fn arguments(&self, mut arguments: Value) -> Map<String, Value> {
        if let Some(user) = self.user {
            arguments["user_id"] = user.into();
        }
        arguments.as_object().cloned().unwrap_or_default()
    }
}
