//! What every request must pass.

mod busy;
mod headers;
mod hosts;
mod origin;
mod tokens;

pub(super) use self::busy::{Busy, limit_requests, limit_time};
pub(super) use self::headers::strict_headers;
pub(super) use self::hosts::{Hosts, LocalAddress, refuse_other_hosts};
pub(super) use self::origin::refuse_other_sites;
pub(super) use self::tokens::{Caller, admit, identify};
pub use self::tokens::{Scope, Token, TokenError, Tokens};
