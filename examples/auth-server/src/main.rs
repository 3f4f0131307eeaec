//! A small authorization server over the stores of `bygone-tokens`: arguments to stores, stores to routes.

mod access_token;
mod app;
mod arguments;
mod authorize;
mod backchannel;
mod clients;
mod dpop;
mod error;
mod form;
mod jwt;
mod keys;
mod logout;
mod page;
mod par;
mod pkce;
mod redeem;
mod refresh;
mod signals;
mod token;
mod userinfo;

use std::error::Error;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use bygone_tokens::{Sweeper, SweeperConfig, Tokens, TokensOptions};
use clap::Parser as _;
use tokio::net::TcpListener;
use tracing_subscriber::EnvFilter;

use crate::app::App;
use crate::arguments::Arguments;
use crate::clients::Clients;
use crate::signals::Signals;

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    start_log();
    match run(arguments).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            talk(&format!("auth-server: {}", error::with_sources(&*error)));
            ExitCode::FAILURE
        }
    }
}

/// Logs go to standard error; `RUST_LOG` says how much.
fn start_log() {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| "info".into());
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).with_ansi(false).init();
}

async fn run(arguments: Arguments) -> Result<(), Box<dyn Error>> {
    let signals = Signals::listen()?;
    // Dropped at the end, and the database of a trial run with it.
    let scratch = tempfile::tempdir()?;
    let file = arguments.database.unwrap_or_else(|| scratch.path().join("auth.db"));
    let tokens = open(&file).await?;
    let sweeper = Sweeper::start(&tokens, SweeperConfig::every(arguments.sweep_every))?;

    let listener = TcpListener::bind(arguments.listen).await?;
    let issuer = format!("http://{}", listener.local_addr()?);
    let clients = Clients::demo(arguments.logout_uri.as_ref());
    let app = Arc::new(App::new(issuer, tokens, clients)?);
    announce(&app.issuer)?;

    let serving = axum::serve(listener, app::routes(Arc::clone(&app)));
    let drained = signals.first.clone().cancelled_owned();
    tokio::select! {
        served = serving.with_graceful_shutdown(drained).into_future() => served?,
        () = signals.second.cancelled() => return Err("aborted".into()),
    }
    // What was taken from a store is still told to whom it concerns.
    app.errands.close();
    app.errands.wait().await;
    sweeper.stop().await;
    Ok(())
}

async fn open(file: &Path) -> Result<Tokens, Box<dyn Error>> {
    let file: PathBuf = std::path::absolute(file)?;
    let file = file.to_str().ok_or("the path of the database is not UTF-8")?;
    let tokens = Tokens::open(TokensOptions::new(&format!("sqlite:{file}"))?).await?;
    tokens.migrate().await?;
    Ok(tokens)
}

/// The address is data, for scripts to read; the rest is for a person.
fn announce(issuer: &str) -> io::Result<()> {
    writeln!(io::stdout().lock(), "listening on {issuer}")?;
    talk(&format!(
        "Try:  curl -s {issuer}/jwks\n\
         Then push a request, and open the page that asks alice for her consent:\n\
         \x20     curl -s {issuer}/par -d client_id={client} -d response_type=code -d redirect_uri={redirect} \\\n\
         \x20       -d scope=openid -d code_challenge_method=S256 -d code_challenge={challenge}\n\
         \x20     {issuer}/authorize?client_id={client}&request_uri=…\n\
         Ctrl-C ends it.",
        client = clients::DEMO_APP,
        redirect = clients::DEMO_REDIRECT,
        challenge = pkce::EXAMPLE_CHALLENGE,
    ));
    Ok(())
}

/// Writes to a person. Where nobody listens any more, nobody is told.
fn talk(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}
