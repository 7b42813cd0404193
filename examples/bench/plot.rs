//! Plots of measurements as SVG: `bandwidth` and `ci/bench` draw them.

use std::error::Error;
use std::ops::RangeInclusive;
use std::path::Path;

use anyhow::anyhow;
use plotters::coord::Shift;
use plotters::prelude::*;

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
const LEGEND: u32 = 330;

/// One curve of a panel.
#[derive(Debug)]
pub struct Curve {
    /// The text in the legend.
    pub shown: String,
    /// The number of the colour.
    pub colour: usize,
    /// Whether the points are filled.
    pub filled: bool,
    /// The points.
    pub points: Vec<(f64, f64)>,
}

/// Curves with two logarithmic axes, and a legend beside them.
#[derive(Debug)]
pub struct Panel {
    /// The title.
    pub caption: String,
    /// The titles of the axes.
    pub axes: [String; 2],
    /// The base of the horizontal axis.
    pub base: f64,
    /// Returns the label of a tick of the horizontal axis.
    pub label: fn(f64) -> String,
    /// The curves.
    pub curves: Vec<Curve>,
}

/// Draws panels one below the other, with a height in pixels for each.
///
/// # Errors
/// A panel has no points, or the file cannot be written.
pub fn draw(panels: &[Panel], height: u32, emulated: bool, file: &Path) -> anyhow::Result<()> {
    drawn(panels, height, emulated, file).map_err(|error| anyhow!("{}: {error}", file.display()))
}

fn drawn(panels: &[Panel], height: u32, emulated: bool, file: &Path) -> Result<(), Box<dyn Error>> {
    let root = SVGBackend::new(file, (WIDTH, height * u32::try_from(panels.len())?)).into_drawing_area();
    root.fill(&WHITE)?;
    for (panel, area) in panels.iter().zip(root.split_evenly((panels.len(), 1))) {
        one(panel, &area)?;
        if emulated {
            let red = ("sans-serif", 22).into_font().color(&RED);
            let middle = i32::try_from(height / 2)?;
            area.draw(&Text::new("taken on the emulator: the numbers have no meaning", (120, middle), red))?;
        }
    }
    root.present()?;
    Ok(())
}

fn one(panel: &Panel, area: &DrawingArea<SVGBackend<'_>, Shift>) -> Result<(), Box<dyn Error>> {
    let points = || panel.curves.iter().flat_map(|curve| &curve.points);
    let (x, y) = (span(points().map(|point| point.0)), span(points().map(|point| point.1)));
    if x.is_empty() {
        return Err("no points".into());
    }
    let (left, right) = area.split_horizontally(WIDTH - LEGEND);
    let mut chart = ChartBuilder::on(&left)
        .caption(&panel.caption, ("sans-serif", 17))
        .margin(14)
        .x_label_area_size(52)
        .y_label_area_size(66)
        .build_cartesian_2d(
            (*x.start()..*x.end() * 1.01).log_scale().base(panel.base),
            (decade(*y.start(), f64::floor)..decade(*y.end(), f64::ceil)).log_scale(),
        )?;
    chart
        .configure_mesh()
        .x_desc(&panel.axes[0])
        .y_desc(&panel.axes[1])
        .x_labels(10)
        .y_labels(12)
        .x_label_formatter(&|x| (panel.label)(*x))
        .y_label_formatter(&|y| number(*y))
        .axis_desc_style(("sans-serif", 16))
        .label_style(("sans-serif", 14))
        .max_light_lines(1)
        .light_line_style(RGBColor(240, 240, 240))
        .bold_line_style(RGBColor(205, 205, 205))
        .draw()?;
    for (at, curve) in panel.curves.iter().enumerate() {
        let colour = COLOURS[curve.colour % COLOURS.len()];
        let style = if curve.filled { colour.filled() } else { colour.stroke_width(2) };
        chart.draw_series(LineSeries::new(curve.points.iter().copied(), colour.stroke_width(2)))?;
        chart.draw_series(curve.points.iter().map(|point| Circle::new(*point, 4, style)))?;
        let y = 60 + 28 * i32::try_from(at)?;
        right.draw(&PathElement::new([(8, y), (38, y)], colour.stroke_width(2)))?;
        right.draw(&Circle::new((23, y), 4, style))?;
        right.draw(&Text::new(curve.shown.as_str(), (46, y - 7), ("sans-serif", 14)))?;
    }
    Ok(())
}

fn span(values: impl Iterator<Item = f64>) -> RangeInclusive<f64> {
    values.fold(f64::INFINITY..=0.0, |span, value| span.start().min(value)..=span.end().max(value))
}

/// Returns the next power of ten below or above.
fn decade(value: f64, round: fn(f64) -> f64) -> f64 {
    10_f64.powf(round(value.log10()))
}

/// Returns the label of a number beside its tick.
fn number(value: f64) -> String {
    if value >= 1.0 { format!("{value:.0}") } else { format!("{value}") }
}
