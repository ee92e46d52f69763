//! The knowledge graph, and the graph of rooms that tunnels connect.

pub mod knowledge_graph;
pub mod room_graph;
pub mod tunnels;
