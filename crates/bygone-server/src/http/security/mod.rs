//! What every request must pass.

mod busy;
mod headers;
mod hosts;
mod origin;
mod rights;
mod tokens;

pub(super) use self::busy::{Busy, limit_requests, limit_time};
pub(super) use self::headers::strict_headers;
pub(super) use self::hosts::{Encrypted, Hosts, LocalAddress, refuse_other_hosts};
pub(super) use self::origin::{only_from_here, refuse_other_sites};
pub use self::rights::{Right, Rights};
pub(super) use self::tokens::{
    COOKIE, Caller, Identity, admit, admit_known, admit_to_leases, admit_to_stage, identify, is_for_programs,
};
pub use self::tokens::{Scope, Token, TokenError, Tokens};
