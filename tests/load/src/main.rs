//! Programs for the load tests. `KUBECONFIG` selects the cluster.

mod fate;
mod floor;
mod proxy;
mod users;

use clap::Parser;
use kube::{Client, Config};

#[derive(Parser)]
enum Command {
    /// Forward requests to the API server, with faults
    Proxy(proxy::Options),
    /// Create, change and delete objects at random
    Users(users::Options),
    /// Send only the necessary writes for every object
    Floor(floor::Options),
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let command = Command::parse();
    let mut config = Config::infer().await?;
    // A retried request would count twice, or hide a fault.
    config.default_retry = false;
    let client = Client::try_from(config)?;
    match command {
        Command::Proxy(options) => proxy::run(options, client).await,
        Command::Users(options) => users::run(options, client).await,
        Command::Floor(options) => floor::run(options, client).await,
    }
}
