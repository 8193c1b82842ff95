//! The governed scan: one relation of one statement, for one user, as a node that shows the optimiser nothing but columns.
//!
//! To read it in order: `payload` (what a task group reads and shows), `token`, `keys`, `seal` and `guard` (who may run it), `stores` and `input` (bytes
//! of data files), `read`, `columns`, `nested`, `deletes` and `equality` (their rows), `policy` and `hash` (filter and masks), `exec` and `codec` (the node),
//! `relation` (the node's table), and then what the statement above it may use: `session`, `semantics`, `rewrite`, `functions`, `measures`
//! (aggregates over floating point, by `exact` and `dispersion`) and `wide` (sums of decimals), `sorted` (sums in the order of the values) and
//! `skipping` (IGNORE NULLS), `windows`, `wall`, `lazy`, `reduce` (rows that joins do not need), `whole` (what one task of several has), and `planned`
//! (what no task has).

pub mod checked;
pub mod codec;
pub mod columns;
pub mod deletes;
pub mod dispersion;
pub mod equality;
pub mod exact;
pub mod exec;
pub mod failure;
pub mod functions;
pub mod guard;
pub mod hash;
pub mod input;
mod keys;
pub mod lazy;
pub mod measures;
pub mod nested;
pub mod payload;
pub mod planned;
pub mod policy;
pub mod process;
pub mod read;
pub mod reduce;
pub mod relation;
pub mod rewrite;
pub mod seal;
pub mod semantics;
pub mod session;
pub mod skipping;
pub mod sorted;
pub mod stores;
pub mod token;
pub mod wall;
pub mod whole;
pub mod wide;
pub mod windows;

/// The messages of `submission.proto`, generated.
#[allow(missing_docs, clippy::all)]
pub mod wire {
    include!("wire.rs");
}
