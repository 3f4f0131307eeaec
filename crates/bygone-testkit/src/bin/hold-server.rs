//! Holds a server until its input ends or it is killed: the kit's own tests need an owner that can die.
//!
//! Its one argument says which server; it names the server on a line of its own.

use std::error::Error;
use std::io::{self, Read, Write};

use bygone_testkit::{Azurite, MariaDb, Moto, Options, Postgres, Process, SeaweedFs, Server, Service};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    match std::env::args().nth(1).as_deref() {
        Some("private-postgres") => hold(&Postgres::start(Options::default()).await?),
        Some("private-mariadb") => hold(&MariaDb::start(Options::default()).await?),
        Some("shared-postgres") => hold(Postgres::shared().await),
        Some("shared-mariadb") => hold(MariaDb::shared().await),
        Some("private-seaweedfs") => hold(&SeaweedFs::start(Options::default()).await?),
        Some("private-moto") => hold(&Moto::start(Options::default()).await?),
        Some("private-azurite") => hold(&Azurite::start(Options::default()).await?),
        other => Err(format!("no such server: {other:?}").into()),
    }
}

fn hold<E: Service>(server: &Server<E>) -> Result<(), Box<dyn Error>> {
    let Process { pid, started } = server.process();
    writeln!(io::stdout(), "server: {pid} {started} {}", server.directory().display())?;
    io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}
