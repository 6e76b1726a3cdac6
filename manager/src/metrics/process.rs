//! Metrics of this process from `/proc`, under the usual Prometheus names.

use std::fmt;

use procfs::ProcResult;
use procfs::process::{LimitValue, Process};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

#[derive(Debug)]
pub(super) struct Own;

struct ProcessValues {
    cpu_seconds: f64,
    gauges: [(&'static str, &'static str, f64); 5],
}

impl Collector for Own {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        // A hidden `/proc` is not an error.
        let Ok(values) = values() else { return Ok(()) };
        let help = "Processor time used, in seconds.";
        let family =
            encoder.encode_descriptor("process_cpu_seconds", help, None, MetricType::Counter)?;
        ConstCounter::new(values.cpu_seconds).encode(family)?;
        for (name, help, value) in values.gauges {
            let family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            ConstGauge::new(value).encode(family)?;
        }
        Ok(())
    }
}

fn values() -> ProcResult<ProcessValues> {
    let process = Process::myself()?;
    let stat = process.stat()?;
    let ticks = procfs::ticks_per_second() as f64;
    let started = procfs::boot_time_secs()? as f64 + stat.starttime as f64 / ticks;
    let files = match process.limits()?.max_open_files.soft_limit {
        LimitValue::Value(files) => files as f64,
        LimitValue::Unlimited => f64::INFINITY,
    };
    Ok(ProcessValues {
        cpu_seconds: (stat.utime + stat.stime) as f64 / ticks,
        gauges: [
            ("process_max_fds", "How many files may be open.", files),
            (
                "process_open_fds",
                "How many files are open.",
                process.fd_count()? as f64,
            ),
            (
                "process_resident_memory_bytes",
                "Memory in use, in bytes.",
                (stat.rss * procfs::page_size()) as f64,
            ),
            (
                "process_start_time_seconds",
                "When the process began, in seconds since 1970.",
                started,
            ),
            (
                "process_virtual_memory_bytes",
                "Address space in use, in bytes.",
                stat.vsize as f64,
            ),
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_knows_itself() {
        let ProcessValues {
            cpu_seconds,
            gauges,
        } = values().unwrap();
        let now = std::time::SystemTime::now();
        let now = now.duration_since(std::time::UNIX_EPOCH).unwrap();
        let value = |name: &str| gauges.iter().find(|gauge| gauge.0 == name).unwrap().2;
        assert!((0.0..3600.0).contains(&cpu_seconds), "{cpu_seconds}");
        let age = now.as_secs_f64() - value("process_start_time_seconds");
        assert!((-2.0..3600.0).contains(&age), "{age}");
        let files = value("process_open_fds");
        assert!((3.0..=value("process_max_fds")).contains(&files), "{files}");
        let memory = value("process_resident_memory_bytes");
        let space = value("process_virtual_memory_bytes");
        assert!((1e6..space).contains(&memory), "{memory} of {space}");
    }
}
