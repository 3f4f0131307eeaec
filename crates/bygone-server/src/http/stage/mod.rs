//! Staging areas, for programs that do not share a machine or a language with the library.
//!
//! A source serves its area where a policy of the kind `stage` is over it. What a token may do there stands beside its
//! scope, source by source.

mod area;
mod files;
mod trouble;
mod upload;

// The OpenAPI document is made of what stands beside each handler.
pub(super) use self::area::*;
pub(super) use self::files::*;
pub(super) use self::upload::*;
