//! Memory of every type: owners, views, guards, pools, arrays, and textures over them.

mod arena;
mod arrays;
mod call_sites;
mod external;
mod managed;
mod memory;
mod pinned;
mod pointer_attributes;
mod pools;
mod raw_memory;
mod registered;
mod textures;
mod write_combined;
