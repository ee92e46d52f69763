//! The mempalace dialect: verbatim texts in wings and rooms, with a knowledge graph, tunnels and
//! diaries (34 tools).
//!
//! A drawer is a memory: its wing is the collection (`global` means no collection), its room the
//! section. Every durable memory of another tool set is a drawer too, under its own names. A diary
//! entry is unlisted (its tier), in the wing of its agent and the room `diary`, and is found only
//! there.

pub mod aaak;
mod add_drawer;
mod arguments;
mod check_duplicate;
mod checkpoint;
mod create_tunnel;
mod delete_by_source;
mod delete_drawer;
mod delete_tunnel;
mod diary_read;
mod diary_write;
mod drawer_id;
mod fact;
mod find_tunnels;
mod follow_tunnels;
mod get_aaak_spec;
mod get_drawer;
mod get_drawers;
mod get_taxonomy;
mod graph;
mod graph_stats;
mod hook_settings;
mod hooks;
mod kg_add;
mod kg_invalidate;
mod kg_query;
mod kg_stats;
mod kg_supersede;
mod kg_timeline;
mod list_drawers;
mod list_rooms;
mod list_tunnels;
mod list_wings;
mod memories_filed_away;
mod question;
mod reconnect;
mod record;
mod search;
mod status;
mod sync;
mod times;
mod traverse;
mod update_drawer;
mod wake_up;

use loci_core::Ownership;

use crate::{Dialect, Tool, UsualTools};

pub use aaak::compressed;
pub use arguments::{GLOBAL_WING, collection, place_name, wing_filter};
pub use drawer_id::{drawer_id, mined_drawer_id};
pub use hooks::{
    Checkpoint, HookSettings, checkpoint, hook_settings, put_checkpoint, put_hook_settings,
};
pub(crate) use times::period;
pub use times::{date, shown as shown_period};
pub use wake_up::{CONVERSATIONS, wake_up};

/// The dialect, with the tools in the order of the original's reference, then the tools
/// that its newer versions have besides (ADR 82).
pub static DIALECT: Dialect = Dialect {
    name: "mempalace",
    title: "loci memory (mempalace tools)",
    instructions: "Memory as a palace: wings for people and projects, rooms for subjects, drawers that keep texts word for \
        word. Start a session with `mempalace_status`, which says what is there and how to use it. Before you say \
        something of a person, a project or an earlier decision, look it up with `mempalace_search`. File what \
        should outlast this conversation with `mempalace_add_drawer`, in full rather than retold; never secrets.\n\n\
        `mempalace_kg_query` knows facts and when they held: when one changes, end it \
        (`mempalace_kg_invalidate`), then add the new one (`mempalace_kg_add`). Tie what belongs together across \
        wings with `mempalace_create_tunnel`. Read your diary when a session starts (`mempalace_diary_read`), and \
        write in it at the end (`mempalace_diary_write`).",
    usual_tools: UsualTools {
        find: "mempalace_search",
        project_argument: Some("wing"),
        store: "mempalace_add_drawer",
        shows: wake_up::listed,
        begin: Some("mempalace_status"),
    },
    ownership: Ownership::Usual,
    user_argument: None,
    tools: &TOOLS,
    resources: None,
};

static TOOLS: [Tool; 34] = [
    Tool::of::<status::Status>(),
    Tool::of::<list_wings::ListWings>(),
    Tool::of::<list_rooms::ListRooms>(),
    Tool::of::<get_taxonomy::GetTaxonomy>(),
    Tool::of::<search::Search>(),
    Tool::of::<check_duplicate::CheckDuplicate>(),
    Tool::of::<get_aaak_spec::GetAaakSpec>(),
    Tool::of::<add_drawer::AddDrawer>(),
    Tool::of::<delete_drawer::DeleteDrawer>(),
    Tool::of::<sync::Sync>(),
    Tool::of::<get_drawer::GetDrawer>(),
    Tool::of::<list_drawers::ListDrawers>(),
    Tool::of::<update_drawer::UpdateDrawer>(),
    Tool::of::<kg_query::KgQuery>(),
    Tool::of::<kg_add::KgAdd>(),
    Tool::of::<kg_invalidate::KgInvalidate>(),
    Tool::of::<kg_timeline::KgTimeline>(),
    Tool::of::<kg_stats::KgStats>(),
    Tool::of::<traverse::Traverse>(),
    Tool::of::<find_tunnels::FindTunnels>(),
    Tool::of::<graph_stats::GraphStats>(),
    Tool::of::<create_tunnel::CreateTunnel>(),
    Tool::of::<list_tunnels::ListTunnels>(),
    Tool::of::<delete_tunnel::DeleteTunnel>(),
    Tool::of::<follow_tunnels::FollowTunnels>(),
    Tool::of::<diary_write::DiaryWrite>(),
    Tool::of::<diary_read::DiaryRead>(),
    Tool::of::<hook_settings::SetHooks>(),
    Tool::of::<memories_filed_away::MemoriesFiledAway>(),
    Tool::of::<reconnect::Reconnect>(),
    // Newer versions of the original have these besides.
    Tool::of::<checkpoint::FileSession>(),
    Tool::of::<get_drawers::GetDrawers>(),
    Tool::of::<delete_by_source::DeleteBySource>(),
    Tool::of::<kg_supersede::KgSupersede>(),
];
