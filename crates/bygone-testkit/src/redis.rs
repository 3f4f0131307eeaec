//! Redis: not tested against, but a peer that the benches run beside bygone.

use std::ffi::OsString;
use std::path::Path;

use rustix::process::Signal;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::OnceCell;

use crate::access::{Access, HOST};
use crate::engine::{Service, sealed};
use crate::error::KitError;
use crate::instance::{Instance, Invocation};
use crate::programs;
use crate::server::Server;

/// A Redis server.
pub type Redis = Server<RedisService>;

/// Marks what belongs to Redis.
#[derive(Debug, Clone, Copy)]
pub struct RedisService;

static SHARED: OnceCell<Redis> = OnceCell::const_new();

/// Durable before it answers: by itself Redis answers first.
const SETTINGS: &[(&str, &str)] =
    &[("bind", "127.0.0.1"), ("appendonly", "yes"), ("appendfsync", "always"), ("save", "")];

impl sealed::Sealed for RedisService {}

impl Service for RedisService {
    const NAME: &'static str = "redis";
    const ACCOUNTS: &'static [&'static str] = &["redis"];
    const STOP: Signal = Signal::TERM;

    fn initialise(_instance: &Instance, _access: &Access) -> Result<Option<Invocation>, KitError> {
        Ok(None)
    }

    fn serve(instance: &Instance, access: &Access, settings: &[(String, String)]) -> Result<Invocation, KitError> {
        let mut arguments: Vec<OsString> = vec!["--dir".into(), instance.directory().into()];
        arguments.extend(["--port".into(), access.port.to_string().into()]);
        arguments.extend(["--requirepass".into(), access.password.clone().into()]);
        let given = settings.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        for (name, value) in SETTINGS.iter().copied().chain(given) {
            arguments.extend([format!("--{name}").into(), value.into()]);
        }
        let program = programs::find("redis-server", "redis-server", &[])?;
        Ok(Invocation { program, arguments, environment: Vec::new() })
    }

    /// No other server knows this password.
    async fn look(access: &Access, _data: &Path) -> Result<(), String> {
        let asked = async {
            let mut stream = TcpStream::connect((HOST, access.port)).await?;
            stream.write_all(format!("AUTH {}\r\n", access.password).as_bytes()).await?;
            let mut answer = [0; 64];
            let length = stream.read(&mut answer).await?;
            Ok::<_, std::io::Error>(String::from_utf8_lossy(&answer[..length]).into_owned())
        };
        match asked.await {
            Ok(answer) if answer == "+OK\r\n" => Ok(()),
            Ok(answer) => Err(answer),
            Err(error) => Err(error.to_string()),
        }
    }

    fn shared_cell() -> &'static OnceCell<Redis> {
        &SHARED
    }
}

impl Redis {
    /// What a client says first.
    pub fn password(&self) -> &str {
        &self.access().password
    }
}
