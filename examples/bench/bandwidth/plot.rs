//! Plots rates by size.

use std::path::Path;

use bench::plot::{Curve, Panel, draw as draw_panels};

use crate::output::Report;
use crate::size::Size;

/// The curves with filled points. After these the colours repeat.
const FILLED: usize = 8;

/// Draws the report: sizes along x, rates along y, both logarithmic.
pub(crate) fn draw(report: &Report, file: &Path) -> anyhow::Result<()> {
    let curves = report.series.iter().enumerate().map(|(at, series)| Curve {
        shown: series.shown.to_owned(),
        colour: at,
        filled: at < FILLED,
        points: report.sizes.iter().map(|size| size.0 as f64).zip(series.rates.iter().copied()).collect(),
    });
    let panel = Panel {
        caption: format!("Bandwidth of copies, {}", report.machine),
        axes: ["bytes of a copy", "GB/s (1e9 bytes, counted once)"].map(str::to_owned),
        base: 2.0,
        label,
        curves: curves.collect(),
    };
    draw_panels(&[panel], 600, report.emulated, file)
}

/// Returns the label of a size below its tick.
fn label(bytes: f64) -> String {
    format!("{bytes:.0}").parse().map_or(String::new(), |bytes| Size(bytes).to_string())
}
