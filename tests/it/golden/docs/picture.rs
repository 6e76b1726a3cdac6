//! The picture of a terminal session in the README: `docs/images/session.console` has its commands and their output, which are run
//! here, and `docs/images/session.svg` is drawn from it.

use std::fmt::Write as _;

use super::{in_sync, replay, root};

const SESSION: &str = "docs/images/session.console";
const COLUMN: usize = 8;
const LINE: usize = 18;
const MARGIN: usize = 16;
const TITLE_BAR: usize = 28;

#[test]
fn the_session_runs_and_is_the_picture() {
    let home = tempfile::tempdir().unwrap();
    let session = std::fs::read_to_string(root().join(SESSION)).unwrap();
    let replay = replay::replay(&format!("```console\n{session}```\n"), home.path(), &[], &[]);
    let session = replay
        .text
        .lines()
        .filter(|line| !line.starts_with("```"))
        .fold(String::new(), |text, line| text + line + "\n");
    in_sync(SESSION, &session);
    in_sync("docs/images/session.svg", &draw(&session));
}

/// A terminal with this text.
fn draw(session: &str) -> String {
    // A terminal does not print the code.
    let lines: Vec<&str> = session.lines().filter(|line| !line.starts_with("[exit code ")).collect();
    let columns = lines.iter().map(|line| line.chars().count()).max().unwrap_or_default();
    let (width, height) = (columns * COLUMN + 2 * MARGIN, lines.len() * LINE + TITLE_BAR + MARGIN);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\">\n\
         <title>A session of memcached-sdk in a terminal</title>\n\
         <style>text {{ font-family: Menlo, Consolas, 'DejaVu Sans Mono', monospace; font-size: 13px; white-space: pre; fill: #d4d4d4 }} \
         .command {{ fill: #ffffff; font-weight: bold }} .prompt, .added {{ fill: #7ec699 }} .removed, .error {{ fill: #f08d8d }} \
         .help {{ fill: #6cb6ff }} .left-out {{ fill: #808080 }}</style>\n\
         <rect width=\"{width}\" height=\"{height}\" rx=\"8\" fill=\"#1e1e1e\"/>\n"
    );
    for (place, color) in ["#ff5f56", "#ffbd2e", "#27c93f"].into_iter().enumerate() {
        let _ = writeln!(svg, "<circle cx=\"{}\" cy=\"14\" r=\"5\" fill=\"{color}\"/>", MARGIN + 4 + 16 * place);
    }
    for (number, line) in lines.iter().enumerate() {
        let baseline = TITLE_BAR + number * LINE + 14;
        let text = match line.strip_prefix("$ ") {
            Some(command) => {
                format!("<tspan class=\"prompt\">$ </tspan><tspan class=\"command\">{}</tspan>", escaped(command))
            }
            None => format!("<tspan class=\"{}\">{}</tspan>", class(line), escaped(line)),
        };
        let length = line.chars().count() * COLUMN;
        // Each font has a width of its own: the length keeps columns below each other.
        let _ = writeln!(
            svg,
            "<text x=\"{MARGIN}\" y=\"{baseline}\" textLength=\"{length}\" lengthAdjust=\"spacingAndGlyphs\" xml:space=\"preserve\">{text}</text>"
        );
    }
    svg + "</svg>\n"
}

/// The kind of a line of output, which decides its color.
fn class(line: &str) -> &'static str {
    match line.trim_start() {
        "..." => "left-out",
        line if line.starts_with("error") || line.starts_with("^") || line.contains("| ") && line.ends_with('^') => {
            "error"
        }
        line if line.starts_with("= help") => "help",
        _ if line.starts_with('+') => "added",
        _ if line.starts_with('-') => "removed",
        _ => "output",
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[test]
fn a_picture_shows_commands_and_kinds_of_output() {
    let svg = draw("$ a < b\nerror[x]: c\n  | ^^\n+d\n-e\n   = help: f\n...\n");
    for part in [
        "<tspan class=\"command\">a &lt; b</tspan>",
        "<tspan class=\"error\">error[x]: c</tspan>",
        "<tspan class=\"error\">  | ^^</tspan>",
        "<tspan class=\"added\">+d</tspan>",
        "<tspan class=\"removed\">-e</tspan>",
        "<tspan class=\"help\">   = help: f</tspan>",
        "<tspan class=\"left-out\">...</tspan>",
    ] {
        assert!(svg.contains(part), "{part} is not in\n{svg}");
    }
}
