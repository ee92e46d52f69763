//! The reference dialect: the knowledge graph of the reference memory server (nine tools, one
//! resource).
//!
//! An observation is a memory whose title is the entity's name, a relation is a fact that holds
//! now, and that an entity exists is a fact, too (ADR 99). Memories and facts of other dialects
//! appear here in the same terms.

mod add_observations;
mod arguments;
mod create_entities;
mod create_relations;
mod delete_entities;
mod delete_observations;
mod delete_relations;
mod open_nodes;
mod read_graph;
mod record;
mod resources;
mod search_nodes;

use loci_core::Ownership;

use crate::{Dialect, Tool, UsualTools, bootstrap_command};

/// The dialect, with the tools in the order of the original's.
pub static DIALECT: Dialect = Dialect {
    name: "reference",
    title: "loci memory (tools of the reference memory server)",
    instructions: "Memory as a knowledge graph of entities, their observations and the relations between them. Look \
        with `search_nodes` before you answer from assumption, and open what you found by name with `open_nodes`. \
        Keep what should still be known tomorrow with `create_entities`, one fact to an observation.\n\n\
        Add what you learn later with `add_observations`, and tie entities together with `create_relations`, in \
        the active voice. Delete what no longer holds.",
    usual_tools: UsualTools {
        find: "search_nodes",
        project_argument: None,
        store: "create_entities",
        shows: bootstrap_command,
        begin: None,
    },
    ownership: Ownership::Usual,
    user_argument: None,
    tools: &TOOLS,
    resources: Some(resources::RESOURCES),
};

static TOOLS: [Tool; 9] = [
    Tool::of::<create_entities::CreateEntities>(),
    Tool::of::<create_relations::CreateRelations>(),
    Tool::of::<add_observations::AddObservations>(),
    Tool::of::<delete_entities::DeleteEntities>(),
    Tool::of::<delete_observations::DeleteObservations>(),
    Tool::of::<delete_relations::DeleteRelations>(),
    Tool::of::<read_graph::ReadGraph>(),
    Tool::of::<search_nodes::SearchNodes>(),
    Tool::of::<open_nodes::OpenNodes>(),
];
