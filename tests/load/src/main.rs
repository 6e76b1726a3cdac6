//! Programs for the tests of load. The cluster is that of `KUBECONFIG`.

mod fate;
mod floor;
mod proxy;
mod users;

use clap::Parser;
use kube::{Client, Config};

#[derive(Parser)]
enum Command {
    /// Pass requests on to the API server, not all of them well
    Proxy(proxy::Options),
    /// Create, change and delete objects at random
    Users(users::Options),
    /// Do for every object what an operator must do, and nothing else
    Floor(floor::Options),
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let command = Command::parse();
    let mut config = Config::infer().await?;
    // A request that is tried again would be counted twice, or hide a fault.
    config.default_retry = false;
    let client = Client::try_from(config)?;
    match command {
        Command::Proxy(options) => proxy::run(options, client).await,
        Command::Users(options) => users::run(options, client).await,
        Command::Floor(options) => floor::run(options, client).await,
    }
}
