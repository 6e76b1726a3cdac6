//! Validation of CronJobs.

use serde_json::Value;

use super::validate_pod_spec;
use super::workloads::at_least_zero;
use crate::response::{FieldError, Refusal};

/// Validates a CronJob.
pub(super) fn validate(cron: &Value, old: Option<&Value>, errors: &mut Vec<FieldError>) -> Result<(), Refusal> {
    let spec = &cron["spec"];
    if old.is_none() && cron["metadata"]["name"].as_str().is_some_and(|name| name.len() > 52) {
        return Err(Refusal::unsupported("the error for a long name of a CronJob"));
    }
    validate_schedule(spec["schedule"].as_str().unwrap_or_default(), errors)?;
    for field in ["startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit"] {
        if spec[field].as_i64().is_some_and(|number| number < 0) {
            let detail = "must be greater than or equal to 0";
            errors.push(FieldError::invalid(format!("spec.{field}"), &spec[field], detail));
        }
    }
    let is_changed = old.is_none_or(|old| old["spec"]["timeZone"] != spec["timeZone"]);
    if !spec["timeZone"].is_null() && is_changed && !matches!(spec["timeZone"].as_str(), Some("UTC" | "Etc/UTC")) {
        return Err(Refusal::unsupported("a timeZone other than UTC"));
    }
    let policies = ["Allow", "Forbid", "Replace"];
    if !policies.iter().any(|policy| spec["concurrencyPolicy"] == *policy) {
        let known = policies.map(Value::from);
        errors.push(FieldError::unsupported("spec.concurrencyPolicy", &spec["concurrencyPolicy"], &known));
    }
    validate_template(&spec["jobTemplate"]["spec"], errors)
}

fn validate_template(job: &Value, errors: &mut Vec<FieldError>) -> Result<(), Refusal> {
    const PATH: &str = "spec.jobTemplate.spec";
    at_least_zero(job, PATH, errors);
    if !matches!(job["completionMode"].as_str(), None | Some("NonIndexed")) {
        return Err(Refusal::unsupported("Jobs with indexes"));
    }
    if !matches!(job["podReplacementPolicy"].as_str(), None | Some("Failed" | "TerminatingOrFailed")) {
        return Err(Refusal::unsupported("the error for an unknown podReplacementPolicy"));
    }
    if job["manualSelector"] == true || !job["selector"].is_null() {
        return Err(Refusal::unsupported("the error for a selector of a CronJob"));
    }
    let pods = &job["template"]["spec"];
    validate_pod_spec(pods, &format!("{PATH}.template.spec"), errors)?;
    match pods["restartPolicy"].as_str() {
        Some("OnFailure" | "Never") => {}
        Some("Always") => {
            let detail = "valid values: \"OnFailure\", \"Never\"";
            errors.push(FieldError::required(format!("{PATH}.template.spec.restartPolicy"), detail));
        }
        _ => return Err(Refusal::unsupported("the error for an unknown restartPolicy of a CronJob")),
    }
    Ok(())
}

fn validate_schedule(schedule: &str, errors: &mut Vec<FieldError>) -> Result<(), Refusal> {
    /// The bounds of minutes, hours, days, months and days of the week.
    const BOUNDS: [(u8, u8); 5] = [(0, 59), (0, 23), (1, 31), (1, 12), (0, 6)];
    if schedule.is_empty() {
        errors.push(FieldError::required("spec.schedule", ""));
        return Ok(());
    }
    if matches!(schedule, "@yearly" | "@annually" | "@monthly" | "@weekly" | "@daily" | "@midnight" | "@hourly") {
        return Ok(());
    }
    let fields: Vec<&str> = schedule.split_ascii_whitespace().collect();
    let starts_plainly = !schedule.starts_with('@') && !schedule.contains("TZ");
    if starts_plainly && fields.len() != BOUNDS.len() && !fields.is_empty() {
        let detail = format!("expected exactly 5 fields, found {}: [{}]", fields.len(), fields.join(" "));
        errors.push(FieldError::invalid("spec.schedule", &schedule.into(), &detail));
        return Ok(());
    }
    if starts_plainly && fields.iter().zip(BOUNDS).all(|(field, bounds)| is_field(field, bounds)) {
        return Ok(());
    }
    Err(Refusal::unsupported(&format!("the schedule {schedule:?}")))
}

/// True for a list of `*`, numbers and ranges, each with an optional step.
fn is_field(field: &str, (least, most): (u8, u8)) -> bool {
    let number = |text: &str| text.parse::<u8>().ok().filter(|number| (least..=most).contains(number));
    field.split(',').all(|part| {
        let (range, step) = part.split_once('/').unwrap_or((part, "1"));
        let is_range = range == "*"
            || match range.split_once('-') {
                Some((start, end)) => number(start).zip(number(end)).is_some_and(|(start, end)| start <= end),
                None => number(range).is_some(),
            };
        is_range && step.parse::<u8>().is_ok_and(|step| step > 0)
    })
}
