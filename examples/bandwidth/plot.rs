//! Plots rates by size.

use std::path::Path;

use anyhow::anyhow;
use plotters::prelude::*;

use crate::output::Report;
use crate::size::Size;

/// The colours of the curves. Eight colours and filled or open points are distinguishable for people with
/// colour vision deficiency too.
const COLOURS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(90, 90, 90),
    RGBColor(150, 110, 30),
];

const WIDTH: u32 = 1120;
const HEIGHT: u32 = 600;
const LEGEND: u32 = 330;

/// Draws the report: sizes along x, rates along y, both logarithmic.
pub(crate) fn draw(report: &Report, file: &Path) -> anyhow::Result<()> {
    drawn(report, file).map_err(|error| anyhow!("{}: {error}", file.display()))
}

fn drawn(report: &Report, file: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let sizes: Vec<f64> = report.sizes.iter().map(|size| size.0 as f64).collect();
    let (Some(first), Some(last)) = (sizes.first(), sizes.last()) else { return Err("no sizes".into()) };
    let rates = || report.series.iter().flat_map(|series| &series.rates).copied();
    let (low, high) = (rates().fold(f64::INFINITY, f64::min), rates().fold(0.0, f64::max));
    let root = SVGBackend::new(file, (WIDTH, HEIGHT)).into_drawing_area();
    root.fill(&WHITE)?;
    let (left, right) = root.split_horizontally(WIDTH - LEGEND);
    let mut chart = ChartBuilder::on(&left)
        .caption(format!("Bandwidth of copies, {}", report.machine), ("sans-serif", 17))
        .margin(14)
        .x_label_area_size(52)
        .y_label_area_size(66)
        .build_cartesian_2d(
            (*first..*last * 1.01).log_scale().base(2.0),
            (decade(low, f64::floor)..decade(high, f64::ceil)).log_scale(),
        )?;
    chart
        .configure_mesh()
        .x_desc("bytes of a copy")
        .y_desc("GB/s (1e9 bytes, counted once)")
        .x_labels(10)
        .y_labels(12)
        .x_label_formatter(&|bytes| label(*bytes))
        .y_label_formatter(&|rate| number(*rate))
        .axis_desc_style(("sans-serif", 16))
        .label_style(("sans-serif", 14))
        .max_light_lines(1)
        .light_line_style(RGBColor(240, 240, 240))
        .bold_line_style(RGBColor(205, 205, 205))
        .draw()?;
    for (at, series) in report.series.iter().enumerate() {
        let colour = COLOURS[at % COLOURS.len()];
        let filled = at < COLOURS.len();
        let points: Vec<(f64, f64)> = sizes.iter().copied().zip(series.rates.iter().copied()).collect();
        let style = if filled { colour.filled() } else { colour.stroke_width(2) };
        chart.draw_series(LineSeries::new(points.iter().copied(), colour.stroke_width(2)))?;
        chart.draw_series(points.iter().map(|point| Circle::new(*point, 4, style)))?;
        let y = 60 + 28 * i32::try_from(at)?;
        right.draw(&PathElement::new([(8, y), (38, y)], colour.stroke_width(2)))?;
        right.draw(&Circle::new((23, y), 4, style))?;
        right.draw(&Text::new(series.shown, (46, y - 7), ("sans-serif", 14)))?;
    }
    if report.emulated {
        let red = ("sans-serif", 22).into_font().color(&RED);
        left.draw(&Text::new("taken on the emulator: the numbers have no meaning", (120, 300), red))?;
    }
    root.present()?;
    Ok(())
}

/// Returns the next power of ten below or above.
fn decade(rate: f64, round: fn(f64) -> f64) -> f64 {
    10_f64.powf(round(rate.log10()))
}

/// Returns the label of a size below its tick.
fn label(bytes: f64) -> String {
    format!("{bytes:.0}").parse().map_or(String::new(), |bytes| Size(bytes).to_string())
}

/// Returns the label of a rate beside its tick.
fn number(rate: f64) -> String {
    if rate >= 1.0 { format!("{rate:.0}") } else { format!("{rate}") }
}
