//! Runs the operator until SIGTERM or Ctrl-C.

use std::process::ExitCode;

use clap::Parser;
use manager::{Manager, Options};

#[derive(Parser)]
#[command(version, about)]
struct Args {
    #[command(flatten)]
    manager: Options,
}

#[tokio::main]
async fn main() -> ExitCode {
    let args = Args::parse();
    args.manager.init_logging();
    match run(args).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!(%error, "the operator can't run");
            ExitCode::FAILURE
        }
    }
}

async fn run(args: Args) -> Result<(), manager::Error> {
    let version = env!("CARGO_PKG_VERSION");
    let manager = Manager::new("memcached-operator", version, args.manager).await?;
    manager
        .leader_election_id("87a7d51f.example.com")
        .with(memcached_operator::controller::memcached::register)
        // +kubebuilder:scaffold:controllers
        .run()
        .await
}
